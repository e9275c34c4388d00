package claims

import "fmt"

// A Source says where a claim was published.
type Source struct {
	Report    string // its number in the series, "000", or Several
	Title     string // in square brackets where only the subject is known
	Section   string // "2.3, Inode allocation"; "" with Several
	Statement string // as published, in one sentence
}

// Several is the Report of statements that more than one report makes. It follows the numbers.
const Several = "several"

// String returns report and section: "report 000, 2.3, Inode allocation".
func (s Source) String() string {
	if s.Report == Several {
		return "several reports"
	}
	return fmt.Sprintf("report %s, %s", s.Report, s.Section)
}

// A publication is one report of the series.
type publication struct{ number, title string }

var (
	reportD = publication{"000", "Creating directories in Go, 100,000 runs: MkdirAll against Mkdir and own recursion"}
	reportC = publication{"001", "Creating files in Go: one thread against 1,000 goroutines"}
	reportR = publication{"002", "[Reading and writing across disks and cloud volumes]"}
	reportH = publication{"003", "Writing at the head of a file in Go, 100,000 writes: bufio, fsync, sync.Pool"}
	reportL = publication{"004", "A log system of ten-million scale rebuilt: QPS 8k to 42k, P99 142 to 9 ms, seven changes"}
	reportP = publication{Several, "[What a power cut leaves]"}
)

func (r publication) source(section, statement string) Source {
	return Source{Report: r.number, Title: r.title, Section: section, Statement: statement}
}

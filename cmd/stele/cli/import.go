package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/logstore"
)

// importSchema names the layout of --json. The number grows when a reader of the
// old layout would misread the new one.
const importSchema = "stele.import/1"

const importUsage = `Usage: stele import SRC... DST [flags]

Appends the entries of each SRC to the log store in DST, and creates that if it
does not exist. SRC is the directory of a store, which may be damaged or have no
log; that of a log alone, such as DST/quarantine/log-TIME; a segment, wherever it
lies; a directory with segments; or a torn tail of a log, torn-NUMBER-OFFSET.wal in
quarantine. No SRC is changed. Times, labels and metadata stay, and equal lines are
kept.

DST/imports remembers which positions of which log are imported, from whatever
copy. So an import that was interrupted, even by a crash, goes on where it ended,
and one of an SRC that has grown or was mended imports exactly what is new or could
not be read before, whatever its time. What DST has of another log, and an SRC has
too, is there twice afterwards.

A segment that DST misses is put back in its place if SRC is that segment, or a
directory or a store with it, such as a snapshot of DST. Of a segment of a copy of
DST that went on apart, what the two do not share is imported.

DST itself, and a copy of it that has nothing that DST misses, are refused as SRC,
and so is a store that a process has open.

It exits with 0 if all entries are imported, and with 1 if an SRC has damaged
places, which standard error lists, or entries that DST refuses; the others are
imported then. Each import tells the damage that it finds, an earlier one or not.

With --json the result is one object.

Examples:
  stele import store/segments/0000000000000000-0000000000000004-00000000.seg restored
  stele import store restored --json -
`

func importCommand(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("stele import", importUsage)
	memory := f.String("memory", "", "memory of DST, and of an SRC while it is read: `SIZE`, such as 512M (default 256MiB)")
	file := f.String("json", "", "write JSON to `FILE` instead of text; - is standard output")
	mode := ""
	progressFlag(f, &mode)
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	var o logstore.ImportOptions
	m, err := newMeter(mode, stderr)
	if *memory != "" && err == nil {
		o.Memory, err = sizeFlag("--memory", *memory)
	}
	if err = cmp.Or(err, argCount(f, "SRC... DST", 2, math.MaxInt)); err != nil {
		return usageError(stderr, f.Name(), exitUsage, err)
	}
	m.last, m.jsonEvery = time.Now(), time.Second // short work shows nothing
	o.Progress = func(p logstore.ImportProgress) {
		m.show(false, importEvent{"imported", p.Source, p.Entries}, func() string {
			return fmt.Sprintf("%s: %s imported", p.Source, entries(p.Entries))
		})
	}
	to := f.Arg(f.NArg() - 1)
	results, err := logstore.Import(ctx, to, o, f.Args()[:f.NArg()-1]...)
	m.end()
	if print := printImport(to, results, *file, stdout); err == nil || ctx.Err() != nil {
		err = errors.Join(err, print)
	}
	if ctx.Err() != nil {
		return exitInterrupted
	}
	if err = errors.Join(err, importFindings(results)); err != nil {
		return failed(stderr, f.Name(), err)
	}
	return exitOK
}

// An importEvent is an event of --progress json.
type importEvent struct {
	Event   string `json:"event"`
	Source  string `json:"source"`
	Entries int64  `json:"entries"`
}

// importFindings returns what was not imported.
func importFindings(results []logstore.ImportResult) error {
	var errs []error
	for _, r := range results {
		errs = append(errs, r.Damage...)
		if more := r.Damaged - len(r.Damage); more > 0 {
			errs = append(errs, fmt.Errorf("%s: %d damaged places more", r.Source, more))
		}
		if r.Refused > 0 {
			errs = append(errs, fmt.Errorf("%s: %s refused", r.Source, entries(r.Refused)))
		}
	}
	return errors.Join(errs...)
}

// printImport prints the results as text, or as JSON to the file.
func printImport(to string, results []logstore.ImportResult, file string, stdout io.Writer) error {
	if file != "" {
		return writeJSON(file, stdout, importJSON(to, results))
	}
	var b strings.Builder
	for _, r := range results {
		fmt.Fprintf(&b, "%s: %s imported into %s", r.Source, entries(r.Kept), to)
		if r.Restored > 0 {
			fmt.Fprintf(&b, ", %s of it put back", units.Count(r.Restored, "segment"))
		}
		if r.Known > 0 {
			fmt.Fprintf(&b, ", %d imported before", r.Known)
		}
		if r.Damaged > 0 {
			fmt.Fprintf(&b, ", %d damaged places", r.Damaged)
		}
		if r.Refused > 0 {
			fmt.Fprintf(&b, ", %d refused", r.Refused)
		}
		fmt.Fprintln(&b)
	}
	_, err := io.WriteString(stdout, b.String())
	return err
}

type importDoc struct {
	Schema  string            `json:"schema"`
	To      string            `json:"to"`
	Sources []importSourceDoc `json:"sources"` // up to the one that failed
}

type importSourceDoc struct {
	Source  string `json:"source"`
	Kept    int64  `json:"kept"`
	Known   int64  `json:"known"`
	Refused int64  `json:"refused"`
	// Segments of the store that were put back in their places.
	Restored int `json:"restored"`

	Damaged int      `json:"damaged"`
	Damage  []string `json:"damage,omitempty"`
}

func importJSON(to string, results []logstore.ImportResult) importDoc {
	d := importDoc{Schema: importSchema, To: to, Sources: []importSourceDoc{}}
	for _, r := range results {
		s := importSourceDoc{Source: r.Source, Kept: r.Kept, Known: r.Known, Refused: r.Refused, Restored: r.Restored, Damaged: r.Damaged}
		for _, err := range r.Damage {
			s.Damage = append(s.Damage, err.Error())
		}
		d.Sources = append(d.Sources, s)
	}
	return d
}

package claims

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/stats"
)

// creationCostClaims are the claims on what creating a file costs, and on
// what makes it cheaper.
func creationCostClaims() []Claim {
	return []Claim{claimC1(), claimC3(), claimC4(), claimC5(), claimC9(), claimC10(), claimC15()}
}

// publishedFiles is the number of files, and of goroutines, of the published
// workload.
const publishedFiles = 1000

// eightThreads is the setting of the report.
func eightThreads() []string { return []string{"GOMAXPROCS=8"} }

var (
	// kept is an empty file that is there or not, in the page cache.
	kept = durability.Promise{Level: durability.Kill, After: durability.OldOrNew}
	// keptTorn is a file with content, in the page cache.
	keptTorn = durability.Promise{Level: durability.Kill, After: durability.Torn}
)

const (
	nameOne  = "1 goroutine"
	nameMany = "1,000 goroutines"
)

// deal deals b.N operations out to goroutines in turn.
func deal(b *lab.B, goroutines int, op func(i int64) error) error {
	return b.Parallel(goroutines, func(w *lab.Worker) error {
		for w.Loop() {
			if err := op(w.I()*int64(goroutines) + int64(w.ID)); err != nil {
				return err
			}
		}
		return nil
	})
}

// createAndClose is os.Create and Close of names in the working directory.
func createAndClose(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return f.Close()
}

// distinctNames are as many names as there are operations.
func distinctNames(b *lab.B) []string {
	names := make([]string, b.N)
	for i := range names {
		names[i] = "test_" + strconv.Itoa(i)
	}
	return names
}

// createMany is the workload that the other ways are held against: 1,000
// goroutines, as many distinct names.
func createMany(b *lab.B) error {
	names := distinctNames(b)
	return deal(b, publishedFiles, func(i int64) error { return createAndClose(names[i]) })
}

// total writes the time of as many operations as the report timed.
func total(perOp run.Estimate) string {
	return time.Duration(perOp.Median * publishedFiles).Round(10 * time.Microsecond).String()
}

// failed says why an experiment has no figures, "" where it has.
func (f *found) failed(id string) string {
	r := f.results[id]
	if r == nil {
		return "no result of " + id
	}
	for i := range r.Variants {
		if err := r.Variants[i].Error; err != "" {
			return err
		}
	}
	return ""
}

// times says by how much one variant is faster than another that promises
// something else, and so was not compared with it by the lab. The two ran in
// the same rounds; without the pairing the interval is the widest that theirs
// allow.
func (f *found) times(id, slow, fast string) run.Estimate {
	return quotient(f.time(id, slow), f.time(id, fast))
}

// tail is the 99th percentile of a block, or why there is none. It has a datum
// a block and so an interval, unlike that of all operations together.
func (f *found) tail(id, name string) (e run.Estimate, why string) {
	if f.variant(id, name) == nil {
		return noEstimate, "not measured"
	}
	var of []float64
	for _, b := range f.results[id].Blocks {
		if b.Variant != name || b.Role != run.RoleTimed || b.Latency == nil {
			continue
		}
		if err := stats.CheckPercentile(99, b.Latency.Count(), 0.95); err != nil {
			return noEstimate, err.Error()
		}
		of = append(of, b.Latency.Quantile(0.99))
	}
	if len(of) == 0 {
		return noEstimate, "not measured"
	}
	m := stats.Median(of, 0.95)
	return run.Estimate{Median: m.Value, Lo: m.Lo, Hi: m.Hi, Confidence: m.Confidence, N: m.N}, ""
}

// asked writes the limit that claimedFactor applies.
func asked(claimed float64) string {
	return fmt.Sprintf("%.2fx (the claim less %.0f %%)", claimed*(1-slack), 100*slack)
}

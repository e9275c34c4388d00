package claims

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// Small makes the claims' files one MiB or a few.
const Small job.Scale = 1024

// Each variant of R and L does its job once and reports its figures.
func TestReadingAndLogClaimsRun(t *testing.T) {
	has := map[string][]string{
		"R1-read":   {"file_bytes"},
		"R2":        {"file_bytes"},
		"R3":        {"allocs_per_op", r3Made},
		"R4":        {"file_bytes"},
		"R4-alone":  {"file_bytes", "read_mean_ns"},
		"L3-open":   {"line_mean_ns"},
		"L4-encode": {"bytes_per_record"},
		"L5":        {"file_bytes"},
		"L6":        {"file_bytes", "read_mean_ns", "hit_share"},
		"L8":        {"file_bytes"},
		"L11-warm":  {"file_bytes", "parsed_share"},
		"L11-cold":  {"file_bytes", "parsed_share"},
		"L11-long":  {"file_bytes", "parsed_share"},
	}
	for _, c := range slices.Concat(Reading(Small), Log(Small)) {
		t.Run(c.ID, func(t *testing.T) {
			runClaims(t, []Claim{c}, 1, func(t *testing.T, e *lab.Experiment, dir string, b run.Block) {
				for _, name := range has[e.Name] {
					if why := b.Missing[name].Text; why != "" {
						t.Logf("%s: no %s: %s", b.Variant, name, why)
					} else if x := b.Metrics[name]; !(x > 0) || math.IsInf(x, 0) {
						t.Errorf("%s of %s: %s is %v", e.ID(), b.Variant, name, x)
					}
				}
				switch {
				case e.Name == "R1-write" && b.Variant == r1Coded:
					wantEntries(t, dir, 0)
				case e.Name == "R1-write" && b.Variant == r1Whole:
					wantSize(t, filepath.Join(dir, "f255"), datafile.PageSize)
				case e.Name == "R1-write":
					wantSize(t, filepath.Join(dir, "data"), datafile.MiB)
				}
			})
		})
	}
}

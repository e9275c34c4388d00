package claims

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// Small makes files of the claims a MiB or a few.
const Small job.Scale = 1024

// Each variant of R and L does its job once, says what it found, and leaves
// nothing but files in its folder.
func TestReadingAndLogClaimsRun(t *testing.T) {
	has := map[string][]string{
		"R1-read":       {"file_bytes"},
		"R3-goroutines": {"allocs_per_op"},
		"R4":            {"file_bytes"},
		"R4-alone":      {"file_bytes", "read_mean_ns"},
		"L3-paced":      {"call_mean_ns", "call_p99_ns", "line_mean_ns", "lines_per_second"},
		"L4-encode":     {"bytes_per_record"},
		"L5-block":      {"file_bytes"},
		"L6":            {"file_bytes", "read_mean_ns", "hit_share"},
		"L8":            {"file_bytes"},
		"L11-warm":      {"file_bytes", "parsed_share"},
		"L11-cold":      {"file_bytes", "parsed_share"},
	}
	for _, c := range slices.Concat(Reading(Small), Log(Small)) {
		t.Run(c.ID, func(t *testing.T) {
			runClaims(t, []Claim{c}, 1, func(t *testing.T, e *lab.Experiment, dir string, b run.Block) {
				for _, name := range has[e.Name] {
					if why := b.Missing[name]; why != "" {
						t.Logf("%s: no %s: %s", b.Variant, name, why)
					} else if x := b.Metrics[name]; !(x > 0) || math.IsInf(x, 0) {
						t.Errorf("%s of %s: %s is %v", e.ID(), b.Variant, name, x)
					}
				}
				switch {
				case e.Name == "R1-write" && b.Variant == r1Whole:
					wantSize(t, filepath.Join(dir, "f255"), datafile.PageSize)
				case e.Name == "R1-write":
					wantSize(t, filepath.Join(dir, "data"), datafile.MiB)
				case strings.HasPrefix(e.Name, "R2"):
					wantSize(t, filepath.Join(dir, "data"), Small.Of(r2Bytes))
				}
			})
		})
	}
}

func wantSize(t *testing.T, name string, want int64) {
	t.Helper()
	if info, err := os.Stat(name); err != nil || info.Size() != want {
		t.Errorf("%s should have %d bytes: %v, %v", filepath.Base(name), want, info, err)
	}
}

func TestSumsLookAtEverything(t *testing.T) {
	page := make([]byte, 2*datafile.PageSize)
	for i := range page {
		page[i] = 1
	}
	if got := datafile.SumWords(page[:800]); got != 0x6464646464646464 { // a hundred words
		t.Errorf("sumWords: %#x", got)
	}
	if got := sumPages(page); got != 2 {
		t.Errorf("sumPages: %d, want 2", got)
	}
	if got := firstWord(page); got != 0x01010101 {
		t.Errorf("firstWord: %#x", got)
	}
}

// Runs go forward and backward in turn, and no read leaves the file.
func TestL8OffsetsOfRuns(t *testing.T) {
	const size = 64 * datafile.PageSize
	e := lab.Experiment{Suite: "test", Name: "offsets", Ops: 1}
	v := lab.Variant{Name: "v", Run: func(b *lab.B) error {
		next := l8Offset(l8Runs, b, size)
		var offs []int64
		for i := range int64(4 * l8Run) {
			offs = append(offs, next(i))
		}
		for i, off := range offs {
			if off < 0 || off > size-datafile.PageSize || off%datafile.PageSize != 0 {
				t.Errorf("read %d is at %d", i, off)
			}
			step := int64(datafile.PageSize)
			if i/l8Run%2 == 1 {
				step = -step
			}
			if i%l8Run > 0 && off-offs[i-1] != step {
				t.Errorf("read %d goes %d bytes on, want %d", i, off-offs[i-1], step)
			}
		}
		for b.Loop() {
		}
		return nil
	}}
	if _, err := lab.RunOnce(t.Context(), &e, &v, t.TempDir(), 1, 7); err != nil {
		t.Fatal(err)
	}
}

// With A reading ahead of each read, what was not asked for is wasted.
func TestL8CountsHitsAndWaste(t *testing.T) {
	e := l8(Small, l8Random)
	b, err := lab.RunOnce(t.Context(), &e, e.Variant(l8Fixed), t.TempDir(), 1, 7)
	if b.Unsupported {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	// One cold read of 4 KiB of 128 KiB that were fetched, or fewer at the end.
	if b.Metrics["hit_share"] != 0 || b.Metrics["wasted_share"] < 0.5 || b.Metrics["wasted_share"] >= 1 {
		t.Errorf("one read: hits %v, wasted %v", b.Metrics["hit_share"], b.Metrics["wasted_share"])
	}
}

// A child that cannot read is an error that says why, not a wait for ever.
func TestL6ReportsAChildThatFails(t *testing.T) {
	e := l6(Small)
	v := lab.Variant{Name: l6Own, Run: func(b *lab.B) error {
		f, err := datafile.Open(b, "noise", Small.Of(l6File), datafile.Noise())
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = readL6InChildren(b, &e, l6Own, f, "/no/such/file")
		return err
	}}
	_, err := lab.RunOnce(t.Context(), &e, &v, t.TempDir(), 1, 7)
	if err == nil || !strings.Contains(err.Error(), "/no/such/file") {
		t.Errorf("got %v, want the error of the child", err)
	}
}

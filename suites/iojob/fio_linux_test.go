package iojob

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/stats"
)

const (
	fioRounds = 15
	fioTime   = time.Second // of each reading
	fioBar    = 0.9         // of fio's rate
)

// TestFio compares random direct reads of 4 KiB with those of fio, on the same file,
// in turn:
//
//	STELE_LONG=1 go test ./suites/iojob -run TestFio -v
//
// As root it uses an ext4 image, else a directory for temporary files. It fails if the
// interval of the ratio lies below the bar, and skips if it includes the bar and the
// median lies below.
func TestFio(t *testing.T) {
	if os.Getenv("STELE_LONG") == "" {
		t.Skip("takes a minute of the disk; set STELE_LONG=1")
	}
	fio, err := exec.LookPath("fio")
	if err != nil {
		t.Skipf("fio is not installed (apt-get install fio): %v", err)
	}
	dir := t.TempDir()
	if os.Geteuid() == 0 {
		p, err := scratch.Image(t.Context(), scratch.Options{FS: "ext4", Size: 1 << 30, Store: "/var/tmp"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}()
		dir = p.Path
	}
	base := of(t, "rw=randread direct=1 size=256M")
	if err := Layout(t.Context(), dir, []Job{base}, func(int64, int64) {}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, fileName(base.Size))
	for _, c := range []struct {
		depth  int
		engine string
	}{{1, "psync"}, {16, "io_uring"}} {
		t.Run(fmt.Sprintf("depth=%d", c.depth), func(t *testing.T) {
			j := base
			j.Depth = c.depth
			ops := int64(1000)
			ours := func() float64 {
				b := blockOf(t, j, ops, func(b *lab.B) error { return runJob(b, &j, path) })
				rate := float64(b.Ops) / time.Duration(b.Wall).Seconds()
				ops = max(int64(rate*fioTime.Seconds()), 1)
				return rate
			}
			theirs := func() float64 { return fioRate(t, fio, path, c.engine, c.depth) }
			ours()
			theirs() // both once, uncounted
			var a, b []float64
			for round := range fioRounds {
				if round%2 == 0 {
					a, b = append(a, ours()), append(b, theirs())
				} else {
					b, a = append(b, theirs()), append(a, ours())
				}
			}
			ratio := stats.RatioPaired(a, b, 0.95, rand.New(rand.NewPCG(1, 1)), 5000)
			t.Logf("4 KiB random direct reads, %d in flight: %.0f a second, fio (%s) %.0f: %.3fx [%.3f, %.3f] of fio's rate",
				c.depth, stats.Median(a, 0.95).Value, c.engine, stats.Median(b, 0.95).Value, ratio.Value, ratio.Lo, ratio.Hi)
			switch {
			case ratio.Hi < fioBar:
				t.Errorf("below %.2fx", fioBar)
			case ratio.Value < fioBar:
				t.Skipf("cannot tell whether it is %.2fx: the interval reaches over it", fioBar)
			}
		})
	}
}

// fioRate has fio read for fioTime, and returns reads a second.
func fioRate(t *testing.T, fio, path, engine string, depth int) float64 {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), fio, "--name=read", "--filename="+path, "--rw=randread", "--direct=1", "--bs=4096", "--norandommap",
		fmt.Sprintf("--runtime=%d", int(fioTime.Seconds())), "--time_based", "--ioengine="+engine, fmt.Sprintf("--iodepth=%d", depth), "--thread", "--output-format=json")
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("fio: %v: %s", err, problems.String())
	}
	var result struct {
		Jobs []struct {
			Error int
			Read  struct{ IOPS float64 }
		}
	}
	if err := json.Unmarshal(out, &result); err != nil || len(result.Jobs) != 1 || result.Jobs[0].Error != 0 || result.Jobs[0].Read.IOPS == 0 {
		t.Fatalf("fio's output: %v: %s", err, out)
	}
	return result.Jobs[0].Read.IOPS
}

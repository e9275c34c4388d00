package rw

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/lab/stats"
	"github.com/stele-go/stele/suites/internal/datafile"
)

const (
	fioFile   = 512 * datafile.MiB
	fioBlock  = datafile.MiB
	fioRounds = 15
	fioBar    = 0.95 // of fio's rate
)

// TestFio compares sequential direct reads of fileio's Reader with fio's, with the same
// block size and depth, on the same file, in turn:
//
//	STELE_LONG=1 go test ./suites/rw -run TestFio -v
//
// As root it uses an ext4 image, else the directory for temporary files. It fails if
// the interval of the ratio lies below the bar, and skips if the interval includes the
// bar and the median lies below it.
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
		p, err := scratch.Image(t.Context(), scratch.Options{FS: "ext4", Size: 2 << 30, Store: dir})
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
	name := filepath.Join(dir, "data")
	if err := datafile.Write(name, fioFile, numberPages()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		depth  int
		engine string
	}{{1, "psync"}, {4, "io_uring"}} {
		t.Run(fmt.Sprintf("depth=%d", c.depth), func(t *testing.T) {
			theirs := func() float64 { return fioRate(t, fio, name, c.engine, c.depth) }
			ours := func() float64 { return readerRate(t, name, c.depth) }
			theirs()
			ours() // both once, uncounted
			var a, b []float64
			for round := range fioRounds {
				if round%2 == 0 {
					a, b = append(a, ours()), append(b, theirs())
				} else {
					b, a = append(b, theirs()), append(a, ours())
				}
			}
			ratio := stats.RatioPaired(a, b, 0.95, rand.New(rand.NewPCG(1, 1)), 5000)
			rate := func(x []float64) float64 { return stats.Median(x, 0.95).Value / datafile.MiB }
			t.Logf("sequential %d KiB direct reads, %d in flight: fileio %.0f MiB/s, fio (%s) %.0f MiB/s: %.3fx [%.3f, %.3f] of fio's rate",
				fioBlock>>10, c.depth, rate(a), c.engine, rate(b), ratio.Value, ratio.Lo, ratio.Hi)
			switch {
			case ratio.Hi < fioBar:
				t.Errorf("below %.2fx", fioBar)
			case ratio.Value < fioBar:
				t.Skipf("cannot tell whether it is %.2fx: the interval reaches over it", fioBar)
			}
		})
	}
}

// fioRate makes fio read the file once, and returns bytes a second. fio's own timing of
// each read is off, as ours is.
func fioRate(t *testing.T, fio, name, engine string, depth int) float64 {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), fio, "--name=read", "--filename="+name, "--rw=read", "--direct=1", "--gtod_reduce=1",
		fmt.Sprintf("--bs=%d", fioBlock), fmt.Sprintf("--size=%d", fioFile), "--ioengine="+engine, fmt.Sprintf("--iodepth=%d", depth),
		"--thread", "--output-format=json")
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("fio: %v: %s", err, problems.String())
	}
	var result struct {
		Jobs []struct {
			Error int
			Read  struct {
				Bytes   int64 `json:"io_bytes"`
				Runtime int64 `json:"runtime"` // ms
			}
		}
	}
	if err := json.Unmarshal(out, &result); err != nil || len(result.Jobs) != 1 {
		t.Fatalf("fio's output: %v: %s", err, out)
	}
	j := result.Jobs[0]
	if j.Error != 0 || j.Read.Bytes != fioFile || j.Read.Runtime == 0 {
		t.Fatalf("fio read %d bytes in %d ms, error %d", j.Read.Bytes, j.Read.Runtime, j.Error)
	}
	return float64(j.Read.Bytes) / float64(j.Read.Runtime) * 1e3
}

// readerRate reads the file once by a fileio.Reader, from so many goroutines.
func readerRate(t *testing.T, name string, depth int) float64 {
	t.Helper()
	r, err := openStele(name, fileio.Direct, fileio.Sequential)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	bufs := make([][]byte, depth)
	for i := range bufs {
		bufs[i] = fileio.AlignedBuffer(fioBlock)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for _, buf := range bufs {
		wg.Go(func() {
			for {
				off := (next.Add(1) - 1) * fioBlock
				if off >= fioFile {
					return
				}
				if n, err := r.ReadAt(buf, off); n != fioBlock {
					t.Errorf("read %d bytes at %d: %v", n, off, err)
					return
				}
			}
		})
	}
	wg.Wait()
	return fioFile / time.Since(start).Seconds()
}

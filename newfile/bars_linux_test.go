package newfile_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/measure/procstat"
	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/newfile"
)

// TestBars measures what the package is for:
//
//	STELE_LONG=1 go test -run TestBars -v ./newfile
//
// Each round makes a file system, and on it creates the same number of files in each
// way, in random order, each way in a directory of its own. A round gives one ratio
// of times. The median is held against the bar.
func TestBars(t *testing.T) {
	if os.Getenv("STELE_LONG") == "" {
		t.Skip("takes three minutes of all processors; set STELE_LONG=1")
	}
	// A disk has several flexible block groups, and so must the image; see
	// Options.Shards.
	ext4 := scratch.Options{FS: "ext4", Size: 8 << 30}
	tmpfs := scratch.Options{FS: "tmpfs", Size: 64 << 20}
	kill := newfile.Options{Level: durability.Kill, Shards: 16}
	power := newfile.Options{Shards: 16}

	t.Run("shards", func(t *testing.T) {
		shards := newfile.Options{Level: durability.Kill, Shards: 256}
		m := measure(t, ext4, 15_000, others, []way{
			{"os.Create in one directory, 1000 goroutines", 1000, osCreate},
			{"Create in 256 shards, 1000 goroutines", 1000, direct(shards)},
			{"Create in 256 shards, 1 goroutine", 1, direct(shards)},
		})
		m.atMost(0.55, 1, 0)
		m.atMost(1.10, 1, 2)
	})
	for _, n := range []int{1, 16, 1000} {
		t.Run(fmt.Sprintf("queue/goroutines=%d", n), func(t *testing.T) {
			m := measure(t, tmpfs, 4000, others, []way{{"Create", n, direct(kill)}, {"Queue.Create", n, queued(kill)}})
			m.atMost(1/0.7, 1, 0)
		})
	}
	for _, n := range []int{1, 16, 1000} {
		t.Run(fmt.Sprintf("power/goroutines=%d", n), func(t *testing.T) {
			// Both ways mostly wait for the disk, and use the kernel's threads.
			m := measure(t, ext4, 100+4*n, 1, []way{{"Create", n, direct(power)}, {"Queue.Create", n, queued(power)}})
			m.atMost(1.10, 1, 0)
		})
	}
}

// A way is a function that creates files, and the number of goroutines that call it.
type way struct {
	name       string
	goroutines int
	open       func(t *testing.T, dir string) (create func(name string) (*os.File, error), end func())
}

func osCreate(_ *testing.T, dir string) (func(string) (*os.File, error), func()) {
	return func(name string) (*os.File, error) { return os.Create(filepath.Join(dir, name)) }, func() {}
}

func direct(o newfile.Options) func(*testing.T, string) (func(string) (*os.File, error), func()) {
	return func(t *testing.T, dir string) (func(string) (*os.File, error), func()) {
		d, err := newfile.OpenDir(dir, o)
		must(t, err)
		return func(name string) (*os.File, error) { return d.Create(name, 0o666) }, func() { must(t, d.Close()) }
	}
}

func queued(o newfile.Options) func(*testing.T, string) (func(string) (*os.File, error), func()) {
	return func(t *testing.T, dir string) (func(string) (*os.File, error), func()) {
		d, err := newfile.OpenDir(dir, o)
		must(t, err)
		q, err := newfile.NewQueue(d, newfile.QueueOptions{})
		must(t, err)
		create := func(name string) (*os.File, error) { return q.Create(t.Context(), name) }
		return create, func() { must(t, q.Close()); must(t, d.Close()) }
	}
}

// Of 21 rounds the 6th and the 16th hold the median between them with 97 %
// probability (order statistics).
const rounds, lower, upper = 21, 5, 15

// others is the share of the processors that other processes may take in a round:
// with more the round does not count, because which way is faster depends on the
// number of processors. Work of kernel threads for the test counts as theirs.
// patience is how long a test waits in all for other processes to end.
const others, patience = 0.15, 3 * time.Minute

type measured struct {
	*testing.T
	ways []way
	took [][]float64 // µs a file, by way and round
}

func measure(t *testing.T, image scratch.Options, files int, others float64, ways []way) *measured {
	t.Helper()
	image.Store = t.TempDir()
	m := &measured{t, ways, make([][]float64, len(ways))}
	for start := time.Now(); len(m.took[0]) < rounds; {
		if before := foreign(t); time.Since(start) > patience {
			t.Skipf("other processes use the machine: only %d rounds of %d count", len(m.took[0]), rounds)
		} else if time.Sleep(100 * time.Millisecond); share(foreign(t)-before, 100*time.Millisecond) > others {
			continue
		}
		took, stolen := m.round(image, files)
		if stolen > others {
			continue
		}
		for i, d := range took {
			m.took[i] = append(m.took[i], d.Seconds()*1e6/float64(files))
		}
	}
	for i, w := range ways {
		t.Logf("%s: %.2f µs a file", w.name, slices.Sorted(slices.Values(m.took[i]))[rounds/2])
	}
	return m
}

// round returns the time that each way took, and the largest share of the processors
// that other processes took meanwhile.
func (m *measured) round(image scratch.Options, files int) (took []time.Duration, stolen float64) {
	p, err := scratch.Image(m.Context(), image)
	if err != nil {
		m.Skip(err)
	}
	defer func() { must(m, p.Close()) }()
	took = make([]time.Duration, len(m.ways))
	for _, i := range rand.Perm(len(m.ways)) {
		dir := filepath.Join(p.Path, strconv.Itoa(i))
		must(m, os.Mkdir(dir, 0o700))
		create, end := m.ways[i].open(m.T, dir)
		before, start := foreign(m), time.Now()
		createAll(m.T, m.ways[i].goroutines, files, create)
		took[i] = time.Since(start)
		stolen = max(stolen, share(foreign(m)-before, took[i]))
		end()
	}
	return took, stolen
}

// atMost compares the ratio of the times of two ways with a bar.
func (m *measured) atMost(bar float64, a, b int) {
	ratios := make([]float64, rounds)
	for r := range ratios {
		ratios[r] = m.took[a][r] / m.took[b][r]
	}
	slices.Sort(ratios)
	median := ratios[rounds/2]
	say := m.Logf
	if median > bar {
		say = m.Errorf
	}
	say("%s against %s: %.2fx [%.2f, %.2f] the time, want at most %.2fx",
		m.ways[a].name, m.ways[b].name, median, ratios[lower], ratios[upper], bar)
}

// createAll creates and closes files.
func createAll(t *testing.T, goroutines, files int, create func(name string) (*os.File, error)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(files); i = next.Add(1) {
				if err := closed(create(fileName(int(i)))); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// share returns used, processor time, as a share of all processors in the time took.
func share(used, took time.Duration) float64 {
	return float64(used) / float64(took) / float64(runtime.NumCPU())
}

// foreign returns the processor time that all other processes have used.
func foreign(t testing.TB) time.Duration {
	b, err := os.ReadFile("/proc/stat")
	must(t, err)
	line, _, _ := strings.Cut(string(b), "\n")
	busy := time.Duration(0)
	for i, f := range strings.Fields(line)[1:9] { // user nice system idle iowait irq softirq steal
		n, err := strconv.Atoi(f)
		must(t, err)
		if i != 3 && i != 4 {
			busy += time.Duration(n) * 10 * time.Millisecond // USER_HZ is 100
		}
	}
	own, err := procstat.SelfUsage()
	must(t, err)
	return busy - own.User - own.System
}

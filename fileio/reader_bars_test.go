package fileio_test

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/internal/measure/pagecache"
	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/internal/sys"
)

func needLong(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the bars are for Linux")
	}
	if os.Getenv("STELE_LONG") == "" {
		t.Skip("measures for half a minute, and not beside other tests; set STELE_LONG=1")
	}
}

// bigFile writes size bytes that do not repeat, durably.
func bigFile(t testing.TB, dir string, size int64) string {
	t.Helper()
	name := filepath.Join(dir, "big")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	buf := make([]byte, 1<<20)
	for off := int64(0); off < size; off += int64(len(buf)) {
		for i := 0; i < len(buf); i += 8 {
			binary.LittleEndian.PutUint64(buf[i:], uint64(off)+uint64(i))
		}
		if _, err := f.Write(buf[:min(size-off, int64(len(buf)))]); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	return name
}

// An estimate is a median with its interval at 95 %.
type estimate struct{ Value, Lo, Hi float64 }

// middle returns the median of ratios of pairs. Its interval is that of the
// order statistics, which holds for any distribution: as many of the smallest and
// of the largest values are left out as a fair coin shows one side in at most 2.5 % of
// series of this length.
func middle(t *testing.T, ratios []float64) estimate {
	t.Helper()
	x := slices.Sorted(slices.Values(ratios))
	n := len(x)
	below, out := 0.0, 0
	for p := math.Pow(0.5, float64(n)); below+p <= 0.025; out++ {
		below += p
		p *= float64(n-out) / float64(out+1)
	}
	if out == 0 {
		t.Fatalf("%d pairs: an interval at 95 %% needs at least 6", n)
	}
	return estimate{Value: (x[(n-1)/2] + x[n/2]) / 2, Lo: x[out-1], Hi: x[n-out]}
}

func TestMiddle(t *testing.T) {
	var x []float64
	for i := range 41 {
		x = append(x, float64((i*7)%41)) // 0 to 40, shuffled
	}
	// Binomial tables: of 41 throws 13 or fewer heads come in 1.4 %, 14 in 3 %.
	if e := middle(t, x); e != (estimate{20, 13, 27}) {
		t.Errorf("of 0 to 40: %+v", e)
	}
}

// sum reads every byte, also if its result is not used.
//
//go:noinline
func sum(b []byte) (s uint64) {
	for ; len(b) >= 8; b = b[8:] {
		s += binary.LittleEndian.Uint64(b)
	}
	return s
}

// TestBars compares a mapped Reader with pread(2): 4 KiB at random offsets of 1 GiB in
// the page cache, of which both read every byte. The rounds are short, so that other
// work on the machine affects both sides of a pair.
func TestBars(t *testing.T) {
	needLong(t)
	const (
		size   = 1 << 30
		block  = 4 << 10
		reads  = 10_000
		rounds = 101
	)
	name := bigFile(t, t.TempDir(), size)
	r, err := fileio.Open(name, fileio.Options{Way: fileio.Mapped, Populate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	buf := make([]byte, block)
	ways := [2]func(off int64) uint64{
		func(off int64) (s uint64) {
			err := r.View(off, block, func(b []byte) error { s = sum(b); return nil })
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		func(off int64) uint64 {
			if _, err := sys.Pread(f, buf, off); err != nil {
				t.Fatal(err)
			}
			return sum(buf)
		},
	}
	var ratios []float64
	var best [2]time.Duration
	for round := range rounds {
		var took [2]time.Duration
		var sums [2]uint64
		for i := range ways {
			w := (i + round) % 2
			rng := rand.New(rand.NewPCG(1, uint64(round)))
			start := time.Now()
			for range reads {
				sums[w] += ways[w](rng.Int64N(size/block) * block)
			}
			took[w] = time.Since(start)
			if best[w] == 0 || took[w] < best[w] {
				best[w] = took[w]
			}
		}
		if sums[0] != sums[1] {
			t.Fatalf("the sums are %d and %d", sums[0], sums[1])
		}
		ratios = append(ratios, float64(took[0])/float64(took[1]))
	}
	e := middle(t, ratios)
	t.Logf("mapped View / pread: %.3f [%.3f, %.3f], the median of %d pairs and its interval at 95 %%; the fastest take %v and %v a read",
		e.Value, e.Lo, e.Hi, rounds, best[0]/reads, best[1]/reads)
	if e.Value > 0.75 {
		t.Error("the bar is 0.75")
	}
}

// A load reads a file in some order.
type load struct {
	name string
	do   func(t *testing.T, r *fileio.Reader, rng *rand.Rand)
	warm bool // the file is in the page cache
	half bool // every second MiB of the file is
	way  fileio.Way
	// beside runs during the load, until stop is closed.
	beside func(dir string, stop chan struct{}) error
}

const loadSize = 256 << 20

func reads(n, size int, at func(i int, rng *rand.Rand) int64) func(*testing.T, *fileio.Reader, *rand.Rand) {
	return func(t *testing.T, r *fileio.Reader, rng *rand.Rand) {
		buf := make([]byte, size)
		for i := range n {
			off := at(i, rng)
			if _, err := r.ReadAt(buf, off); err != nil {
				t.Fatal(err)
			}
			if got := binary.LittleEndian.Uint64(buf); got != uint64(off) {
				t.Fatalf("at %d is %d", off, got)
			}
		}
	}
}

func forward(size int) func(int, *rand.Rand) int64 {
	return func(i int, _ *rand.Rand) int64 { return int64(i * size) }
}
func backward(size int) func(int, *rand.Rand) int64 {
	return func(i int, _ *rand.Rand) int64 { return loadSize - int64((i+1)*size) }
}
func twice(size int) func(int, *rand.Rand) int64 {
	return func(i int, _ *rand.Rand) int64 { return int64(i%2)*loadSize/2 + int64(i/2*size) }
}
func strided(step int) func(int, *rand.Rand) int64 {
	return func(i int, _ *rand.Rand) int64 { return int64(i * step) }
}
func random(_ int, rng *rand.Rand) int64 { return rng.Int64N(loadSize/4096) * 4096 }

// runs makes runs of n requests, a step apart, from random offsets: too short to use
// what is read ahead of them.
func runs(n int, step int64) func(int, *rand.Rand) int64 {
	var at int64
	return func(i int, rng *rand.Rand) int64 {
		if at += step; i%n == 0 {
			at = 16<<20 + rng.Int64N((loadSize-32<<20)/4096)*4096
		}
		return at
	}
}

// writeBeside writes in pieces of 128 KiB.
func writeBeside(dir string, stop chan struct{}) error {
	f, err := os.Create(filepath.Join(dir, "beside"))
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	buf := make([]byte, 128<<10)
	for off := int64(0); ; off += int64(len(buf)) {
		select {
		case <-stop:
			return nil
		case <-time.After(2 * time.Millisecond):
		}
		if _, err := f.WriteAt(buf, off%(64<<20)); err != nil {
			return err
		}
	}
}

var loads = []load{
	{name: "random 4 KiB, cold", do: reads(500, 4<<10, random)},
	{name: "random 4 KiB, half warm (R4)", do: reads(500, 4<<10, random), half: true},
	{name: "random 4 KiB beside writes (L8)", do: reads(500, 4<<10, random), beside: writeBeside},
	{name: "random 4 KiB, warm", do: reads(5000, 4<<10, random), warm: true},
	{name: "random 4 KiB, mapped, cold", do: reads(300, 4<<10, random), way: fileio.Mapped},
	{name: "random 4 KiB, mapped, warm", do: reads(5000, 4<<10, random), way: fileio.Mapped, warm: true},
	{name: "forward 64 KiB, mapped, cold", do: reads(512, 64<<10, forward(64<<10)), way: fileio.Mapped},
	{name: "backward 64 KiB, mapped, cold", do: reads(512, 64<<10, backward(64<<10)), way: fileio.Mapped},
	{name: "two forward 64 KiB, cold", do: reads(512, 64<<10, twice(64<<10))},
	{name: "forward 64 KiB, cold", do: reads(512, 64<<10, forward(64<<10))},
	{name: "forward 4 KiB, cold", do: reads(8192, 4<<10, forward(4<<10))},
	{name: "forward 4 KiB, warm", do: reads(8192, 4<<10, forward(4<<10)), warm: true},
	{name: "backward 4 KiB, cold", do: reads(500, 4<<10, backward(4<<10))},
	{name: "backward 64 KiB, cold", do: reads(500, 64<<10, backward(64<<10))},
	{name: "backward 4 KiB, warm", do: reads(5000, 4<<10, backward(4<<10)), warm: true},
	{name: "runs of 4 backward, 4 KiB, cold", do: reads(500, 4<<10, runs(4, -4<<10))},
	{name: "runs of 5 in strides, 4 KiB, cold", do: reads(500, 4<<10, runs(5, 64<<10))},
	{name: "runs of 4 forward, 4 KiB, cold", do: reads(500, 4<<10, runs(4, 4<<10))},
	{name: "runs of 4 backward, 4 KiB, warm", do: reads(5000, 4<<10, runs(4, -4<<10)), warm: true},
	{name: "strides 4 KiB in 64 KiB, cold", do: reads(500, 4<<10, strided(64<<10))},
	{name: "strides 4 KiB in 64 KiB, warm", do: reads(2000, 4<<10, strided(64<<10)), warm: true},
	{name: "strides 16 KiB in 1 MiB, cold", do: reads(250, 16<<10, strided(1<<20))},
}

// TestReadaheadBars compares the readahead of this package with the kernel's default: it
// may never take more than 5 % longer.
func TestReadaheadBars(t *testing.T) {
	needLong(t)
	places := map[string]string{"disk": t.TempDir()}
	if os.Geteuid() == 0 {
		p, err := scratch.Image(context.Background(), scratch.Options{FS: "ext4", Size: 768 << 20, Store: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}()
		places["ext4"] = p.Path
	}
	for where, dir := range places {
		name := bigFile(t, dir, loadSize)
		for _, l := range loads {
			t.Run(where+"/"+l.name, func(t *testing.T) { compare(t, dir, name, l) })
		}
	}
}

func compare(t *testing.T, dir, name string, l load) {
	const rounds = 41 // short ones: other work affects both sides of a pair
	settings := [2]fileio.Readahead{fileio.ReadaheadAuto, fileio.ReadaheadKernel}
	var ratios []float64
	var best [2]time.Duration
	var found fileio.Stats
	for round := range rounds {
		var took [2]time.Duration
		for i := range settings {
			w := (i + round) % 2
			if !l.warm || len(ratios)+i == 0 { // no way here to make a file cold
				prepare(t, name, l)
			}
			r, err := fileio.Open(name, fileio.Options{Way: max(l.way, fileio.Buffered), Readahead: settings[w]})
			if err != nil {
				t.Fatal(err)
			}
			stop, stopped := make(chan struct{}), make(chan error, 1)
			go func() {
				if l.beside == nil {
					stopped <- nil
					return
				}
				stopped <- l.beside(dir, stop)
			}()
			start := time.Now()
			l.do(t, r, rand.New(rand.NewPCG(2, uint64(round))))
			took[w] = time.Since(start)
			close(stop)
			if err := <-stopped; err != nil {
				t.Fatal(err)
			}
			if w == 0 {
				found = r.Stats()
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			if best[w] == 0 || took[w] < best[w] {
				best[w] = took[w]
			}
		}
		ratios = append(ratios, float64(took[0])/float64(took[1]))
	}
	const bar = 1.05
	e := middle(t, ratios)
	verdict := "held"
	switch {
	case e.Lo > bar:
		verdict = "missed"
		t.Fail()
	case e.Hi > bar:
		verdict = "cannot tell"
	}
	t.Logf("%.3f [%.3f, %.3f] of the kernel's time, %d pairs; the bar of %v: %s; fastest %v and %v; %+v",
		e.Value, e.Lo, e.Hi, rounds, bar, verdict, best[0], best[1], found)
}

// prepare brings the page cache into the state that the load needs.
func prepare(t *testing.T, name string, l load) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !l.warm {
		if err := pagecache.Drop(f); err != nil {
			t.Fatal(err)
		}
	}
	if !l.warm && !l.half {
		return
	}
	buf := make([]byte, 1<<20)
	for off := int64(0); off < loadSize; off += int64(len(buf)) {
		if l.half && off>>20%2 == 1 {
			continue
		}
		if _, err := f.ReadAt(buf, off); err != nil {
			t.Fatal(err)
		}
	}
}

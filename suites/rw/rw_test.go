package rw

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strings"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/measure/pagecache"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/internal/suitetest"
	"github.com/stele-go/stele/suites/job"
)

// Tiny makes the files of the suite 1 to 4 MiB.
const Tiny job.Scale = 256

// A kind is the experiments of one kind, and what is true after a block of each.
type kind struct {
	experiments []lab.Experiment
	ops         int64 // of a block that has no number of its own
	check       func(t *testing.T, v *lab.Variant, dir string, b *run.Block)
}

// Every variant of every experiment does its job.
func TestRWWaysWork(t *testing.T) {
	t.Parallel()
	all := 0
	for _, k := range []kind{
		{[]lab.Experiment{randomRead(Tiny, fullFile, datafile.Direct)}, 64, checkPastCache},
		{[]lab.Experiment{
			randomRead(Tiny, fullFile, datafile.Warm), randomRead(Tiny, fullFile, datafile.Cold), randomRead(Tiny, QuickFile, datafile.Warm),
		}, 64, checkThroughCache},
		{sequentialReads(Tiny), 64, checkThroughput},
		{randomWrites(Tiny), 64, checkRewritten},
		{sequentialWrites(Tiny), 64, checkStream},
		{surfaces(Tiny), 64, checkCell},
		{mixedLoads(Tiny), 3000, checkScheduler},
	} {
		all += len(k.experiments)
		for _, e := range k.experiments {
			t.Run(e.ID(), func(t *testing.T) { k.run(t, e) })
		}
	}
	if all != len(Full(Tiny)) {
		t.Errorf("%d of %d experiments were run", all, len(Full(Tiny)))
	}
}

func (k kind) run(t *testing.T, e lab.Experiment) {
	ran, unable := 0, ""
	for i := range e.Variants {
		v := &e.Variants[i]
		if c := v.Cell; c != nil && (c.X > 4 && c.X != 128 || c.Y > 2) {
			continue // cells differ in their numbers only
		}
		dir := t.TempDir()
		b, why := suitetest.RunOnce(t, &e, v, dir, cmp.Or(e.Ops, k.ops))
		if b == nil {
			unable = why
			continue
		}
		ran++
		k.check(t, v, dir, b)
	}
	if ran == 0 && unable != "" { // on tmpfs nothing is cold
		t.Skip(unable)
	}
}

func checkThroughput(t *testing.T, v *lab.Variant, _ string, b *run.Block) {
	if b.Metrics["bytes_per_second"] <= 0 {
		t.Errorf("%s has no throughput", v.Name)
	}
}

func checkPastCache(t *testing.T, v *lab.Variant, dir string, b *run.Block) {
	checkThroughput(t, v, dir, b)
	if cached, told := b.Metrics["cached_after_bytes"]; !told || cached > 0 {
		t.Errorf("%s leaves %v bytes in the page cache, %v", v.Name, cached, told)
	}
}

func checkThroughCache(t *testing.T, v *lab.Variant, dir string, b *run.Block) {
	checkThroughput(t, v, dir, b)
	if cached, told := b.Metrics["cached_after_bytes"]; !told || cached == 0 && !strings.Contains(v.Name, "uncached") {
		t.Errorf("%s leaves %v bytes in the page cache, %v", v.Name, cached, told)
	}
}

func checkStream(t *testing.T, v *lab.Variant, dir string, b *run.Block) {
	checkThroughput(t, v, dir, b)
	got, err := os.ReadFile(filepath.Join(dir, "stream"))
	if want := bytes.Repeat([]byte{streamByte}, int(Tiny.Of(streamBytes))); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s left %d bytes, which are not the stream (%v)", v.Name, len(got), err)
	}
}

func checkRewritten(t *testing.T, v *lab.Variant, dir string, b *run.Block) {
	checkThroughput(t, v, dir, b)
	checkPages(t, filepath.Join(dir, "data"), v.Name)
}

func checkCell(t *testing.T, v *lab.Variant, dir string, b *run.Block) {
	checkThroughput(t, v, dir, b)
	if v.Cell == nil || b.Metrics[RequestP50] <= 0 {
		t.Errorf("%s has no cell, or no latency of a request", v.Name)
	}
}

func checkScheduler(t *testing.T, v *lab.Variant, _ string, b *run.Block) {
	for _, name := range []string{SchedMean, schedP50, SchedP99, IdleShare} {
		x, ok := b.Metrics[name]
		if why := b.Missing[name]; ok == (why != (run.Reason{})) || x < 0 || name == IdleShare && x > 1 {
			t.Errorf("%s: %s is %v, missing %+v", v.Name, name, x, why)
		}
	}
}

// checkPages counts the pages that are not as they were made. A block of 64 random
// writes to 256 pages changes about 57.
func checkPages(t *testing.T, name, what string) {
	t.Helper()
	got, err := os.ReadFile(name)
	if err != nil {
		t.Error(err)
		return
	}
	want := make([]byte, len(got))
	fill := numberPages()
	for p := want; len(p) > 0; p = p[datafile.MiB:] {
		fill(p[:datafile.MiB])
	}
	differ := 0
	for off := 0; off < len(got); off += datafile.PageSize {
		if !bytes.Equal(got[off:off+datafile.PageSize], want[off:off+datafile.PageSize]) {
			differ++
		}
	}
	if differ < 30 || differ > 64 {
		t.Errorf("%s: %d of %d pages were changed", what, differ, len(got)/datafile.PageSize)
	}
}

// A page from elsewhere, and a block that would read cold pages twice, are errors.
func TestRWNoticesWhatIsWrong(t *testing.T) {
	page := make([]byte, datafile.PageSize)
	binary.LittleEndian.PutUint64(page, 3)
	l := looker{off: 3 * datafile.PageSize}
	if err := l.look(page); err != nil || l.sum == 0 {
		t.Errorf("the right page: %v", err)
	}
	l.off = 2 * datafile.PageSize
	if err := l.look(page); err == nil || !strings.Contains(err.Error(), "page 3") {
		t.Errorf("the wrong page: %v", err)
	}
	if err := l.look(nil); err == nil {
		t.Error("no page at all gave no error")
	}
	rng := rand.New(rand.NewPCG(1, 1))
	if _, err := randomOrder(rng, 10*datafile.PageSize, datafile.PageSize, 11, true); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("11 of 10 pages are read cold: %v", err)
	}
	where, err := randomOrder(rng, 10*datafile.PageSize, datafile.PageSize, 10, true)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int64]bool{}
	for i := range int64(10) {
		seen[where(i)] = true
	}
	if len(seen) != 10 || !seen[9*datafile.PageSize] {
		t.Errorf("10 cold reads go to %v", seen)
	}
}

func TestRWStateIsChecked(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := datafile.Write(name, 2*datafile.MiB, numberPages()); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := pagecache.Resident(f); err != nil {
		t.Skipf("the system does not report what is in the page cache: %v", err)
	}
	big := &datafile.File{File: f, Size: 2 * datafile.MiB}
	e := lab.Experiment{Suite: "rw", Name: "t"}
	check := func(state string) (err error) {
		v := lab.Variant{Name: "v", Run: func(b *lab.B) error {
			for b.Loop() {
			}
			err = stillIs(b, big, state)
			return nil
		}}
		if _, runErr := lab.RunOnce(context.Background(), &e, &v, t.TempDir(), 1, 1); runErr != nil {
			t.Fatal(runErr)
		}
		return err
	}
	if err := bringAbout(big, datafile.Warm); err != nil {
		t.Fatal(err)
	}
	if err := check(datafile.Warm); err != nil {
		t.Error(err)
	}
	if err := check(datafile.Direct); err == nil {
		t.Error("a file in the page cache passes for one that is not")
	}
	if err := bringAbout(big, datafile.Cold); errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(check(datafile.Direct), check(datafile.Cold)); err != nil { // the pages are out
		t.Error(err)
	}
	if err := check(datafile.Warm); err == nil {
		t.Error("a cold file passes for a warm one")
	}
	if err := bringAbout(big, "lukewarm"); err == nil {
		t.Error("there is no such state, and no error")
	}
}

// Each promise has a baseline outside Stele, and reads and writes do not mix levels.
func TestRWPromises(t *testing.T) {
	for _, e := range Full(1) {
		for _, v := range e.Variants {
			base := e.BaselineFor(v.Promise)
			if base == nil || strings.HasPrefix(base.Name, "fileio") {
				t.Errorf("%s compares %s with %v", e.ID(), v.Name, base)
			}
			reads := strings.Contains(e.Name, "read")
			if reads != (v.Promise.Level == durability.None) {
				t.Errorf("%s: %s promises %v", e.ID(), v.Name, v.Promise)
			}
			syncs := strings.Contains(v.Name, "sync") || strings.Contains(v.Name, "SYNC") || strings.Contains(v.Name, "Commit")
			if syncs != (v.Promise.Level == durability.Power && !reads) {
				t.Errorf("%s: %s promises %v", e.ID(), v.Name, v.Promise)
			}
		}
		if strings.HasPrefix(e.Name, "sequential") {
			moved := e.Ops * streamBytes
			if reads := e.Name != "sequential-write"; reads {
				moved = e.Ops * map[string]int64{"64KiB": 64 << 10, "1MiB": 1 << 20}[e.Params["block"]]
			}
			if moved < 100*datafile.MiB {
				t.Errorf("%s moves %d bytes", e.ID(), moved)
			}
		}
	}
}

// A block's operations are shared among rings as the lab shares them among workers.
func TestShareOf(t *testing.T) {
	for _, n := range []int64{0, 1, 7, 64, 1001} {
		for _, workers := range []int{1, 3, 8} {
			var sum int64
			for id := range workers {
				sum += shareOf(n, workers, id)
			}
			if sum != n || shareOf(n, workers, 0) < shareOf(n, workers, workers-1) {
				t.Errorf("%d to %d workers: %d", n, workers, sum)
			}
		}
	}
}

func TestWaitPercentile(t *testing.T) {
	edges := []float64{0, 1e-6, 2e-6, 4e-6}
	before := &metrics.Float64Histogram{Counts: []uint64{5, 5, 5}, Buckets: edges}
	after := &metrics.Float64Histogram{Counts: []uint64{5 + 500, 5 + 490, 5 + 10}, Buckets: edges}
	for p, want := range map[float64]float64{50: 1000, 99: 2000, 99.9: 4000} {
		if got, err := waitPercentile(before, after, p); err != nil && p < 99.9 || err == nil && got != want {
			t.Errorf("p%v is %v ns, want %v (%v)", p, got, want, err)
		}
	}
	if got, err := waitMean(before, after); err != nil || math.Abs(got-(500*500+490*1500+10*3000)/1000.0) > 1e-6 {
		t.Errorf("the mean is %v ns (%v)", got, err)
	}
	if _, err := waitMean(after, after); err == nil {
		t.Error("a mean of nothing")
	}
	if _, err := waitPercentile(after, after, 99); err == nil {
		t.Error("a percentile of nothing")
	}
	if _, err := waitPercentile(nil, after, 50); err == nil {
		t.Error("a percentile without the first reading")
	}
}

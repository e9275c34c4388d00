package logstore_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-go/stele/logstore"
)

var soakTime = flag.Duration("soak", 0, "how long the soak appends and queries (default 5s, or 2m with STELE_LONG=1)")

const (
	soakMemory  = 64 << 20
	soakSegment = 4 << 20
	soakRetain  = 48 << 20
	// soakStraddle is the most that one segment has: what is sealed at once is
	// at most three sixteenths of the memory, and compactions make no larger one.
	soakStraddle = soakMemory * 3 / 16
	// soakAhead is the most that may have been counted and not yet appended.
	soakAhead = 4 << 20

	// soakResident is by how much the resident memory may grow: twice the budget
	// and what is beside it, the state of the compressors, streams, and the
	// ledger of this test, as the garbage collector begins when the heap has
	// doubled (GOGC=100); and pages of filters that are mapped.
	soakResident = 2*(soakMemory+48<<20) + 32<<20
	// soakFiles is how many descriptors a store may have: 256 for segments
	// (it has far fewer than 128), those of a compaction, of a segment that is being published, of
	// the log with the file that it preallocates, of directories and locks.
	soakFiles = 256 + 24
)

// TestSoak appends and queries for a while. Every entry that must be there is
// found, and found once; memory, descriptors and goroutines stay within bounds,
// and all are released in the end.
//
//	STELE_LONG=1 go test ./logstore -run TestSoak -v -timeout 20m -args -soak 2m
func TestSoak(t *testing.T) {
	d := *soakTime
	if d == 0 {
		d = 5 * time.Second
		if longModel() {
			d = 2 * time.Minute
		}
	}
	k := newSoak(t, d)
	k.open()
	defer func() { k.store.Load().Close() }()
	k.run(d)
	if !t.Failed() {
		k.drain()
	}
}

// A usage is the resources that the kernel counts for this process.
type usage struct {
	resident, mapped int64 // bytes; mapped ones, of files, are part of the resident ones
	files            int   // descriptors
}

// usageNow is nil on platforms that do not report it.
var usageNow func() (usage, error)

type soak struct {
	t    *testing.T
	dir  string
	o    logstore.Options
	zero time.Time // of its clock, which never goes back

	store   atomic.Pointer[logstore.Store]
	closing atomic.Pointer[logstore.Store]
	ctx     context.Context // ends with the load, or the first failure
	end     context.CancelFunc

	writers []*writer
	byName  map[string]int
	written history
	own     int // goroutines of the load
	readers int // of them, those that query

	start      usage
	goroutines int
	seen       struct { // at most
		usage
		goroutines, streams int
		segments            int64
	}
	queries, cut, found, must, needles, counts, tailed, lost, restarts, retries, refused atomic.Int64
}

func newSoak(t *testing.T, d time.Duration) *soak {
	k := &soak{t: t, dir: filepath.Join(t.TempDir(), "store"), zero: time.Now(), byName: map[string]int{}}
	k.o = logstore.Options{
		Clock:  soakClock{k.zero},
		Memory: soakMemory, SegmentSize: soakSegment, SealAge: time.Second, MinFree: 1,
		Retention: min(max(d/2, 2*time.Second), 10*time.Second), RetainBytes: soakRetain,
	}
	for i, rows := range []int{1, 1, 1, 100, 100, 1000} {
		name := fmt.Sprintf("a%02d", i)
		k.byName[name] = i
		k.writers = append(k.writers, &writer{name: name, rows: rows})
	}
	debug.FreeOSMemory() // what tests before this one have left
	k.goroutines = runtime.NumGoroutine()
	k.start = k.usage()
	return k
}

func (k *soak) now() time.Time { return k.o.Clock.Now() }

// A soakClock never goes back.
type soakClock struct{ zero time.Time }

func (c soakClock) Now() time.Time         { return c.zero.Add(c.Elapsed()) }
func (c soakClock) Elapsed() time.Duration { return time.Since(c.zero) }

func (k *soak) usage() (u usage) {
	if usageNow != nil {
		var err error
		if u, err = usageNow(); err != nil {
			k.t.Error(err)
		}
	}
	return u
}

func (k *soak) fail(format string, args ...any) {
	k.t.Helper()
	k.t.Errorf(format, args...)
	k.end()
}

func (k *soak) open() {
	k.t.Helper()
	s, err := logstore.Open(k.dir, k.o)
	if err != nil {
		k.t.Fatal(err)
	}
	k.store.Store(s)
}

// reopened waits for the store that is opened after s. It returns false if err is
// not that of a store being closed.
func (k *soak) reopened(s *logstore.Store, err error) (ok bool) {
	if !errors.Is(err, logstore.ErrClosed) || k.closing.Load() != s {
		return false
	}
	for k.store.Load() == s {
		time.Sleep(time.Millisecond)
	}
	return true
}

// run runs writers, readers and tails in goroutines of their own, and meanwhile
// checks the usage and restarts the store.
func (k *soak) run(d time.Duration) {
	var cancel context.CancelFunc
	k.ctx, cancel = context.WithCancel(context.Background())
	k.end = cancel
	defer cancel()
	var load sync.WaitGroup
	start := func(f func(*rand.Rand)) {
		k.own++
		rng := rand.New(rand.NewPCG(rand.Uint64(), 0)) // the schedule is another one each time anyway
		load.Go(func() {
			for k.ctx.Err() == nil {
				f(rng)
			}
		})
	}
	for _, w := range k.writers {
		start(func(rng *rand.Rand) { k.write(w, rng) })
	}
	for _, f := range []func(*rand.Rand){k.queryAll, k.queryPart, k.queryPart, k.querySlowly, k.needle, k.needle, k.count, k.labels} {
		k.readers++
		start(f)
	}
	for _, slow := range []bool{false, true} {
		start(func(rng *rand.Rand) { k.tail(slow) })
	}
	start(k.maintain)

	between := max(min(d/3, 15*time.Second), time.Second)
	restart := time.Now().Add(between)
	end := time.Now().Add(d)
	more := func() bool {
		now := time.Now()
		return now.Before(end) || !k.hasFound() && now.Before(end.Add(2*time.Minute)) // a machine that is very busy
	}
	for ; more() && k.ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		k.checkUsage()
		if time.Now().After(restart) {
			old := k.store.Load()
			k.closing.Store(old)
			if err := old.Close(); err != nil {
				k.fail("close: %v", err)
				break
			}
			k.open()
			k.restarts.Add(1)
			restart = time.Now().Add(between)
		}
	}
	cancel()
	load.Wait()
}

// hasFound reports whether queries of each kind have found what had to be there.
func (k *soak) hasFound() bool {
	return k.must.Load() > 0 && k.needles.Load() > 0 && k.counts.Load() > 0 && k.tailed.Load() > 0
}

// checkUsage fails the soak if the usage is above its bounds.
func (k *soak) checkUsage() {
	st := k.store.Load().Stats()
	u, n := k.usage(), runtime.NumGoroutine()
	k.seen.resident = max(k.seen.resident, u.resident-k.start.resident)
	k.seen.mapped = max(k.seen.mapped, u.mapped-k.start.mapped)
	k.seen.files = max(k.seen.files, u.files-k.start.files)
	k.seen.goroutines = max(k.seen.goroutines, n-k.goroutines)
	k.seen.streams = max(k.seen.streams, st.Streams)
	k.seen.segments = max(k.seen.segments, st.Segments)
	if !raceDetector() && u.resident-k.start.resident > soakResident {
		k.fail("%d MiB of memory more than before; want at most %d (%d MiB of them are mapped files); the store counts %d MiB",
			(u.resident-k.start.resident)>>20, soakResident>>20, (u.mapped-k.start.mapped)>>20, (st.MemoryUsed+st.CacheBytes)>>20)
	}
	if u.files-k.start.files > soakFiles {
		k.fail("%d descriptors more than before; want at most %d; %d segments are open", u.files-k.start.files, soakFiles, st.OpenFiles)
	}
	// Each reader has one scan at most, with Workers goroutines; as many seal; the
	// store has a few of its own; and timers of abandoned appends may just fire.
	if most := k.own + (k.readers+1)*runtime.GOMAXPROCS(0) + 24; n-k.goroutines > most {
		k.fail("%d goroutines more than before; want at most %d", n-k.goroutines, most)
	}
	if st.MemoryUsed > st.MemoryLimit {
		k.fail("memtables take %d bytes of %d", st.MemoryUsed, st.MemoryLimit)
	}
	if st.Failed != nil || st.BackgroundError != nil || st.Damaged > 0 || st.Quarantined > 0 || st.LostEntries > 0 {
		k.fail("failed: %v, background error: %v, %d segments damaged, %d in quarantine, %d entries lost", st.Failed, st.BackgroundError, st.Damaged, st.Quarantined, st.LostEntries)
	}
}

// raceDetector reports whether the test is built with it: it needs several times
// the memory, so the bound on memory is not checked.
func raceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

func (k *soak) maintain(rng *rand.Rand) {
	s := k.store.Load()
	do, what := s.Seal, "seal"
	if rng.IntN(3) == 0 {
		do, what = s.Compact, "compact"
	}
	if err := do(k.ctx); err != nil && !k.reopened(s, err) && k.ctx.Err() == nil {
		k.fail("%s: %v", what, err)
	}
	k.pause(time.Duration(100+rng.IntN(400)) * time.Millisecond)
}

func (k *soak) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-k.ctx.Done():
	}
}

// drain queries everything once more without the load, waits until all entries
// have expired, and closes the store: then nothing may be left.
func (k *soak) drain() {
	k.ctx, k.end = context.WithCancel(context.Background())
	defer k.end()
	<-k.store.Load().Ready()
	k.find(logstore.Query{}, nil, 0, 0)
	k.find(logstore.Query{Order: logstore.Backward}, nil, 0, 0)
	s := k.store.Load()
	k.t.Logf("at most %d MiB of memory more than before, %d MiB of mapped files with them, %d descriptors, %d goroutines; %d streams and %d segments at a time",
		k.seen.resident>>20, k.seen.mapped>>20, k.seen.files, k.seen.goroutines, k.seen.streams, k.seen.segments)
	if raceDetector() {
		k.t.Log("memory was not compared with its bound: the race detector takes several times as much")
	}
	var entries, streams int64
	for _, w := range k.writers {
		entries, streams = entries+w.acked, streams+w.streams
	}
	k.t.Logf("%d entries of %d streams, %d refused; %d queries, %d of them cut short, found %d entries, %d of which had to be there; %d needles, %d counts, %d tailed and %d missed by tails; %d restarts, %d appends made again",
		entries, streams, k.refused.Load(), k.queries.Load(), k.cut.Load(), k.found.Load(), k.must.Load(), k.needles.Load(), k.counts.Load(), k.tailed.Load(), k.lost.Load(), k.restarts.Load(), k.retries.Load())
	if !k.hasFound() {
		k.t.Error("some kind of query found nothing that had to be there: the soak was too short")
	}
	var st logstore.Stats
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if err := s.Compact(context.Background()); err != nil {
			k.t.Fatal(err)
		}
		if st = s.Stats(); st.Segments == 0 && st.Streams == 0 {
			break
		}
		if time.Now().After(end) {
			k.t.Fatalf("%d segments and %d streams are left long after all has expired", st.Segments, st.Streams)
		}
	}
	if u := k.usage(); u.files-k.start.files > 16 {
		k.t.Errorf("an empty store has %d descriptors", u.files-k.start.files)
	}
	if err := s.Close(); err != nil {
		k.t.Fatal(err)
	}
	k.checkLeftovers()
}

// checkLeftovers fails the test if a closed, empty store holds goroutines,
// descriptors or files.
func (k *soak) checkLeftovers() {
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > k.goroutines; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			var stacks strings.Builder
			pprof.Lookup("goroutine").WriteTo(&stacks, 1)
			k.t.Fatalf("%d goroutines are left, of %d before:\n%s", runtime.NumGoroutine(), k.goroutines, &stacks)
		}
	}
	if u := k.usage(); u.files > k.start.files {
		k.t.Errorf("%d descriptors after Close, %d before Open", u.files, k.start.files)
	}
	var log int64
	err := filepath.WalkDir(k.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if rel, _ := filepath.Rel(k.dir, name); filepath.Dir(rel) == "wal" {
			log += info.Size()
		} else {
			k.t.Errorf("%s is left", rel)
		}
		return nil
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		k.t.Error(err)
	}
	if most := logstore.MostLog(soakMemory); log > most {
		k.t.Errorf("the log has %d bytes though all is sealed, more than %d", log, most)
	}
}

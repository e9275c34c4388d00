package logstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A farPlace keeps segments as an object store does: whole objects, that are read by
// ranges with a context.
type farPlace struct {
	mu         sync.Mutex
	objects    map[string][]byte
	quarantine map[string]string // reports
	unsynced   bool

	// read, if it is set, is called when a range is read, and may end the read.
	read atomic.Pointer[func(context.Context) error]
	// change, if it is set, is called before something is removed, set aside or synced,
	// and may end that.
	change  atomic.Pointer[func(context.Context) error]
	reads   atomic.Int64
	largest atomic.Int64 // bytes of a read
}

func newFarPlace() *farPlace {
	return &farPlace{objects: map[string][]byte{}, quarantine: map[string]string{}}
}

// instead puts the place in place of the directory.
func (p *farPlace) instead(t testing.TB) func(catalog.Place) catalog.Place {
	return func(dir catalog.Place) catalog.Place {
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
		return p
	}
}

func (p *farPlace) Close() error               { return nil }
func (p *farPlace) Path(name string) string    { return "far/" + name }
func (p *farPlace) File(string) (string, bool) { return "", false }

func (p *farPlace) List(ctx context.Context) ([]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.objects)), ctx.Err()
}

func (p *farPlace) Quarantined(ctx context.Context) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.quarantine), ctx.Err()
}

func (p *farPlace) Open(ctx context.Context, name string) (catalog.Object, int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b, ok := p.objects[name]
	if !ok {
		return nil, 0, &fs.PathError{Op: "open", Path: p.Path(name), Err: fs.ErrNotExist}
	}
	return &farObject{p, name, bytes.NewReader(b)}, int64(len(b)), ctx.Err()
}

func (p *farPlace) Create(ctx context.Context, name string) (catalog.Writer, error) {
	return &farWriter{place: p, name: name}, ctx.Err()
}

func (p *farPlace) Remove(ctx context.Context, name string) error {
	if err := p.ask(ctx); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.objects, name)
	p.unsynced = true
	return nil
}

func (p *farPlace) SetAside(ctx context.Context, name string, report func(string) string) (string, error) {
	if err := p.ask(ctx); err != nil {
		return "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.objects, name)
	p.quarantine[name] = report(name)
	p.unsynced = true
	return "quarantine/" + name, nil
}

func (p *farPlace) Unsynced() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unsynced
}

func (p *farPlace) SyncNames(ctx context.Context) error { return p.ask(ctx) }

// ask is the beginning of a call that changes something.
func (p *farPlace) ask(ctx context.Context) error {
	if change := p.change.Load(); change != nil {
		return (*change)(ctx)
	}
	return context.Cause(ctx)
}

func (p *farPlace) Sync(ctx context.Context) error {
	if err := p.ask(ctx); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unsynced = false
	return nil
}

// damage flips a bit of a segment's end.
func (p *farPlace) damage() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, b := range p.objects {
		b = bytes.Clone(b)
		b[len(b)-1] ^= 1
		p.objects[name] = b
		return
	}
}

type farWriter struct {
	bytes.Buffer
	place *farPlace
	name  string
}

func (w *farWriter) Writeback(int64, int64) {}
func (w *farWriter) Abort()                 {}

func (w *farWriter) Commit() (named bool, err error) {
	w.place.mu.Lock()
	defer w.place.mu.Unlock()
	w.place.objects[w.name] = w.Bytes()
	return true, nil
}

type farObject struct {
	place   *farPlace
	name    string
	content *bytes.Reader
}

func (o *farObject) Name() string { return o.place.Path(o.name) }
func (o *farObject) Close() error { return nil }

// ReadAt is not to be called: it has no context.
func (o *farObject) ReadAt([]byte, int64) (int, error) {
	return 0, errors.New("a range was read without a context")
}

func (o *farObject) ReadRange(ctx context.Context, p []byte, off int64) (int, error) {
	at := o.place
	at.reads.Add(1)
	for most := at.largest.Load(); int64(len(p)) > most && !at.largest.CompareAndSwap(most, int64(len(p))); {
		most = at.largest.Load()
	}
	if read := at.read.Load(); read != nil {
		if err := (*read)(ctx); err != nil {
			return 0, err
		}
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return o.content.ReadAt(p, off)
}

var _ segment2.RangeReader = (*farObject)(nil)

// A store whose segments are no files seals, compacts, deletes, salvages, answers, is
// opened again and makes snapshots, and each read has a context.
func TestStoreInAnotherPlace(t *testing.T) {
	dir, o, far := t.TempDir(), anyTime(), newFarPlace()
	o.wrapPlace = far.instead(t)
	s := openTest(t, dir, o)
	want := 0
	fill := func(s *Store) {
		for i := range 3 {
			for j := range 40 {
				mustAppend(t, s, one(MustLabels("app", "a", "n", fmt.Sprint(j%7)), int64(1000*i+j), fmt.Sprintf("line %d of %d", j, i)))
				want++
			}
			if err := s.Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(s *Store, what string) {
		t.Helper()
		if n, err := drain(s); n != want || err != nil {
			t.Errorf("%s: %d entries, %v; want %d", what, n, err, want)
		}
		series, err := s.Series(t.Context(), Query{})
		if err != nil || len(series) == 0 {
			t.Errorf("%s: %d series, %v", what, len(series), err)
		}
	}
	fill(s)
	check(s, "sealed")
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(far.objects); n != 1 {
		t.Errorf("%d segments; want that of a compaction", n)
	}
	if _, err := s.Delete(t.Context(), Deletion{Selector: Selector{{Name: "n", Op: Equal, Value: "3"}}, To: 1 << 62}); err != nil {
		t.Fatal(err)
	}
	want -= 3 * 6
	check(s, "deleted")
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	fill(s)
	copied := t.TempDir() + "/copy"
	if _, err := s.Snapshot(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	snapshot := openTest(t, copied, anyTime())
	check(snapshot, "snapshot")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	far.damage()
	s = openTest(t, dir, o)
	until(t, "the salvage", func() bool { return s.Stats().Quarantined == 1 })
	check(s, "salvaged")
	if far.reads.Load() == 0 {
		t.Error("nothing was read")
	}
}

// A query that reads far away ends with its context, also in the middle of reads, of
// which it has several at once. Its segments are too far apart to be compacted.
func TestQueryOfAnotherPlaceEnds(t *testing.T) {
	o, far := anyTime(), newFarPlace()
	o.wrapPlace, o.Workers, o.SegmentSpan = far.instead(t), 4, time.Hour
	s := openTest(t, t.TempDir(), o)
	for i := range 4 {
		mustAppend(t, s, one(MustLabels("app", "a"), int64(i)*1e18, "line"))
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := drain(s); n != 4 || err != nil {
		t.Fatal(n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var waiting atomic.Int64
	read := func(ctx context.Context) error {
		if waiting.Add(1) == 2 {
			cancel()
		}
		<-ctx.Done()
		return ctx.Err()
	}
	far.read.Store(&read)
	for _, err := range s.Query(ctx, Query{To: 1 << 62}) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the query ended with %v", err)
		}
	}
	if n := waiting.Load(); n < 2 {
		t.Errorf("%d reads at once", n)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// Compact ends with its context while segments far away are removed or set aside, and the
// next one completes it. Nothing has failed.
func TestCompactOfAnotherPlaceEnds(t *testing.T) {
	o, far := anyTime(), newFarPlace()
	o.wrapPlace = far.instead(t)
	s := openTest(t, t.TempDir(), o)
	for i := range int64(3) {
		mustAppend(t, s, one(MustLabels("app", "a"), i, "line"))
		mustSeal(t, s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	answers := make(chan struct{})
	change := func(ctx context.Context) error {
		cancel()
		select {
		case <-ctx.Done():
		case <-answers: // to the store's own maintenance, if that has the turn
		}
		return context.Cause(ctx)
	}
	far.change.Store(&change)
	if err := s.Compact(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Compact: %v", err)
	}
	far.change.Store(nil)
	close(answers)
	if n, err := drain(s); n != 3 || err != nil {
		t.Errorf("%d entries, %v", n, err)
	}
	mustDo(t, s.Compact(t.Context()))
	far.mu.Lock()
	segments := len(far.objects)
	far.mu.Unlock()
	if st := s.Stats(); segments != 1 || st.Segments != 1 || st.BackgroundError != nil {
		t.Errorf("%d objects, %d segments, %v; want one", segments, st.Segments, st.BackgroundError)
	}
}

// A word that no line has is looked for in a segment by four reads at most, those of the
// index included, each of at most 8 MiB: with STELE_LONG=1 in one of 108 MB.
func TestWordInAnotherPlace(t *testing.T) {
	o, far := anyTime(), newFarPlace()
	o.wrapPlace, o.Memory, o.Level = far.instead(t), 256<<20, durability.Kill
	lines, most := 50_000, int64(4)
	if os.Getenv("STELE_LONG") == "1" {
		lines = 2_800_000
	}
	dir := t.TempDir()
	s := openTest(t, dir, o)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := 0; i < lines; i += 1000 {
		streams := make([]Stream, 50)
		for j := range streams {
			streams[j].Labels = MustLabels("app", fmt.Sprint("app", j))
			for k := range 20 {
				line := fmt.Appendf(nil, "request %x of user%d took %d us: status=ok path=/%x/%x", rng.Uint64(), rng.IntN(1e6), rng.IntN(1e6), rng.Uint64(), rng.Uint32())
				streams[j].Entries = append(streams[j].Entries, Entry{Time: int64(i+k) * 1e6, Line: line})
			}
		}
		mustAppend(t, s, streams)
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	size := s.Stats().SegmentBytes
	if n := s.Stats().Segments; n != 1 {
		t.Fatalf("%d segments", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, dir, o)
	before := far.reads.Load()
	far.largest.Store(0)
	for r, err := range s.Query(t.Context(), Query{To: 1 << 62, Filter: Word("absent")}) {
		t.Fatal(r, err)
	}
	reads, largest := far.reads.Load()-before, far.largest.Load()
	t.Logf("a segment of %d bytes: %d reads of at most %d bytes", size, reads, largest)
	if reads > most || largest > 8<<20 {
		t.Errorf("%d reads of at most %d bytes; want %d of 8 MiB", reads, largest, most)
	}
}

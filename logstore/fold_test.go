package logstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/semaphore"
	"github.com/stele-go/stele/internal/testseed"
)

// A gatherer keeps all entries.
type gatherer struct {
	list   []archived
	charge func(int64) error
}

func (g *gatherer) Fold(r Result) error {
	g.list = append(g.list, archived{0, r.Labels, Entry{r.Time, slices.Clone(r.Line), r.Metadata.Clone()}})
	return g.charge(int64(len(r.Line)))
}

// gather returns the entries that Fold passes, in the order of their texts.
func gather(s *Store, q Query) ([]archived, error) {
	var folders []*gatherer
	err := s.Fold(context.Background(), q, func(charge func(int64) error) Folder {
		folders = append(folders, &gatherer{charge: charge})
		return folders[len(folders)-1]
	})
	var list []archived
	for _, f := range folders {
		list = append(list, f.list...)
	}
	sortTexts(list)
	return list, err
}

// Fold passes the cursors that Query yields, if it is asked for them.
func TestFoldCursors(t *testing.T) {
	a := &archive{Store: openTest(t, t.TempDir(), anyTime())}
	rnd := rand.New(rand.NewPCG(3, 8))
	clock := int64(1_700_000_000_000_000_000)
	for i := range 3 {
		a.add(t, randomBatch(rnd, &clock, int64(time.Second)))
		if i == 1 {
			if err := a.Seal(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, cursors := range []bool{true, false} {
		var want, got []string
		for r, err := range a.Query(t.Context(), Query{Cursors: cursors}) {
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, r.Cursor().String())
		}
		var folders []*cursorFolder
		err := a.Fold(t.Context(), Query{Cursors: cursors}, func(func(int64) error) Folder {
			folders = append(folders, &cursorFolder{})
			return folders[len(folders)-1]
		})
		for _, f := range folders {
			got = append(got, *f...)
		}
		slices.Sort(want)
		slices.Sort(got)
		if err != nil || len(got) == 0 || !slices.Equal(got, want) {
			t.Errorf("cursors %v: %d of %d: %v", cursors, len(got), len(want), err)
		}
	}
}

type cursorFolder []string

func (f *cursorFolder) Fold(r Result) error {
	*f = append(*f, r.Cursor().String())
	return nil
}

func sortTexts(list []archived) {
	slices.SortFunc(list, func(a, b archived) int { return strings.Compare(a.String(), b.String()) })
}

// Fold passes what Query finds, wherever it is.
func TestFold(t *testing.T) {
	seed := testseed.Of(t)
	rnd := rand.New(rand.NewPCG(seed, 8))
	a := &archive{Store: openTest(t, t.TempDir(), anyTime())}
	clock := int64(1_700_000_000_000_000_000)
	for i := range 12 {
		for range 4 {
			a.add(t, randomBatch(rnd, &clock, int64(time.Second)))
		}
		if i%3 == 2 {
			if err := a.Seal(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		for range 4 {
			q := a.randomQuery(rnd)
			got, err := gather(a.Store, q)
			if err != nil {
				t.Fatal(err)
			}
			q.Limit, q.Order = 0, Forward
			want := a.find(q)
			sortTexts(want)
			sameFound(t, fmt.Sprintf("filter %v, %v [%d, %d)", q.Filter != nil, q.Selector, q.From, q.To), got, want)
		}
	}
}

// foldFunc is a Folder.
type foldFunc func(Result) error

func (f foldFunc) Fold(r Result) error { return f(r) }

// An error, a panic or the end of the goroutine in the caller's code ends the
// call and nothing else.
func TestFoldEnds(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	free := s.reads.memory.Free()
	why := errors.New("the caller's reason")
	damage := &CorruptError{"file", 1, "of the caller"}
	for range 2 {
		for i := range 50 {
			mustAppend(t, s, one(MustLabels("n", fmt.Sprint(i%7)), int64(i), "line"))
		}
		for what, c := range map[string]struct {
			f  func() error
			is error
		}{
			"an error":            {func() error { return why }, why},
			"an error like ours":  {func() error { return damage }, damage},
			"a panic":             {func() error { panic(why) }, why},
			"the goroutine's end": {func() error { runtime.Goexit(); return nil }, errGoexit},
		} {
			var calls atomic.Int32
			err := s.Fold(context.Background(), Query{Filter: Contains("line")}, func(func(int64) error) Folder {
				return foldFunc(func(r Result) error {
					if r.Labels.Get("n") != "3" {
						return nil
					}
					calls.Add(1)
					return c.f()
				})
			})
			if !errors.Is(err, c.is) || calls.Load() == 0 {
				t.Errorf("%s: %v after %d calls", what, err, calls.Load())
			}
			if p, ok := errors.AsType[*PanicError](err); ok != (what == "a panic") || ok && !strings.Contains(p.Error(), "the Folder panicked: the caller's reason") {
				t.Errorf("%s: %v", what, err)
			}
			// begin is the caller's code too.
			if what == "an error" || what == "an error like ours" {
				continue
			}
			err = s.Fold(context.Background(), Query{}, func(func(int64) error) Folder { _ = c.f(); return nil })
			if !errors.Is(err, c.is) {
				t.Errorf("%s in begin: %v", what, err)
			}
		}
		if got := s.reads.memory.Free(); got != free {
			t.Errorf("%d bytes of the budget are free, %d were", got, free)
		}
		if err := s.Seal(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// What Folders keep is bounded together.
func TestFoldMemory(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	for i := range 100 {
		mustAppend(t, s, one(MustLabels("n", fmt.Sprint(i%7)), int64(i), strings.Repeat("x", 100)))
	}
	s.reads.memory, s.reads.minBytes, s.reads.sumBytes = semaphore.New(64<<10), 1<<10, 20_000
	if list, err := gather(s, Query{To: 100}); err != nil || len(list) != 100 {
		t.Errorf("%d entries, %v", len(list), err)
	}
	s.reads.sumBytes = 9_999
	if _, err := gather(s, Query{}); !isLimit(err, sumsLimit) {
		t.Errorf("above the limit: %v", err)
	}
	s.reads.sumBytes = 20_000
	s.reads.memory = semaphore.New(4 << 10)
	if _, err := gather(s, Query{}); !errors.Is(err, ErrBusy) {
		t.Errorf("without memory: %v", err)
	}
	if n := s.reads.memory.Free(); n != 4<<10 {
		t.Errorf("%d bytes are free; want %d", n, 4<<10)
	}
}

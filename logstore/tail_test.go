package logstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

// begun starts a Tail, and returns its results once it has begun.
func begun(t testing.TB, s *Store, ctx context.Context, sel Selector, f Filter) (next func() (Result, error, bool), stop func()) {
	t.Helper()
	before := s.tailing()
	type step struct {
		f   Result
		err error
	}
	steps, ended := make(chan step), make(chan struct{})
	goOn := make(chan struct{})
	go func() {
		defer close(steps)
		for f, err := range s.Tail(ctx, Query{Selector: sel, Filter: f}) {
			select {
			case steps <- step{f, err}:
			case <-ended:
				return
			}
			select {
			case <-goOn:
			case <-ended:
				return
			}
		}
	}()
	until(t, "the tail has begun", func() bool { return s.tailing() > before })
	waits := false
	return func() (Result, error, bool) {
			if waits {
				goOn <- struct{}{}
			}
			st, ok := <-steps
			waits = ok
			return st.f, st.err, ok
		}, sync.OnceFunc(func() {
			close(ended)
			for range steps {
			}
		})
}

func (s *Store) tailing() int {
	s.reads.tails.mu.Lock()
	defer s.reads.tails.mu.Unlock()
	return len(s.reads.tails.list)
}

func TestTail(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	mustAppend(t, s, one(MustLabels("app", "a"), 1, "before"))
	next, stop := begun(t, s, ctx, Selector{{Name: "app", Value: "a"}}, Contains("x"))
	defer stop()
	mustAppend(t, s, Batch{
		{MustLabels("app", "a"), []Entry{{Time: 5, Line: []byte("x1"), Metadata: MustLabels("k", "v")}, {Time: 4, Line: []byte("no")}}},
		{MustLabels("app", "b"), []Entry{{Time: 5, Line: []byte("x of b")}}},
		{MustLabels("app", "a"), []Entry{{Time: 3, Line: []byte("x2")}}},
	})
	// In a stream created after the tail began; one entry is refused.
	l := MustLabels("app", "a", "host", "new")
	err := s.Append(context.Background(), Batch{{l, []Entry{{Time: -1, Line: []byte("x refused")}, {Time: 9, Line: []byte("x3")}}}})
	var rejected *RejectedError
	if !errors.As(err, &rejected) || rejected.Accepted != 1 {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{app="a"} 5 "x1" {k="v"}`, `{app="a"} 3 "x2" {}`, `{app="a", host="new"} 9 "x3" {}`,
	} {
		f, err, ok := next()
		if got := (archived{0, f.Labels, f.Entry}).String(); err != nil || !ok || got != want {
			t.Fatalf("%s, %v, %v; not %s", got, err, ok, want)
		}
	}
	cancel()
	if _, err, ok := next(); !ok || !errors.Is(err, context.Canceled) {
		t.Errorf("after ctx was done: %v, %v", err, ok)
	}
	if _, _, ok := next(); ok {
		t.Error("it goes on after ctx is done")
	}
}

func TestTailLags(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	s.reads.tails.memory = 20 << 10
	next, stop := begun(t, s, context.Background(), nil, nil)
	defer stop()
	l := MustLabels("app", "a")
	const all = 1000
	mustAppend(t, s, one(l, 0, "0"))
	if f, err, _ := next(); err != nil || f.Time != 0 {
		t.Fatal(f, err)
	}
	// It has the first result, and asks for no other.
	for i := 1; i < all; i++ {
		mustAppend(t, s, one(l, int64(i), fmt.Sprint(i)))
	}
	got, lost := int64(1), int64(0)
	for got+lost < all {
		f, err, ok := next()
		var lagged *LaggedError
		switch {
		case !ok:
			t.Fatal("it has ended")
		case errors.As(err, &lagged):
			lost += lagged.Lost
		case err != nil:
			t.Fatal(err)
		case f.Time != got+lost || string(f.Line) != fmt.Sprint(f.Time):
			t.Fatalf("entry %d %q after %d entries and %d lost", f.Time, f.Line, got, lost)
		default:
			got++
		}
	}
	if lost == 0 || got < 20 {
		t.Errorf("%d entries, %d lost", got, lost)
	}
	// Then it goes on; a line longer than all buffers arrives too.
	long := string(make([]byte, 100<<10))
	mustAppend(t, s, one(l, all, long))
	if f, err, _ := next(); err != nil || string(f.Line) != long {
		t.Errorf("%d bytes, %v", len(f.Line), err)
	}
}

func TestTailEnds(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	before := runtime.NumGoroutine()
	// The consumer stops.
	next, stop := begun(t, s, context.Background(), nil, nil)
	mustAppend(t, s, one(MustLabels("app", "a"), 1, "x"))
	if _, err, _ := next(); err != nil {
		t.Fatal(err)
	}
	stop()
	until(t, "the tail has ended", func() bool { return s.tailing() == 0 && runtime.NumGoroutine() <= before })
	if s.reads.tails.any.Load() {
		t.Error("appends still look for tails")
	}
	// The store is closed.
	next, stop = begun(t, s, context.Background(), nil, nil)
	defer stop()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err, _ := next(); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	pull, stopPull := iter.Pull2(s.Tail(context.Background(), Query{}))
	defer stopPull()
	if _, err, _ := pull(); !errors.Is(err, ErrClosed) {
		t.Errorf("of a closed store: %v", err)
	}
	for _, err := range s.Tail(context.Background(), Query{Selector: Selector{{}}}) {
		if !errors.Is(err, ErrLabels) {
			t.Errorf("of a wrong selector: %v", err)
		}
	}
}

// Many appenders and tails at once: each tail yields each entry once, or
// reports it lost.
func TestTailConcurrent(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	const appenders, each, tails = 4, 50, 3
	var wg sync.WaitGroup
	for range tails {
		next, stop := begun(t, s, context.Background(), nil, nil)
		wg.Go(func() {
			defer stop()
			seen := map[string]bool{}
			lost := int64(0)
			for int64(len(seen))+lost < appenders*each {
				f, err, ok := next()
				var lagged *LaggedError
				if errors.As(err, &lagged) {
					lost += lagged.Lost
					continue
				}
				if !ok || err != nil || seen[string(f.Line)] {
					t.Errorf("%q, %v, %v", f.Line, err, ok)
					return
				}
				seen[string(f.Line)] = true
			}
		})
	}
	for i := range appenders {
		wg.Go(func() {
			for j := range each {
				mustAppend(t, s, one(MustLabels("app", fmt.Sprint(i%2)), int64(j), fmt.Sprintf("%d/%d", i, j)))
			}
		})
	}
	wg.Wait()
}

// Of a batch of which only the first entries were kept, tails yield exactly
// these.
func TestTellsWhatWasKept(t *testing.T) {
	a, b := MustLabels("app", "a"), MustLabels("app", "b")
	batch := Batch{{Labels: a}, {Labels: b}, {Labels: a}}
	for i := range batch {
		for j := range 3 {
			batch[i].Entries = append(batch[i].Entries, Entry{Time: int64(10*i + j)})
		}
	}
	var refused rejectedSet
	for _, n := range []int{1, 3, 4, 5, 6, 8} {
		refused.reject(&Store{}, Rejection{}, n)
	}
	all := []int64{0, 2, 21} // those that are not refused
	for kept := range len(all) + 1 {
		for _, sel := range []Selector{nil, {{Name: "app", Value: "a"}}} {
			tl := newTail("", sel, new(largeEntries))
			tl.put(batch, &refused, 0, kept, 1, 1<<20)
			var got []int64
			for _, e := range tl.swap(tailBuffer{}).entries {
				got = append(got, e.time)
			}
			if !slices.Equal(got, all[:kept]) {
				t.Errorf("of %d kept: %v, want %v", kept, got, all[:kept])
			}
		}
	}
}

// A filter that panics ends its tail, after the entries before that one. Other tails and
// appends go on.
func TestTailFilterPanics(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	why := errors.New("a bug in the filter")
	bad, stopBad := begun(t, s, context.Background(), nil, Func(func(line []byte, _ Labels) bool {
		if string(line) == "2" {
			panic(why)
		}
		return string(line) != "0"
	}))
	defer stopBad()
	good, stopGood := begun(t, s, context.Background(), nil, nil)
	defer stopGood()
	var list []Entry
	for i := range 5 {
		list = append(list, Entry{Time: int64(i), Line: fmt.Append(nil, i)})
	}
	mustAppend(t, s, Batch{{MustLabels("app", "a"), list}})
	if f, err, _ := bad(); err != nil || string(f.Line) != "1" {
		t.Errorf("before the panic: %q, %v", f.Line, err)
	}
	_, err, _ := bad()
	if p, ok := errors.AsType[*PanicError](err); !ok || p.Value != why {
		t.Errorf("the error is %v", err)
	}
	if _, err, ok := bad(); ok {
		t.Errorf("it goes on after the panic: %v", err)
	}
	for i := range 5 {
		if f, err, _ := good(); err != nil || string(f.Line) != fmt.Sprint(i) {
			t.Errorf("another tail: %q, %v", f.Line, err)
		}
	}
	until(t, "the tail has ended", func() bool { return s.tailing() == 1 })
}

// What tails hold is within their memory, whatever it is: lines, labels, metadata, and
// what their selectors have decided. What does not fit is told.
func TestTailMemory(t *testing.T) {
	const tails, memory = 2000, 4 << 20
	big := strings.Repeat("x", 60<<10)
	for what, entry := range map[string]func(i int) (Labels, Entry){
		"labels": func(i int) (Labels, Entry) { return MustLabels("app", fmt.Sprint(i, big)), Entry{} },
		"metadata": func(i int) (Labels, Entry) {
			return MustLabels("app", "a"), Entry{Metadata: MustLabels("k", fmt.Sprint(i, big))}
		},
		"lines": func(i int) (Labels, Entry) { return MustLabels("app", "a"), Entry{Line: fmt.Append(nil, i, big)} },
	} {
		t.Run(what, func(t *testing.T) {
			ts := someTails(memory, tails)
			// Each tail selects one batch, so that no two of them share memory.
			held, none := int64(0), new(rejectedSet)
			for i, tl := range ts.list {
				l, e := entry(i)
				tl.put(Batch{{l, []Entry{e, {Line: []byte("another")}}}}, none, 0, 2, 1, ts.share())
				tl.put(Batch{{l, []Entry{{Line: []byte("one more")}}}}, none, 0, 1, 2, ts.share())
			}
			buffered, lost := int64(0), int64(0)
			for _, tl := range ts.list {
				b := &tl.buffer
				for _, e := range b.entries {
					held += int64(len(e.labels.enc) + len(e.metadata.enc))
				}
				held += int64(cap(b.lines)) + int64(cap(b.entries))*int64(unsafe.Sizeof(tailEntry{}))
				for l := range tl.selected {
					held += int64(len(l.enc))
				}
				buffered, lost = buffered+int64(len(b.entries)), lost+b.lost
			}
			if held > memory {
				t.Errorf("%d tails hold %d bytes; want at most %d", tails, held, memory)
			}
			if buffered == 0 || lost == 0 || buffered+lost != 3*tails {
				t.Errorf("%d entries are buffered and %d lost of %d", buffered, lost, 3*tails)
			}
			// A consumer that comes takes what there is, and gives its memory back.
			for _, tl := range ts.list {
				tl.swap(tl.swap(tailBuffer{}))
			}
			if used := ts.large.used.Load(); used != 0 {
				t.Errorf("%d bytes of large entries are left", used)
			}
			l, e := entry(0)
			ts.list[0].put(Batch{{l, []Entry{e}}}, none, 0, 1, 3, ts.share())
			if n := len(ts.list[0].buffer.entries); n != 1 {
				t.Errorf("a consumer that keeps up gets %d large entries", n)
			}
		})
	}
}

// someTails returns n tails that share memory, each with a selector.
func someTails(memory int64, n int) *tails {
	ts := &tails{memory: memory, large: largeEntries{limit: memory / 4}}
	for range n {
		sel, err := Selector{{Name: "app", Op: NotEqual}}.compile()
		if err != nil {
			panic(err)
		}
		ts.list = append(ts.list, newTail("", sel, &ts.large))
	}
	return ts
}

func BenchmarkTell(b *testing.B) {
	l := MustLabels("app", "a", "host", "h")
	batch := Batch{{l, make([]Entry, 1000)}}
	for i := range batch[0].Entries {
		batch[0].Entries[i] = Entry{Time: int64(i), Line: []byte("a line of about the length that lines have, which is a hundred bytes and forty; and so it goes on")}
	}
	for _, n := range []int{0, 1} {
		b.Run(fmt.Sprintf("tails=%d", n), func(b *testing.B) {
			s := &Store{reads: newReadPool(256<<20, 2)}
			tl := newTail("", nil, &s.reads.tails.large)
			if n > 0 {
				s.reads.tails.add(tl)
			}
			var had tailBuffer
			b.ReportAllocs()
			for b.Loop() {
				s.notifyTails("", batch, new(rejectedSet), 0, len(batch[0].Entries), 1)
				had = tl.swap(had)
			}
		})
	}
}

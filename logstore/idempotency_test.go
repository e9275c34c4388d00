package logstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/testseed"
)

// A faultLog is a log whose appends fail as fail says: before the record is in
// the log, or after, when the outcome is not known and the log has failed.
type faultLog struct {
	log
	fail func() (before, after error)
}

func (l *faultLog) Append(ctx context.Context, rec []byte) (uint64, error) {
	before, after := l.fail()
	if before != nil {
		return 0, before
	}
	pos, err := l.log.Append(ctx, rec)
	if err == nil && after != nil {
		return 0, after
	}
	return pos, err
}

// errUnsureForGood is the error of a log that failed while a record was synced.
var errUnsureForGood = &logError{&logError{syscall.EIO, errLogFailed}, errLogUnsure}

// failing makes the logs of stores fail as fail says, which numbers the records
// with entries from 0. Terms do not fail.
func failing(o Options, fail func(n int) (before, after error)) Options {
	o.wrapLog = func(l log) log {
		var n atomic.Int64
		n.Store(-2)
		return &faultLog{l, func() (error, error) {
			if i := n.Add(1); i >= 0 {
				return fail(int(i))
			}
			return nil, nil
		}}
	}
	return o
}

func key(n int) (k [16]byte) {
	copy(k[:], fmt.Sprintf("key %d", n))
	return k
}

// numbered returns a batch of n lines in two streams, with the numbers from
// first on.
func numbered(at int64, first, n, size int) Batch {
	b := Batch{{Labels: MustLabels("app", "a")}, {Labels: MustLabels("app", "b")}}
	for i := range n {
		line := make([]byte, size)
		copy(line, fmt.Sprintf("%06d", first+i))
		st := &b[i*2/n]
		st.Entries = append(st.Entries, Entry{Time: at, Line: line})
	}
	return b
}

// numbers returns how often each number was kept, and fails if a stream has them
// out of order.
func numbers(t *testing.T, s *Store) map[int]int {
	t.Helper()
	got, last := map[int]int{}, map[string]int{}
	for _, k := range contents(t, s) {
		var n int
		fmt.Sscanf(k.line, "%06d", &n)
		if n < last[k.labels] {
			t.Errorf("%s has %d behind %d", k.labels, n, last[k.labels])
		}
		last[k.labels] = n
		got[n]++
	}
	return got
}

func wantNumbers(t *testing.T, s *Store, n int) {
	t.Helper()
	got := numbers(t, s)
	for i := range n {
		if got[i] != 1 {
			t.Errorf("entry %d is there %d times", i, got[i])
		}
	}
	if len(got) != n {
		t.Errorf("%d entries, not %d", len(got), n)
	}
}

// with appends a batch, and fails the test unless so many entries were kept, and
// so many known.
func with(t *testing.T, s *Store, b Batch, o AppendOptions, kept, known int) Appended {
	t.Helper()
	a, err := s.AppendWith(t.Context(), b, o)
	if err != nil || a.Kept != kept || a.Known != known {
		t.Fatalf("%d entries kept, %d known, %v; want %d and %d", a.Kept, a.Known, err, kept, known)
	}
	return a
}

func TestKeys(t *testing.T) {
	clock := newTestClock()
	o := small()
	o.Clock = clock
	dir := t.TempDir()
	s := openTest(t, dir, o)
	b := numbered(clock.at(0), 0, 10, 6)
	first := with(t, s, b, AppendOptions{Key: key(1)}, 10, 0)
	for step, do := range map[string]func() error{
		"at once":   func() error { return nil },
		"sealed":    func() error { return s.Seal(t.Context()) },
		"compacted": func() error { return s.Compact(t.Context()) },
		"opened": func() error {
			s.Close()
			s = openTest(t, dir, o)
			return nil
		},
		"killed": func() error {
			dir = copyStore(t, dir)
			s = openTest(t, dir, o)
			return nil
		},
	} {
		clock.ns.Add(int64(time.Minute))
		if err := do(); err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		if a := with(t, s, b, AppendOptions{Key: key(1)}, 0, 10); a.Last != first.Last {
			t.Errorf("%s: position %d, not %d", step, a.Last, first.Last)
		}
		wantNumbers(t, s, 10)
	}
	// Much later it is forgotten, opened again or not.
	clock.ns.Add(int64(keyWindow + keyWindow/8))
	for n, k := range []int{1, 1, 2} {
		with(t, s, numbered(clock.at(0), 10+5*n, 5, 6), AppendOptions{Key: key(k)}, []int{5, 0, 5}[n], []int{0, 5, 0}[n])
	}
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The time while nobody had the store open does not count: a clock may be wrong.
	clock.ns.Add(int64(keyWindow + keyWindow/8))
	s = openTest(t, copyStore(t, dir), o)
	with(t, s, numbered(clock.at(0), 100, 5, 6), AppendOptions{Key: key(1)}, 0, 5)
	clock.ns.Add(int64(keyWindow + keyWindow/8))
	with(t, s, numbered(clock.at(0), 100, 5, 6), AppendOptions{Key: key(1)}, 5, 0)
	if n := s.Stats().Keys; n != 1 {
		t.Errorf("%d keys are known", n)
	}
	with(t, s, nil, AppendOptions{Key: key(3)}, 0, 0)
}

func TestSources(t *testing.T) {
	clock := newTestClock()
	o := small()
	o.Clock = clock
	dir := t.TempDir()
	s := openTest(t, dir, o)
	at := clock.at(0)
	with(t, s, numbered(at, 0, 10, 6), AppendOptions{Source: "f"}, 10, 0)
	with(t, s, numbered(at, 5, 10, 6), AppendOptions{Source: "f", Offset: 5}, 5, 5)
	with(t, s, numbered(at, 0, 15, 6), AppendOptions{Source: "f"}, 0, 15)
	clock.ns.Add(int64(100 * time.Hour))
	dir = copyStore(t, dir)
	s = openTest(t, dir, o)
	with(t, s, numbered(at, 0, 5, 6), AppendOptions{Source: "f", Offset: 10}, 0, 5)
	with(t, s, numbered(at, 0, 15, 6), AppendOptions{Source: "f"}, 0, 15)
	// Offsets may have gaps: those of lines in a file, for example.
	with(t, s, numbered(at, 13, 4, 6), AppendOptions{Source: "f", Offsets: []uint64{3, 14, 20, 1 << 40}}, 2, 2)
	with(t, s, numbered(at, 13, 4, 6), AppendOptions{Source: "f", Offsets: []uint64{3, 14, 20, 1 << 40}}, 0, 4)
	with(t, s, numbered(at, 17, 3, 6), AppendOptions{Source: "g", Offset: math.MaxUint64 - 2}, 3, 0)
	with(t, s, numbered(at, 17, 3, 6), AppendOptions{Source: "g", Offset: math.MaxUint64 - 2}, 0, 3)
	// With a key too, an entry is known by either.
	with(t, s, numbered(at, 20, 4, 6), AppendOptions{Source: "h", Offset: 7, Key: key(1)}, 4, 0)
	with(t, s, numbered(at, 20, 4, 6), AppendOptions{Key: key(1)}, 0, 4)
	with(t, s, numbered(at, 23, 3, 6), AppendOptions{Source: "h", Offset: 10, Key: key(2)}, 2, 1)
	wantNumbers(t, s, 26)
	for range 3 {
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		clock.ns.Add(int64(1000 * time.Hour))
		dir = copyStore(t, dir)
		s = openTest(t, dir, o)
		if n := s.Stats().Sources; n != 3 {
			t.Errorf("%d sources are known", n)
		}
		with(t, s, numbered(at, 13, 4, 6), AppendOptions{Source: "f", Offsets: []uint64{3, 14, 20, 1 << 40}}, 0, 4)
		with(t, s, numbered(at, 17, 3, 6), AppendOptions{Source: "g", Offset: math.MaxUint64 - 2}, 0, 3)
		with(t, s, numbered(at, 20, 4, 6), AppendOptions{Source: "h", Offset: 7, Key: key(9)}, 0, 4)
		mustAppend(t, s, one(MustLabels("app", "other"), clock.at(0), "999999"))
	}
}

// A batch of several records that an error or a crash cuts is continued by its
// retry, wherever it is cut.
func TestRetryGoesOn(t *testing.T) {
	const n, size, recordSize = 50, 100, 1200 // five records of ten lines
	for _, names := range []AppendOptions{{Key: key(1)}, {Source: "s", Offset: 1000}, {Key: key(1), Source: "s"}} {
		for _, cut := range []int{0, 2, 4} {
			for _, unsure := range []bool{false, true} {
				name := fmt.Sprintf("key %t, source %q, cut %d, unsure %t", names.hasKey(), names.Source, cut, unsure)
				clock := newTestClock()
				o := small()
				o.Clock = clock
				var tries atomic.Int64
				o = failing(o, func(i int) (before, after error) {
					if i != cut || tries.Add(1) > 1 {
						return nil, nil
					}
					if unsure {
						return nil, errUnsureForGood
					}
					return syscall.EIO, nil
				})
				dir := t.TempDir()
				s := openTest(t, dir, o)
				s.recordSize = recordSize
				b := numbered(clock.at(0), 0, n, size)
				a, err := s.AppendWith(t.Context(), b, names)
				if errors.Is(err, ErrUnsure) != (unsure || cut > 0) || err == nil || a.Kept > n*(cut+1)/5 {
					t.Fatalf("%s: %+v, %v", name, a, err)
				}
				if unsure {
					if _, err := s.AppendWith(t.Context(), b, names); !errors.Is(err, ErrFailed) {
						t.Fatalf("%s: a retry before the store is opened again: %v", name, err)
					}
					dir = copyStore(t, dir)
					o.wrapLog = nil
					s = openTest(t, dir, o)
					s.recordSize = recordSize
				}
				a, err = s.AppendWith(t.Context(), b, names)
				if err != nil || a.Kept+a.Known != n {
					t.Fatalf("%s: %+v, %v", name, a, err)
				}
				wantNumbers(t, s, n)
				s.Close()
			}
		}
	}
}

// Entries that were kept stay kept, and those that were refused stay refused,
// whatever a retry would find.
func TestRetryOfRefused(t *testing.T) {
	clock := newTestClock()
	o := small()
	o.Clock = clock
	s := openTest(t, t.TempDir(), failing(o, func(n int) (before, after error) {
		if n == 1 {
			return syscall.EIO, nil
		}
		return nil, nil
	}))
	long := make([]byte, 200<<10)
	b := Batch{{MustLabels("app", "x"), nil}, {MustLabels("app", "a"), nil}}
	for i := range 10 {
		b[1].Entries = append(b[1].Entries, Entry{Time: clock.at(0), Line: long}, Entry{Time: clock.at(time.Duration(i) * 3 * time.Minute), Line: []byte("sometimes ahead")})
	}
	first, err := s.AppendWith(t.Context(), b, AppendOptions{Key: key(1)})
	if !errors.Is(err, ErrUnsure) || first.Kept == 0 {
		t.Fatalf("%+v, %v", first, err)
	}
	kept := len(contents(t, s))
	// None is ahead now, and all are too late.
	clock.ns.Add(int64(9 * time.Minute))
	mustAppend(t, s, one(b[1].Labels, clock.at(5*time.Minute), "later"))
	a, err := s.AppendWith(t.Context(), b, AppendOptions{Key: key(1)})
	var r *RejectedError
	if errors.As(err, &r) {
		for _, x := range r.Rejected {
			if e := b[x.Stream].Entries[x.Entry]; e.Time != x.Time || e.Time <= clock.at(10*time.Minute) {
				t.Errorf("the retry refuses %+v", x)
			}
			if x.Entry < a.Known {
				t.Errorf("the retry refuses entry %d, of which %d are known", x.Entry, a.Known)
			}
		}
	} else {
		t.Error(err)
	}
	if got := len(contents(t, s)); got != kept+1+a.Kept || a.Known < first.Kept || a.Known+a.Kept+len(r.Rejected) != 20 {
		t.Errorf("%d entries after %d; %+v", got, kept, a)
	}
}

// A retry beside the first attempt waits for its outcome.
func TestRetryBeside(t *testing.T) {
	for _, names := range []AppendOptions{{Key: key(1)}, {Source: "s"}} {
		for _, fails := range []bool{false, true} {
			o := small()
			entered, leave := make(chan struct{}), make(chan struct{})
			s := openTest(t, t.TempDir(), failing(o, func(n int) (before, after error) {
				if n > 0 {
					return nil, nil
				}
				close(entered)
				<-leave
				if fails {
					return syscall.EIO, nil
				}
				return nil, nil
			}))
			b := numbered(1, 0, 4, 6)
			b[0].Entries[0].Time = 1
			var all sync.WaitGroup
			var kept, known, failed atomic.Int64
			try := func() {
				a, err := s.AppendWith(t.Context(), b, names)
				kept.Add(int64(a.Kept))
				known.Add(int64(a.Known))
				if err != nil {
					failed.Add(1)
				}
			}
			all.Go(try)
			<-entered
			waiting := func() int {
				s.idempotency.mu.Lock()
				defer s.idempotency.mu.Unlock()
				return len(s.idempotency.keyTurns[keyID{key: key(1)}]) + len(s.idempotency.sourceTurns[sourceID{name: "s"}])
			}
			for range 3 {
				all.Go(try)
			}
			until(t, "the retries wait", func() bool { return waiting() == 3 })
			// One that gives up leaves the others.
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := s.AppendWith(ctx, b, names); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			ctx, cancel = context.WithCancel(t.Context())
			all.Go(func() {
				if _, err := s.AppendWith(ctx, b, names); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "same key or source") {
					t.Error(err)
				}
			})
			until(t, "one more waits", func() bool { return waiting() == 4 })
			cancel()
			until(t, "it has given up", func() bool { return waiting() == 3 })
			close(leave)
			all.Wait()
			wantFailed := int64(0)
			if fails {
				wantFailed = 1
			}
			if kept.Load() != 4 || failed.Load() != wantFailed || known.Load() != 4*(3-wantFailed) {
				t.Errorf("%d kept, %d known, %d failed", kept.Load(), known.Load(), failed.Load())
			}
			if len(s.idempotency.keyTurns)+len(s.idempotency.sourceTurns) != 0 {
				t.Error("a turn has no end")
			}
			wantNumbers(t, s, 4)
		}
	}
}

// Close ends appends that wait for a turn.
func TestCloseEndsTurns(t *testing.T) {
	s := openTest(t, t.TempDir(), small())
	d := s.idempotency
	turn, err := d.begin(t.Context(), s.closed, &AppendOptions{Key: key(1)}, 1, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := s.AppendWith(context.Background(), numbered(1, 0, 2, 6), AppendOptions{Key: key(1)})
		done <- err
	}()
	until(t, "it waits", func() bool { d.mu.Lock(); defer d.mu.Unlock(); return len(d.keyTurns[keyID{key: key(1)}]) == 1 })
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	turn.end()
}

func TestTooManySources(t *testing.T) {
	const most = 100_000
	d := newIdempotency(time.Minute, most)
	known := 0
	var err error
	for err == nil {
		var turn batchTurn
		turn, err = d.begin(t.Context(), nil, &AppendOptions{Source: fmt.Sprint("source ", known)}, 1, 0, 0)
		if err == nil {
			d.note(&recordHead{source: fmt.Sprint("source ", known), offset: 1}, 1, 0, 0)
			turn.end()
			known++
		}
	}
	if !errors.Is(err, ErrTooManySources) || known < most/2/sourceBytes || d.sourceBytes > most {
		t.Errorf("%d sources: %v", known, err)
	}
	turn, err := d.begin(t.Context(), nil, &AppendOptions{Source: "source 5"}, 3, 0, 0)
	if err != nil || turn.known != 2 {
		t.Errorf("a known source: %+v, %v", turn, err)
	}
	turn.end()
	if len(d.sourceTurns) != 0 {
		t.Error("a turn has no end")
	}
	d = newIdempotency(time.Minute, 1<<40)
	for i := range maxSources {
		d.noteSource(sourceID{name: fmt.Sprint(i)}, sourceEnd{}, 0, 0)
	}
	if _, err := d.begin(t.Context(), nil, &AppendOptions{Source: "one more"}, 1, 0, 0); !errors.Is(err, ErrTooManySources) {
		t.Error(err)
	}
}

func TestAppendOptionsAreChecked(t *testing.T) {
	s := openTest(t, t.TempDir(), small())
	b := numbered(1, 0, 3, 6)
	for want, o := range map[string]AppendOptions{
		"AppendOptions.Source: 257 bytes; want at most 256":           {Source: strings.Repeat("s", 257)},
		`AppendOptions.Source: "import:a"; want a name that does not`: {Source: "import:a"},
		"AppendOptions.Offset: 1; want 0 without a Source":            {Offset: 1},
		"AppendOptions.Offsets: 3; want none without a Source":        {Offsets: []uint64{1, 2, 3}},
		"want less, as the batch has 3 entries":                       {Source: "s", Offset: math.MaxUint64 - 1},
		"AppendOptions.Offset: 5; want 0 with Offsets":                {Source: "s", Offset: 5, Offsets: []uint64{1, 2, 3}},
		"AppendOptions.Offsets: 2; want one for each of 3 entries":    {Source: "s", Offsets: []uint64{1, 2}},
		"AppendOptions.Offsets: 2; want more than 2, the one before":  {Source: "s", Offsets: []uint64{1, 2, 2}},
	} {
		if _, err := s.AppendWith(t.Context(), b, o); !errors.Is(err, fs.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// Many appenders retry through random failures of the log until the store has
// failed, which is then opened again: each entry is there once, those of a
// source in order.
func TestRetryStorm(t *testing.T) {
	const appenders, batches, each = 16, 30, 7
	dir := t.TempDir()
	o := small()
	rng := rand.New(rand.NewPCG(testseed.Of(t), 0))
	var mu sync.Mutex
	draw := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return rng.IntN(n)
	}
	var calm atomic.Bool
	o = failing(o, func(n int) (before, after error) {
		switch r := draw(100); {
		case calm.Load() || r >= 30:
			return nil, nil
		case r > 0:
			return syscall.EIO, nil
		default:
			return nil, errUnsureForGood
		}
	})
	next := make([]int, appenders) // the first batch that is not acknowledged
	lives := 0
	for again := true; again; lives++ {
		if lives == 20 {
			calm.Store(true)
		}
		s := openTest(t, dir, o)
		var all sync.WaitGroup
		for g := range appenders {
			all.Go(func() {
				for ; next[g] < batches; next[g]++ {
					first := (g*batches + next[g]) * each
					b := Batch{{Labels: MustLabels("g", fmt.Sprint(g))}}
					for i := range each {
						b[0].Entries = append(b[0].Entries, Entry{Time: 1, Line: fmt.Appendf(nil, "%06d", first+i)})
					}
					names := AppendOptions{Key: key(first)}
					if g%2 == 0 {
						names = AppendOptions{Source: fmt.Sprint("source ", g), Offset: uint64(first)}
					}
					for {
						_, err := s.AppendWith(context.Background(), b, names)
						if err == nil {
							break
						}
						if errors.Is(err, ErrFailed) {
							return
						}
					}
				}
			})
		}
		all.Wait()
		again = slices.ContainsFunc(next, func(n int) bool { return n < batches })
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	o.wrapLog = nil
	wantNumbers(t, openTest(t, dir, o), appenders*batches*each)
	t.Logf("%d lives", lives)
}

// Keys that Memory has no room for are counted as dropped, and all others are known.
func TestDroppedKeys(t *testing.T) {
	o := small()
	o.Clock = newTestClock()
	s := openTest(t, t.TempDir(), o)
	b := one(MustLabels("app", "a"), o.Clock.Now().UnixNano(), "line")
	add := func(n uint64) Appended {
		t.Helper()
		o := AppendOptions{}
		binary.LittleEndian.PutUint64(o.Key[:], n+1)
		a, err := s.AppendWith(t.Context(), b, o)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if a := add(0); a.Kept != 1 || s.Stats().DroppedKeys != 0 {
		t.Errorf("the first key: %+v, %d dropped", a, s.Stats().DroppedKeys)
	}
	// Others, as if by appends, until some are dropped.
	keys := uint64(1)
	for ; s.Stats().DroppedKeys == 0; keys++ {
		h := recordHead{handled: 1}
		binary.LittleEndian.PutUint64(h.key[:], keys+1)
		s.idempotency.note(&h, 1, 0, o.Clock.Elapsed())
	}
	if st := s.Stats(); st.DroppedKeys+uint64(st.Keys) != keys {
		t.Errorf("%d keys are dropped and %d known, of %d", st.DroppedKeys, st.Keys, keys)
	}
	if a := add(0); a.Kept != 1 {
		t.Errorf("the first key, which was dropped: %+v", a)
	}
	if a := add(keys - 1); a.Known != 1 {
		t.Errorf("the last key: %+v", a)
	}
}

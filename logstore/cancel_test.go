package logstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// oneBlock returns a store of a stream with rows entries, in memory or in few blocks.
func oneBlock(t *testing.T, sealed bool) *Store {
	const rows = 20_000
	s := openTest(t, t.TempDir(), anyTime())
	st := Stream{Labels: MustLabels("app", "x")}
	for i := range rows {
		st.Entries = append(st.Entries, Entry{Time: int64(i + 1), Line: fmt.Appendf(nil, "u=%d", i)})
	}
	mustAppend(t, s, Batch{st})
	if sealed {
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s.reads.workers = 1
	return s
}

// A callFolder calls itself for each entry.
type callFolder func()

func (f callFolder) Fold(Result) error {
	f()
	return nil
}

// After a context is done the caller's code is called for a few rows more, in the
// middle of a block too.
func TestCancelledInABlock(t *testing.T) {
	const at = 100
	for _, sealed := range []bool{false, true} {
		s := oneBlock(t, sealed)
		calls := 0
		var cancel context.CancelFunc
		call := func() {
			if calls++; calls == at {
				cancel()
			}
		}
		filter := Func(func([]byte, Labels) bool { call(); return calls%2 == 0 })
		for name, run := range map[string]func(ctx context.Context) error{
			"query": func(ctx context.Context) (err error) {
				last := int64(0)
				for f, failed := range s.Query(ctx, Query{Filter: filter}) {
					if err = failed; err == nil && f.Time != last+2 {
						t.Errorf("time %d after %d", f.Time, last)
					}
					last = f.Time
				}
				return err
			},
			"backward with a limit": func(ctx context.Context) (err error) {
				for _, err = range s.Query(ctx, Query{Filter: filter, Limit: 1000, Order: Backward}) {
				}
				return err
			},
			"count": func(ctx context.Context) error {
				_, err := s.Count(ctx, Query{Filter: filter}, 0)
				return err
			},
			"fold": func(ctx context.Context) error {
				return s.Fold(ctx, Query{}, func(func(int64) error) Folder { return callFolder(call) })
			},
		} {
			ctx, end := context.WithCancel(t.Context())
			defer end()
			calls, cancel = 0, end
			if err := run(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("sealed %t: %s: %v", sealed, name, err)
			}
			if calls < at || calls > at+checkRows {
				t.Errorf("sealed %t: %s: %d calls; want at most %d after number %d", sealed, name, calls, checkRows, at)
			}
		}
	}
}

// An iteration that is left, and a Close, wait for the filter of a few of the lines
// that are read ahead.
func TestLeftInABlock(t *testing.T) {
	for _, how := range []string{"break", "close"} {
		t.Run(how, func(t *testing.T) {
			s := oneBlock(t, how == "close")
			first, closed := make(chan struct{}), make(chan error, 1)
			calls, after := 0, 0
			filter := Func(func([]byte, Labels) bool {
				if calls++; calls == 3*sliceRows {
					scan := s.reads.running()[0]
					close(first)
					until(t, "the scan has ended", scan.halted.Load)
				}
				if calls >= 3*sliceRows {
					after++
				}
				return calls == 1
			})
			go func() {
				<-first
				if how == "close" {
					closed <- s.Close()
				} else {
					closed <- nil
				}
			}()
			for _, err := range s.Query(t.Context(), Query{Filter: filter}) {
				if err != nil {
					if how != "close" || !errors.Is(err, ErrClosed) {
						t.Error(err)
					}
				} else if how == "break" {
					<-first
					break
				}
			}
			if err := <-closed; err != nil {
				t.Error(err)
			}
			if after == 0 || after > checkRows {
				t.Errorf("%d calls after the end; want at most %d", after, checkRows)
			}
		})
	}
}

// A sort whose context is done compares no more than some times.
func TestSortFunc(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	list := make([]int, 100_000)
	for i := range list {
		list[i] = i * 7919 % len(list)
	}
	sorted := slices.Clone(list)
	if err := sortFunc(ctx, sorted, func(a, b int) int { return a - b }); err != nil || !slices.IsSorted(sorted) {
		t.Fatalf("%v, sorted %t", err, slices.IsSorted(sorted))
	}
	calls, why := 0, errors.New("why")
	err := sortFunc(ctx, list, func(a, b int) int {
		if calls++; calls == 10_000 {
			cancel(why)
		}
		return a - b
	})
	if err != why || calls > 10_000+checkCompares {
		t.Errorf("%v after %d comparisons", err, calls)
	}
}

// Lists and sums whose context is done do not sort all that they have found.
func TestCancelledSorts(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	var b Batch
	for i := range 3000 {
		b = append(b, Stream{MustLabels("n", fmt.Sprint(i)), []Entry{{Time: 1, Line: []byte("x")}}})
	}
	mustAppend(t, s, b)
	for _, limit := range []int{0, 500} {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		p := &presence{of: streamsOf, compare: func(a, b string) int {
			if calls++; calls == 100 {
				cancel()
			}
			return strings.Compare(a, b)
		}}
		if list, err := s.present(ctx, Query{Limit: limit}, p); !errors.Is(err, context.Canceled) || list != nil {
			t.Errorf("limit %d: %d streams, %v", limit, len(list), err)
		}
		if calls > 100+checkCompares {
			t.Errorf("limit %d: %d comparisons after the end", limit, calls-100)
		}
	}
	groups := []Group{{Labels: MustLabels("n", "1")}, {Labels: MustLabels("n", "2")}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if list, err := top(ctx, groups, 1); !errors.Is(err, context.Canceled) || list != nil {
		t.Errorf("top: %v, %v", list, err)
	}
}

// A query that is cancelled while it waits for the buffers of others ends with the
// reason.
func TestCancelledBeforeItReads(t *testing.T) {
	s := oneBlock(t, true)
	var taken []*reading
	for range cap(s.reads.readings) {
		taken = append(taken, s.reads.acquireReading(t.Context()))
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := s.Count(ctx, Query{Filter: Func(func([]byte, Labels) bool { return true })}, 0)
		ended <- err
	}()
	waits := func() (yes bool) {
		s.reads.mu.Lock()
		defer s.reads.mu.Unlock()
		for w := range s.reads.scans {
			w.mu.Lock()
			yes = yes || w.workers.idle < len(w.workers.reads)
			w.mu.Unlock()
		}
		return yes
	}
	for !waits() {
		runtime.Gosched()
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v; want that it was cancelled", err)
	}
	for _, r := range taken {
		s.reads.releaseReading(r)
	}
}

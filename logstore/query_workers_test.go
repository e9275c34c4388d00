package logstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"
)

// Query.Workers bounds the goroutines of a query, whatever it does.
func TestQueryWorkers(t *testing.T) {
	o := anyTime()
	o.Workers = 8
	s := openTest(t, t.TempDir(), o)
	for i := range 40 {
		st := Stream{Labels: MustLabels("n", fmt.Sprint(i))}
		for j := range 300 {
			st.Entries = append(st.Entries, Entry{Time: int64(j), Line: fmt.Appendf(nil, "line %d", j)})
		}
		mustAppend(t, s, Batch{st})
	}
	for range 2 {
		for _, most := range []int{1, 2} {
			var running, peak atomic.Int32
			q := Query{Workers: most, Filter: LineFunc(func([]byte) bool {
				n := running.Add(1)
				defer running.Add(-1)
				for p := peak.Load(); n > p && !peak.CompareAndSwap(p, n); p = peak.Load() {
				}
				return true
			})}
			if n := len(query(t, s, q)); n != 40*300 {
				t.Fatalf("%d entries", n)
			}
			if _, err := s.Count(t.Context(), q, 0); err != nil {
				t.Fatal(err)
			}
			if n := peak.Load(); n > int32(most) {
				t.Errorf("%d goroutines; want at most %d", n, most)
			}
		}
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range s.Query(t.Context(), Query{Workers: -1}) {
		if !errors.Is(err, fs.ErrInvalid) || !strings.Contains(err.Error(), "Query.Workers: -1") {
			t.Error(err)
		}
	}
}

// The error of a query that must not wait says how much there is.
func TestBusyError(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	size := s.reads.memory.Free()
	all := s.reads.memory.TryAcquire(1<<40, 1000)
	defer s.reads.memory.Release(all)
	for _, err := range s.Query(t.Context(), Query{NoWait: true}) {
		busy, ok := errors.AsType[*BusyError](err)
		if !ok || *busy != (BusyError{s.reads.minBytes, 1000, size, 0}) || !errors.Is(err, ErrBusy) {
			t.Errorf("%v, %+v", err, busy)
		}
	}
}

// Of long lines fewer are looked at once a context is done.
func TestCancelledInLongLines(t *testing.T) {
	for _, sealed := range []bool{false, true} {
		s := openTest(t, t.TempDir(), anyTime())
		st := Stream{Labels: MustLabels("app", "x")}
		for i := range 20 {
			st.Entries = append(st.Entries, Entry{Time: int64(i), Line: bytes.Repeat([]byte("x"), checkBytes)})
		}
		mustAppend(t, s, Batch{st})
		if sealed {
			if err := s.Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		err := s.Fold(ctx, Query{Workers: 1}, func(func(int64) error) Folder {
			return callFolder(func() {
				calls++
				cancel()
			})
		})
		if !errors.Is(err, context.Canceled) || calls != 1 {
			t.Errorf("sealed %t: %d calls, %v", sealed, calls, err)
		}
	}
}

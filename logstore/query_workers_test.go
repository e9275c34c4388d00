package logstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
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
	for _, most := range []int{1, 2, 0} {
		want := int64(most)
		if most == 0 {
			want = 8
		}
		s.lastAppend.Store(0) // none is expected
		var peak atomic.Int64
		q := Query{Workers: most, Filter: LineFunc(func([]byte) bool {
			// One that reads starts the next, while there is something to read: 40 streams.
			for peak.Load() < want {
				peak.Store(max(peak.Load(), s.readers()))
				runtime.Gosched()
			}
			peak.Store(max(peak.Load(), s.readers()))
			return true
		})}
		if n := len(query(t, s, q)); n != 40*300 {
			t.Fatalf("%d entries", n)
		}
		if _, err := s.Count(t.Context(), q, 0); err != nil {
			t.Fatal(err)
		}
		if n := peak.Load(); n != want {
			t.Errorf("Workers %d: %d goroutines; want %d", most, n, want)
		}
	}
	for _, err := range s.Query(t.Context(), Query{Workers: -1}) {
		if !errors.Is(err, fs.ErrInvalid) || !strings.Contains(err.Error(), "Query.Workers: -1") {
			t.Error(err)
		}
	}
}

// readers returns how many goroutines read for the query that has the most.
func (s *Store) readers() (most int64) {
	s.reads.mu.Lock()
	defer s.reads.mu.Unlock()
	for w := range s.reads.scans {
		w.mu.Lock()
		most = max(most, int64(len(w.workers.reads)))
		w.mu.Unlock()
	}
	return most
}

// A clock that is set back does not make the store expect appends until it has caught up.
func TestReadersAfterTheClockIsSetBack(t *testing.T) {
	o := anyTime()
	o.Workers = 8
	s := openTest(t, t.TempDir(), o)
	s.noteAppend(time.Now().Add(time.Hour))
	if n := s.maxReaders(); n != 8 {
		t.Errorf("%d workers may read; want 8", n)
	}
	now := time.Now()
	s.noteAppend(now)
	if ns := s.lastAppend.Load(); ns != now.UnixNano() {
		t.Errorf("the last append began at %d; want %d", ns, now.UnixNano())
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

package logstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stele-go/stele/durability"
)

// A closingLog notes what Close does with the log.
type closingLog struct {
	log
	store          *Store
	synced, closed atomic.Int64
	// ended is set if queries were ended before the log was closed.
	ended atomic.Bool
}

func (l *closingLog) Sync(ctx context.Context) error {
	err := l.log.Sync(ctx)
	if err == nil && l.store.isClosed() {
		l.synced.Add(1)
	}
	return err
}

func (l *closingLog) Close() error {
	r := l.store.reads
	r.mu.Lock()
	l.ended.Store(r.closed)
	r.mu.Unlock()
	if l.synced.Load() > 0 {
		l.closed.Add(1)
	}
	return l.log.Close()
}

// A stalledReader is a call that reads a store and stands still in the caller's
// code.
type stalledReader struct {
	name   string
	in     chan struct{} // it stands still
	resume chan struct{}
	err    chan error // the last one
}

func (r *stalledReader) stall() {
	close(r.in)
	<-r.resume
}

// stallReaders begins reads of each kind, which stall at their first line.
func stallReaders(t *testing.T, s *Store) (readers []*stalledReader) {
	t.Helper()
	start := func(name string, read func(r *stalledReader) error) *stalledReader {
		r := &stalledReader{name, make(chan struct{}), make(chan struct{}), make(chan error, 1)}
		readers = append(readers, r)
		go func() { r.err <- read(r) }()
		return r
	}
	for _, order := range []Order{Forward, Backward} {
		r := start(fmt.Sprint("Query ", order), func(r *stalledReader) (last error) {
			n := 0
			for got, err := range s.Query(t.Context(), Query{Order: order}) {
				if last = err; err != nil {
					break
				}
				if n++; n == 1 {
					line := string(got.Line)
					r.stall()
					if string(got.Line) != line {
						t.Errorf("Query: the line %q became %q", line, got.Line)
					}
				}
			}
			return last
		})
		<-r.in // before filters hold all readings
	}
	// The lines given to a filter are those of the memtable itself.
	filter := func(r *stalledReader) Filter {
		var first atomic.Bool
		return Func(func(line []byte, _ Labels) bool {
			if first.CompareAndSwap(false, true) {
				was := string(line)
				r.stall()
				if string(line) != was {
					t.Errorf("%s: the line %q became %q", r.name, was, line)
				}
			}
			return true
		})
	}
	in := func(app string) Selector { return Selector{{Name: "app", Op: Equal, Value: app}} }
	for _, app := range []string{"memory", "sealed"} {
		start("Count of "+app, func(r *stalledReader) error {
			_, err := s.Count(t.Context(), Query{Selector: in(app), Filter: filter(r)}, 0)
			return err
		})
	}
	start("Tail", func(r *stalledReader) (last error) {
		for _, err := range s.Tail(t.Context(), Query{Filter: filter(r)}) {
			last = err
		}
		return last
	})
	until(t, "the tail follows", func() bool { return s.reads.tails.any.Load() })
	mustAppend(t, s, Batch{{MustLabels("app", "tail"), []Entry{{Time: 1, Line: []byte("a")}, {Time: 2, Line: []byte("b")}}}})
	for _, r := range readers {
		<-r.in
	}
	return readers
}

// Close syncs the log, and does not wait for consumers that stall.
func TestCloseWithStalledReaders(t *testing.T) {
	for _, level := range []durability.Level{durability.Power, durability.Kill} {
		t.Run(level.String(), func(t *testing.T) {
			dir, o := t.TempDir(), anyTime()
			o.Level = level
			var l *closingLog
			o.wrapLog = func(inner log) log {
				l = &closingLog{log: inner}
				return l
			}
			s := openTest(t, dir, o)
			l.store = s
			numbers := func(app string) Batch {
				var list []Entry
				for i := range 3000 {
					list = append(list, Entry{Time: int64(i), Line: fmt.Appendf(nil, "%s line %d", app, i)})
				}
				return Batch{{MustLabels("app", app), list}}
			}
			mustAppend(t, s, numbers("sealed"))
			if err := s.Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
			mustAppend(t, s, numbers("memory"))
			readers := stallReaders(t, s)
			if err := s.Close(); err != nil { // returns, though all of them stall
				t.Error(err)
			}
			if l.closed.Load() != 1 || l.ended.Load() {
				t.Errorf("the log was synced and closed %d times; queries ended before: %v", l.closed.Load(), l.ended.Load())
			}
			o.wrapLog = nil
			again, err := Open(dir, o)
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			<-again.Ready()
			if n := len(contents(t, again)); n != 6002 {
				t.Errorf("%d entries in the store that was opened again", n)
			}
			if err := again.Compact(t.Context()); err != nil { // replaces the files of the views
				t.Error(err)
			}
			for _, r := range readers {
				close(r.resume)
				if err := <-r.err; !errors.Is(err, ErrClosed) {
					t.Errorf("%s ended with %v", r.name, err)
				}
			}
			if open := s.Stats().OpenFiles; open != 0 {
				t.Errorf("%d files are open after the last query", open)
			}
			if n := s.pool.chunks.Kept(); n != 0 {
				t.Errorf("%d bytes of chunks were kept", n)
			}
		})
	}
}

// Queries that wait for memory, and those that run while the store is closed, end
// with ErrClosed or with all entries.
func TestCloseDuringQueries(t *testing.T) {
	for range 20 {
		s := openTest(t, t.TempDir(), anyTime())
		var list []Entry
		for i := range 500 {
			list = append(list, Entry{Time: int64(i), Line: []byte("x")})
		}
		mustAppend(t, s, Batch{{MustLabels("app", "x"), list}})
		errs := make(chan error, 8)
		begun := make(chan struct{}, cap(errs))
		for range cap(errs) {
			go func() {
				n, last := 0, error(nil)
				for last == nil {
					n = 0
					for _, err := range s.Query(context.Background(), Query{}) {
						if last = err; err == nil {
							n++
						}
					}
					if last == nil && n != len(list) {
						last = fmt.Errorf("%d entries and no error", n)
					}
					select {
					case begun <- struct{}{}:
					default:
					}
					runtime.Gosched()
				}
				errs <- last
			}()
		}
		<-begun
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		for range cap(errs) {
			if err := <-errs; !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		}
		until(t, "all files are closed", func() bool { return s.Stats().OpenFiles == 0 })
	}
}

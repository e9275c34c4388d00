package logstore

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stele-go/stele/logstore/internal/heap"
)

// A scan reads the sources of a search in the order in which their entries may
// begin, with several workers (workers.go), and passes what it finds to one
// consumer (consumer.go), which merges results: an entry is next once no unread
// source can have an earlier one. How much is read ahead of the consumer is in
// pressure.go; how a scan leaves a memtable that is sealed, in handover.go.
type scan struct {
	x   *search
	top *topKeys // nil: the whole search is read

	halted   atomic.Bool // workers need not go on
	stopWait func() bool

	mu      sync.Mutex // guards what follows, and the grant of the search
	task    task       // set while no worker reads
	queue   heap.Heap[source]
	kept    []source // by timesTask, for the next task
	workers workers
	inbox   inbox
	end     ending
	// handingOver is set while a worker reads a memtable that was sealed.
	handingOver bool
	tied        tiedRows
	rest
}

// An ending is how a scan ended.
type ending struct {
	begun  bool  // workers stop
	err    error // why
	closed bool  // the view is released
}

// maxKey is no key of an entry: nothing is read, or no bound.
const maxKey = math.MaxInt64

// newScan makes a scan for a task. It takes over the search, and close ends
// both.
func newScan(x *search, t task) *scan {
	s := &scan{x: x, task: t}
	s.inbox.merge = newMerger(x.backward)
	s.workers.ready.L, s.inbox.progress.L = &s.mu, &s.mu
	s.stopWait = context.AfterFunc(x.ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.fail(context.Cause(x.ctx))
	})
	return s
}

// begin queues the sources of the search.
func (s *scan) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.x.sources(s.push); err != nil {
		return err
	}
	r := s.x.store.reads
	r.mu.Lock()
	r.scans[s] = struct{}{}
	r.mu.Unlock()
	handOver(s) // memtables sealed before that
	return nil
}

// close waits for the workers, which look at a few rows more each, and releases
// the view and all memory.
func (s *scan) close() {
	r := s.x.store.reads
	r.mu.Lock()
	delete(r.scans, s)
	r.mu.Unlock()
	s.stopWait()
	s.halted.Store(true)
	s.mu.Lock()
	s.end.begun = true
	s.workers.ready.Broadcast()
	s.mu.Unlock()
	s.workers.all.Wait()
	s.mu.Lock()
	s.end.closed = true
	s.mu.Unlock()
	s.x.end()
}

// fail ends the scan. mu is held.
func (s *scan) fail(err error) {
	if s.end.err == nil {
		if cause := context.Cause(s.x.ctx); cause != nil {
			err = cause // of err too: once the store is closed, its files may go
		}
		s.end.err = err
	}
	s.end.begun = true
	s.halted.Store(true)
	s.workers.ready.Broadcast()
	s.inbox.progress.Signal()
}

// readKept gives the scan another task for what timesTask kept. All sources have
// been read.
func (s *scan) readKept(t task) {
	// No worker reads, and none begins before there is a source.
	s.mu.Lock()
	defer s.mu.Unlock()
	s.task = t // first: sleeping workers may wake at any time
	bound := s.top.bound()
	for _, src := range s.wholeAgain(s.kept) {
		if first, _ := src.keys(); first <= bound {
			s.push(src)
		}
	}
	s.kept = nil
}

// wholeAgain puts whole segments in place of what a scan has kept of the rows of
// sealed memtables. Nothing was yielded yet, and from now on the consumer may take its
// time.
func (s *scan) wholeAgain(kept []source) (list []source) {
	var done []uint64
	for _, src := range kept {
		var in *searched
		var rank uint64
		if src, ok := src.(inSegment); ok {
			in, rank = src.segment()
		}
		if in == nil || in.parts == nil && in.clips == nil {
			list = append(list, src)
		} else if !slices.Contains(done, rank) {
			done = append(done, rank)
			list = append(list, newRestBranch(s.x, in.Segment, rank, nil))
		}
	}
	return list
}

// push queues a source. mu is held.
func (s *scan) push(src source) {
	first, _ := src.keys()
	s.queue.Push(src, first)
}

// frontier returns a key that no unread entry comes before. mu is held.
func (s *scan) frontier() int64 {
	f := int64(maxKey)
	if len(s.queue.Items) > 0 {
		f = s.queue.Items[0].Key
	}
	for i := range s.workers.reads {
		f = min(f, s.workers.reads[i].first)
	}
	return f
}

// takeDamage returns the damage that was not yet reported.
func (s *scan) takeDamage() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	damage := s.inbox.damage
	s.inbox.damage = nil
	return damage
}

// drained reports whether all sources were read. mu is held.
func (s *scan) drained() bool {
	return len(s.queue.Items) == 0 && s.workers.idle == len(s.workers.reads)
}

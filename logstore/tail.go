package logstore

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
)

// A LaggedError reports that a consumer of Tail was too slow.
type LaggedError struct {
	// Lost is how many entries of the selected streams were dropped. The filter
	// was not applied to them.
	Lost int64
}

func (e *LaggedError) Error() string {
	return fmt.Sprintf("logstore: tail: the consumer was too slow and missed %d entries", e.Lost)
}

// Tail ranges over new entries, in the order in which they are acknowledged,
// until ctx is done. It begins with the first step of the iteration: a batch
// whose Append is called after that is seen. A consumer that is too slow misses
// entries: then a step has a *LaggedError, which counts them, and the iteration
// goes on. Any other error is the last step; it is ErrClosed once the store is
// closed.
//
// Buffered entries take a bounded part of Options.Memory, which all consumers
// share.
func (s *Store) Tail(ctx context.Context, sel Selector, f Filter) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		if err := s.tail(ctx, sel, f, yield); err != nil {
			yield(Result{}, s.opError("tail of", err))
		}
	}
}

// tail returns nil when the consumer stops.
func (s *Store) tail(ctx context.Context, sel Selector, f Filter, yield func(Result, error) bool) error {
	if s.log == nil {
		return errUnopened
	}
	sel, err := sel.compile()
	if err != nil {
		return err
	}
	ctx, end := s.reads.begin(ctx)
	defer end()
	t := &tail{selector: sel, selected: map[Labels]bool{}, notify: make(chan struct{}, 1)}
	s.reads.tails.add(t)
	defer s.reads.tails.remove(t)
	var had tailBuffer
	for {
		had = t.swap(had)
		for _, e := range had.entries {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			line := had.lines[e.from:e.to:e.to]
			if f != nil && !f.Match(line, e.metadata) {
				continue
			}
			if !yield(Result{e.labels, Entry{e.time, line, e.metadata}}, nil) {
				return nil
			}
		}
		if had.lost > 0 && !yield(Result{}, &LaggedError{had.lost}) {
			return nil
		}
		select {
		case <-t.notify:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// tails are the consumers of Tail.
type tails struct {
	memory int64
	any    atomic.Bool // whether list has one: an append reads nothing else
	mu     sync.Mutex
	list   []*tail
}

func (ts *tails) add(t *tail) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.list = append(ts.list, t)
	ts.any.Store(true)
}

func (ts *tails) remove(t *tail) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.list = slices.DeleteFunc(ts.list, func(x *tail) bool { return x == t })
	ts.any.Store(len(ts.list) > 0)
}

// notifyTails passes the first kept entries of a batch, without the refused
// ones, to all tails. An append calls it once queries find them, before it
// returns.
func (s *Store) notifyTails(b Batch, refused *rejectedSet, kept int) {
	ts := &s.reads.tails
	if !ts.any.Load() {
		return
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if len(ts.list) == 0 {
		return
	}
	// Each has two buffers: one is filled, one is with the consumer.
	share := ts.memory / int64(2*len(ts.list))
	for _, t := range ts.list {
		t.put(b, refused, kept, share)
	}
}

// A tail is one consumer of Tail.
type tail struct {
	selector Selector
	notify   chan struct{}

	mu       sync.Mutex
	selected map[Labels]bool // results of the selector
	buffer   tailBuffer
}

// tailBuffer holds entries, and how many were lost after them.
type tailBuffer struct {
	entries []tailEntry
	lines   []byte
	lost    int64
}

type tailEntry struct {
	time             int64
	from, to         int // of lines
	labels, metadata Labels
}

// tailEntryBytes is about the memory of an entry beside its line.
const tailEntryBytes = 64

// maxSelected bounds the cached selector results of a tail.
const maxSelected = 1 << 14

// put buffers the first kept entries that were not refused, within max bytes.
func (t *tail) put(b Batch, refused *rejectedSet, kept int, most int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := len(t.buffer.entries) + int(t.buffer.lost)
	first := 0 // number of the stream's first entry in the batch
	for _, st := range b {
		if kept == 0 {
			break
		}
		wanted := t.wants(st.Labels)
		if !wanted && refused.len() == 0 {
			kept -= min(kept, len(st.Entries))
			continue
		}
		for j, e := range st.Entries {
			if kept == 0 {
				break
			}
			if refused.has(first + j) {
				continue
			}
			if kept--; wanted {
				t.buffer.add(st.Labels, e, most)
			}
		}
		first += len(st.Entries)
	}
	if len(t.buffer.entries)+int(t.buffer.lost) > before {
		select {
		case t.notify <- struct{}{}:
		default:
		}
	}
}

func (t *tail) wants(l Labels) bool {
	if len(t.selector) == 0 {
		return true
	}
	w, ok := t.selected[l]
	if !ok {
		if len(t.selected) >= maxSelected {
			clear(t.selected)
		}
		w = t.selector.matches(l)
		t.selected[l] = w
	}
	return w
}

// add buffers an entry. Once one is lost the following are too, until the
// consumer has taken the buffer: so it learns where entries are missing.
func (b *tailBuffer) add(l Labels, e Entry, most int64) {
	size := int64(len(b.lines)+len(e.Line)) + int64(len(b.entries)+1)*tailEntryBytes
	if b.lost > 0 || len(b.entries) > 0 && size > most {
		b.lost++
		return
	}
	from := len(b.lines)
	b.lines = append(b.lines, e.Line...)
	b.entries = append(b.entries, tailEntry{e.Time, from, len(b.lines), l, e.Metadata})
}

// swap returns the buffered entries, and takes a consumed buffer to fill next.
func (t *tail) swap(empty tailBuffer) tailBuffer {
	clear(empty.entries)
	t.mu.Lock()
	defer t.mu.Unlock()
	full := t.buffer
	t.buffer = tailBuffer{entries: empty.entries[:0], lines: empty.lines[:0]}
	return full
}

package logstore

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/logstore/internal/segment2"
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

// Tail ranges over new entries that q selects, in the order in which they are
// acknowledged, until ctx is done. Of q it takes Tenant, Selector, Filter, From and
// To; the other fields must be zero. It begins with the first step of the iteration: a batch
// whose Append is called after that is seen. A consumer that is too slow misses
// entries: then a step has a *LaggedError, which counts them, and the iteration
// goes on. Any other error is the last step; it is ErrClosed once the store is
// closed, and a *PanicError if the filter panics.
//
// Buffered entries, with their labels and metadata, take a bounded part of
// Options.Memory, which all consumers share.
func (s *Store) Tail(ctx context.Context, q Query) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		if err := s.tail(ctx, &q, yield); err != nil {
			yield(Result{}, s.opError("tail of", err))
		}
	}
}

// tail returns nil when the consumer stops.
func (s *Store) tail(ctx context.Context, q *Query, yield func(Result, error) bool) error {
	if s.log == nil {
		return errUnopened
	}
	if s.readOnly {
		return ErrReadOnly
	}
	if err := q.checkTail(); err != nil {
		return err
	}
	sel, err := q.Selector.compile()
	if err != nil {
		return err
	}
	ctx, end := s.reads.begin(ctx)
	defer end()
	t := newTail(q.Tenant, sel, &s.reads.tails.large)
	s.reads.tails.add(t)
	defer s.reads.tails.remove(t)
	var had tailBuffer
	var f tailFilter
	defer func() { t.swap(had); t.swap(tailBuffer{}) }() // gives back what both are charged
	for {
		had = t.swap(had)
		for entries := range slices.Chunk(had.entries, 64) {
			entries, panicked := f.match(&had, entries, q.Filter)
			for _, e := range entries {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if !q.hasTime(e.time) {
					continue
				}
				if !yield(Result{e.labels, Entry{e.time, had.line(e), e.metadata}, segment2.ID{}}, nil) {
					return nil
				}
			}
			if panicked != nil {
				return panicked
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

// checkTail returns an error for a field that Tail does not take, or a wrong one.
func (q *Query) checkTail() error {
	var name string
	var got any
	switch {
	case q.Order != Forward:
		name, got = "Order", uint8(q.Order)
	case q.Limit != 0:
		name, got = "Limit", q.Limit
	case q.After != (Cursor{}):
		name, got = "After", q.After
	case q.Cursors:
		name, got = "Cursors", true
	case q.NoWait:
		name, got = "NoWait", true
	case q.Workers != 0:
		name, got = "Workers", q.Workers
	case q.MaxBytes != 0:
		name, got = "MaxBytes", q.MaxBytes
	case q.Stats != nil:
		name, got = "Stats", "a pointer"
	default:
		return q.check()
	}
	return setting.Wrong("logstore: Query."+name, got, "the zero value for Tail")
}

// hasTime reports whether a time is in the range of the query.
func (q *Query) hasTime(t int64) bool { return t >= q.From && (q.To == 0 || t < q.To) }

// tails are the consumers of Tail.
type tails struct {
	memory int64
	large  largeEntries
	any    atomic.Bool // whether list has one: an append reads nothing else
	mu     sync.Mutex
	list   []*tail
	// byTenant are those of list by tenant. They have an eighth of memory.
	byTenant map[string]*tailIndex
	indexed  int64   // bytes of what byTenant knows of streams
	wanted   tailSet // of notifyTails
}

// How tails share their memory: a quarter is for entries that are larger than a buffer,
// an eighth for what is known of streams, and the rest for the buffers, of which each tail has two, one that is filled and one
// that is with the consumer. A buffer may have a quarter more capacity than content.
func (ts *tails) share() int64 { return ts.memory * 15 / 64 / int64(max(1, len(ts.list))) }

// largeEntries is the memory of entries that are larger than the buffer of their tail.
// Such an entry is buffered if it is the first, and if all of them fit, or it is the only
// one: so a consumer that keeps up gets entries of any size.
type largeEntries struct {
	limit int64
	used  atomic.Int64
}

// take takes n bytes, and reports whether it could.
func (l *largeEntries) take(n int64) bool {
	if used := l.used.Add(n); used > n && used > l.limit {
		l.used.Add(-n)
		return false
	}
	return true
}

// used returns the memory of all tails.
func (ts *tails) used() (n int64) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, t := range ts.list {
		n += t.memory()
	}
	for _, x := range ts.byTenant {
		n += x.bytes
	}
	return n
}

func (ts *tails) add(t *tail) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.list = append(ts.list, t)
	if ts.byTenant == nil {
		ts.byTenant = map[string]*tailIndex{}
	}
	x := ts.byTenant[t.tenant]
	if x == nil {
		x = new(tailIndex)
		ts.byTenant[t.tenant] = x
	}
	x.add(t)
	ts.any.Store(true)
}

func (ts *tails) remove(t *tail) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.list = slices.DeleteFunc(ts.list, func(x *tail) bool { return x == t })
	if x := ts.byTenant[t.tenant]; x != nil {
		if x.remove(t); x.tails == 0 {
			ts.indexed -= x.bytes
			delete(ts.byTenant, t.tenant)
		}
	}
	ts.any.Store(len(ts.list) > 0)
}

// notifyTails passes the entries of a record to the tails of their tenant: kept
// ones of a batch, without the refused ones, and behind the first skip. An append
// calls it once queries find them, before it returns.
func (s *Store) notifyTails(tenant string, b Batch, refused *rejectedSet, skip, kept int, pos uint64) {
	ts := &s.reads.tails
	if !ts.any.Load() {
		return
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	x := ts.byTenant[tenant]
	if x == nil {
		return
	}
	ts.wanted = ts.wanted[:0]
	for i := range b {
		ts.wanted = ts.wanted.or(ts.indexOf(x, b[i].Labels))
	}
	share := ts.share()
	ts.wanted.each(func(slot int) {
		if t := x.slots[slot]; t != nil {
			t.put(b, refused, skip, kept, pos, share)
		}
	})
}

// A tail is one consumer of Tail.
type tail struct {
	tenant   string
	selector Selector
	notify   chan struct{}
	large    *largeEntries
	follows  bool // it is a follower's, which needs positions

	slot   int    // in its tailIndex
	number uint64 // in the order in which the tails of its tailIndex were added

	mu            sync.Mutex
	selected      map[Labels]bool // results of the selector
	selectedBytes int64
	most          int64 // bytes of a buffer, when entries were last put
	taken         int64 // bytes of the buffer that the consumer has
	yielded       int64 // bytes of the positions that its follower remembers
	buffer        tailBuffer
}

func newTail(tenant string, sel Selector, large *largeEntries) *tail {
	return &tail{tenant: tenant, selector: sel, large: large, notify: make(chan struct{}, 1)}
}

// tailBuffer holds entries, and how many were lost after them.
type tailBuffer struct {
	entries []tailEntry
	lines   []byte
	size    int64 // bytes of entries, lines, labels, metadata and positions
	large   int64 // of these, taken from largeEntries
	lost    int64

	// positions are those of the records, if the tail is a follower's, up to the first
	// with a lost entry: the follower reads all from there on again.
	positions []uint64
}

func (b *tailBuffer) line(e tailEntry) []byte { return b.lines[e.from:e.to:e.to] }

// memory returns about how many bytes of memory a buffer takes.
func (b *tailBuffer) memory() int64 {
	return max(b.size, b.capacity())
}

func (b *tailBuffer) capacity() int64 {
	return int64(cap(b.lines) + cap(b.entries)*tailEntryBytes + cap(b.positions)*positionBytes)
}

// memory returns about how many bytes of memory a tail takes.
func (t *tail) memory() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buffer.memory() + t.taken + t.selectedBytes + t.yielded
}

// A tailFilter is the filter of a tail, once there was an entry.
type tailFilter struct {
	m      matcher
	labels Labels // of the stream that m was told last
	on     bool   // m may match its entries
	told   bool
	asked  matched
}

// match returns the entries of a buffer that f matches, in the memory of entries, up to
// one at which f panics. The error is a *PanicError then.
func (t *tailFilter) match(b *tailBuffer, entries []tailEntry, f Filter) (list []tailEntry, err error) {
	if f == nil {
		return entries, nil
	}
	defer catchPanic(&err)
	if t.m == nil {
		t.m = f.compiled().matcher()
	}
	list = entries[:0]
	for _, e := range entries {
		if !t.told || e.labels != t.labels {
			t.on, t.labels, t.told = t.m.stream(e.labels), e.labels, true
		}
		t.asked.time, t.asked.line, t.asked.meta = e.time, b.line(e), e.metadata.bytes()
		if t.on && t.m.match(&t.asked) {
			list = append(list, e)
		}
	}
	return list, nil
}

type tailEntry struct {
	time             int64
	from, to         int // of lines
	labels, metadata Labels
}

const (
	// tailEntryBytes is about the memory of an entry beside its bytes.
	tailEntryBytes = 64
	positionBytes  = 8
	// selectedShare of a buffer's share bounds the cached selector results of a tail.
	selectedShare = 8
	// selectedBytes is about the memory of one result beside the bytes of the labels.
	selectedBytes = 48
)

// put buffers the kept entries of a record, within most bytes; see notifyTails.
func (t *tail) put(b Batch, refused *rejectedSet, skip, kept int, pos uint64, most int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.most = most
	before := len(t.buffer.entries) + int(t.buffer.lost)
	position := int64(0) // counted with the first entry
	if t.follows {
		position = positionBytes
	}
	first := 0 // number of the stream's first entry in the batch
	for _, st := range b {
		if kept == 0 {
			break
		}
		wanted := t.wants(st.Labels, most/selectedShare)
		if n := len(st.Entries); refused.len() == 0 && (!wanted || n <= skip) {
			skipped := min(skip, n)
			skip -= skipped
			kept -= min(kept, n-skipped)
			continue
		}
		labels := int64(len(st.Labels.enc)) // counted with the first entry
		for j, e := range st.Entries {
			if kept == 0 {
				break
			}
			if refused.has(first + j) {
				continue
			}
			if skip > 0 {
				skip--
				continue
			}
			if kept--; wanted {
				t.add(st.Labels, e, labels+position, most)
				labels, position = 0, 0
			}
		}
		first += len(st.Entries)
	}
	if len(t.buffer.entries)+int(t.buffer.lost) > before {
		if t.follows && t.buffer.lost == 0 {
			t.buffer.positions = append(t.buffer.positions, pos)
		}
		select {
		case t.notify <- struct{}{}:
		default:
		}
	}
}

// wants reports whether the selector selects a stream. It keeps results in at most most
// bytes.
func (t *tail) wants(l Labels, most int64) bool {
	if len(t.selector) == 0 {
		return true
	}
	w, ok := t.selected[l]
	if ok {
		return w
	}
	w = t.selector.matches(l)
	size := int64(len(l.enc)) + selectedBytes
	if t.selected == nil || t.selectedBytes+size > most {
		t.selected, t.selectedBytes = map[Labels]bool{}, 0
	}
	if size <= most {
		t.selected[l] = w
		t.selectedBytes += size
	}
	return w
}

// add buffers an entry, with which other bytes are counted: its labels, and the position
// of its record. Once one is lost
// the following are too, until the consumer has taken the buffer: so it learns where
// entries are missing.
func (t *tail) add(l Labels, e Entry, other, most int64) {
	b := &t.buffer
	size := int64(len(e.Line)+len(e.Metadata.enc)) + other + tailEntryBytes
	if b.lost > 0 || b.size+size > most && (len(b.entries) > 0 || !t.large.take(size)) {
		b.lost++
		return
	}
	if b.size+size > most {
		b.large = size
	}
	b.size += size
	from := len(b.lines)
	b.lines = append(b.lines, e.Line...)
	b.entries = append(b.entries, tailEntry{e.Time, from, len(b.lines), l, e.Metadata})
}

// swap returns the buffered entries, and takes a consumed buffer to fill next.
func (t *tail) swap(empty tailBuffer) tailBuffer {
	clear(empty.entries)
	if empty.large > 0 {
		t.large.used.Add(-empty.large)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	full := t.buffer
	t.taken = full.memory()
	if empty.capacity() > t.most*5/4 { // of a large entry, or of fewer tails
		empty = tailBuffer{}
	}
	t.buffer = tailBuffer{entries: empty.entries[:0], lines: empty.lines[:0], positions: empty.positions[:0]}
	return full
}

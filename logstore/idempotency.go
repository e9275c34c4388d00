package logstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// errTooManySources reports a batch of a source that is not known, while as many
// are known as the store can remember. Sources are never forgotten.
var errTooManySources = errors.New("too many sources")

// idempotency knows which batches were kept, by their keys and by their sources.
//
// A batch is kept record by record. A record says how much of the batch is
// handled with it, so what is known here is known again after a crash, from the
// log: the entries of a batch that were kept and that it was kept are one
// record. One append at a time uses a key or a source. A retry beside the first
// attempt waits for its outcome.
//
// After an append that failed, the log does not have its record, or has it
// although the append failed (ErrUnsure). In the second case either the log has
// failed too, and no retry is kept before it is read again, or the next record
// that is appended takes the place of that one.
type idempotency struct {
	most int64 // bytes

	mu          sync.Mutex
	keys        keyTable
	sources     map[sourceID]keptSource
	sourceBytes int64
	keyTurns    turns[keyID]
	sourceTurns turns[sourceID]
}

type sourceID struct {
	name string
}

// A keptSource is how far the entries of a source are kept.
type keptSource struct {
	offset   uint64 // of the last one
	position uint64 // of its record
}

const (
	// maxSources bounds the sources of a store.
	maxSources = 1 << 16
	// sourceBytes is about the memory of a source beside its name.
	sourceBytes = 96
	keyWindow   = 10 * time.Minute
)

func newIdempotency(window time.Duration, most int64) *idempotency {
	return &idempotency{
		most: most, keys: newKeyTable(window, most), sources: map[sourceID]keptSource{},
		keyTurns: turns[keyID]{}, sourceTurns: turns[sourceID]{},
	}
}

// A batchTurn is the right to append a batch that has a key or a source.
type batchTurn struct {
	of     *idempotency
	key    keyID // with a zero key: none
	source sourceID
	// known is how many of its entries are kept, or refused, already; last is
	// the position of the last record with some of them, or 0.
	known int
	last  uint64
}

// begin waits until no other append uses the key or the source of the batch,
// which has that many entries. The caller ends the turn.
func (d *idempotency) begin(ctx context.Context, closed <-chan struct{}, o *appendOptions, entries int, now time.Duration) (t batchTurn, err error) {
	t.of = d
	// A key first, always: an append that has a source waits for no key.
	if o.hasKey() {
		t.key = keyID{key: o.Key}
		if err := waitTurn(ctx, closed, &d.mu, d.keyTurns, t.key); err != nil {
			return t, err
		}
	}
	if o.Source != "" {
		source := sourceID{name: o.Source}
		if err := waitTurn(ctx, closed, &d.mu, d.sourceTurns, source); err != nil {
			t.end()
			return t, err
		}
		t.source = source
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if o.hasKey() {
		if b, ok := d.keys.find(t.key, now); ok {
			t.known, t.last = entries, b.position
			if b.more {
				t.known = min(b.handled, entries)
			}
		}
	}
	if o.Source == "" {
		return t, nil
	}
	s, ok := d.sources[t.source]
	if !ok {
		err = d.checkSources(t.source)
	} else if n := o.upTo(s.offset, entries); n > t.known {
		t.known, t.last = n, s.position
	}
	if err != nil {
		t.endLocked()
	}
	return t, err
}

// checkSources returns an error if another source cannot be remembered. Sources
// with a turn may be about to be added. mu is held.
func (d *idempotency) checkSources(id sourceID) error {
	n := len(d.sources) + len(d.sourceTurns)
	most := d.most / 4 * 3
	if bytes := d.sourceBytes + int64(len(d.sourceTurns)*(sourceBytes+maxSource)); n <= maxSources && bytes <= most {
		return nil
	}
	return fmt.Errorf("%w: %q, while %d are known, with %d bytes; want at most %d, and %d bytes (a share of Options.Memory)",
		errTooManySources, id.name, len(d.sources), d.sourceBytes, maxSources, most)
}

// kept notes that the record at a position was kept, with the head h.
func (t *batchTurn) kept(h *recordHead, position uint64, now time.Duration) {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.of.note(h, position, now)
}

// note remembers the batch of a record. mu is held.
func (d *idempotency) note(h *recordHead, position uint64, now time.Duration) {
	if h.hasKey() {
		d.keys.put(keyID{key: h.key}, keptBatch{position, h.handled, h.more}, now)
	}
	if h.source != "" {
		d.noteSource(sourceID{name: h.source}, keptSource{h.offset, position})
	}
}

func (d *idempotency) noteSource(id sourceID, s keptSource) {
	have, ok := d.sources[id]
	if !ok {
		d.sourceBytes += int64(sourceBytes + len(id.name))
		d.keys.most = d.most - d.sourceBytes
	}
	if !ok || s.offset > have.offset {
		d.sources[id] = s
	}
}

// replayed notes the batch of a record that is read from the log. The age of a
// key counts from now: a clock that was wrong must not make it older.
func (d *idempotency) replayed(h *recordHead, position uint64, now time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.note(h, position, now)
}

func (d *idempotency) replayedSource(s sourceOffset) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.noteSource(sourceID{name: s.source}, keptSource{s.offset, s.position})
}

// end lets the next append use the key and the source.
func (t *batchTurn) end() {
	if t.of == nil {
		return
	}
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.endLocked()
}

func (t *batchTurn) endLocked() {
	if t.source != (sourceID{}) {
		t.of.sourceTurns.pass(t.source)
	}
	if t.key != (keyID{}) {
		t.of.keyTurns.pass(t.key)
	}
	t.source, t.key = sourceID{}, keyID{}
}

// turns gives the use of a name to one append at a time, in the order of their
// calls. A name is there while an append uses it, with the ones that wait.
type turns[K comparable] map[K][]chan struct{}

// waitTurn waits until the caller may use the name, which it passes on then.
// mu guards the turns.
func waitTurn[K comparable](ctx context.Context, closed <-chan struct{}, mu *sync.Mutex, t turns[K], name K) error {
	mu.Lock()
	waiting, used := t[name]
	if !used {
		t[name] = nil
		mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	t[name] = append(waiting, turn)
	mu.Unlock()
	var err error
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		err = fmt.Errorf("waiting for an append with the same key or source: %w", context.Cause(ctx))
	case <-closed:
		err = ErrClosed
	}
	mu.Lock()
	defer mu.Unlock()
	if i := slices.Index(t[name], turn); i >= 0 {
		t[name] = slices.Delete(t[name], i, i+1)
	} else {
		t.pass(name) // the turn came meanwhile
	}
	return err
}

// pass gives the name to the next append that waits.
func (t turns[K]) pass(name K) {
	waiting := t[name]
	if len(waiting) == 0 {
		delete(t, name)
		return
	}
	close(waiting[0])
	t[name] = waiting[1:]
}

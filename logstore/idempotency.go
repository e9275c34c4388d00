package logstore

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// idempotency knows which batches were kept, by their keys and by their sources.
//
// A batch is kept record by record. A record says how much of the batch is
// handled with it, so what is known here is known again after a crash, from the
// log: the entries of a batch that were kept and that it was kept are one
// record. One append at a time uses a key or a source. A retry beside the first
// attempt waits for its outcome.
//
// A segment has what the records sealed in it said: see batches.go. What is known
// of the records behind, which a power cut may lose, must not be in it. So of a
// source, and of a batch with records in two memtables, the state at the end of the
// memtable before is known too, which may be the one that is being sealed.
//
// After an append that failed, the log does not have its record, or has it
// although the append failed (ErrUnsure). In the second case either the log has
// failed too, and no retry is kept before it is read again, or the next record
// that is appended takes the place of that one.
type idempotency struct {
	most int64 // bytes

	mu          sync.Mutex
	keys        keyTable
	spanning    []spanningKey
	sources     map[sourceID]keptSource
	sourceBytes int64
	tenantHas   map[uint32]int // sources, by tenant
	// saved is a position where all sources are written: in the segment that has
	// it, or else in the log.
	saved uint64
	// forgot is set once a source was forgotten; see forgotMark.
	forgot      bool
	keyTurns    turns[keyID]
	sourceTurns turns[sourceID]

	// tenants are those of keys, of spanning, of sources and of turns.
	tenants           tenantNames
	sourceTenantBytes int64 // of the names of those that have sources
}

// A spanningKey is what was known of a batch at the end of a memtable, where the
// next one has a record of it too.
type spanningKey struct {
	keyID
	keptBatch
	came time.Duration // at the latest
}

type sourceID struct {
	tenant uint32 // see tenantNames
	name   string
}

// A keptSource is how far the entries of a source are kept.
type keptSource struct {
	sourceEnd
	// before is the end in the memtables before the one with the last entry. Its
	// position is 0 if there was none.
	before sourceEnd
	// named is the position of the last record, or of the end of the segment, that
	// named the source.
	named uint64
}

type sourceEnd struct {
	offset   uint64 // of the last entry
	position uint64 // of its record
}

const (
	// maxSources bounds the sources of a store.
	maxSources = 1 << 16
	// sourceBytes is about the memory of a source beside its name.
	sourceBytes = 160
	keyWindow   = 10 * time.Minute
)

func newIdempotency(window time.Duration, most int64) *idempotency {
	d := &idempotency{
		most: most, keys: newKeyTable(window, most), sources: map[sourceID]keptSource{},
		tenantHas: map[uint32]int{}, keyTurns: turns[keyID]{}, sourceTurns: turns[sourceID]{},
	}
	d.keys.used = d.useTenant
	return d
}

// enterTenant returns the number of a tenant, which is known until useTenant ends the
// use. mu is held.
func (d *idempotency) enterTenant(name string) uint32 {
	n := d.tenants.enter(name)
	d.keys.most = d.keyBytes()
	return n
}

// useTenant adds n uses of a tenant that is known, or ends some. mu is held.
func (d *idempotency) useTenant(number uint32, n int) {
	d.tenants.use(number, n)
	d.keys.most = d.keyBytes()
}

func (d *idempotency) leaveTenant(number uint32) { d.useTenant(number, -1) }

// keyBytes returns the memory that keys may have beside all others.
func (d *idempotency) keyBytes() int64 { return d.most - d.sourceBytes - d.tenants.bytes }

// A batchTurn is the right to append a batch that has a key or a source.
type batchTurn struct {
	of     *idempotency
	tenant uint32
	key    keyID // with a zero key: none
	source sourceID
	// known is how many of its entries are kept, or refused, already; last is
	// the position of the last record with some of them, or 0.
	known int
	last  uint64
}

// begin waits until no other append uses the key or the source of the batch,
// which has that many entries. Its tenant may have that many sources, if that is not
// 0. The caller ends the turn.
func (d *idempotency) begin(ctx context.Context, closed <-chan struct{}, o *AppendOptions, entries, sources int, now time.Duration) (t batchTurn, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t.of, t.tenant = d, d.enterTenant(o.Tenant)
	// A key first, always: an append that has a source waits for no key.
	if o.hasKey() {
		key := keyID{o.Key, t.tenant}
		if err := waitTurn(ctx, closed, &d.mu, d.keyTurns, key); err != nil {
			t.endLocked()
			return t, err
		}
		t.key = key
	}
	if o.Source != "" {
		source := sourceID{t.tenant, o.Source}
		if err := waitTurn(ctx, closed, &d.mu, d.sourceTurns, source); err != nil {
			t.endLocked()
			return t, err
		}
		t.source = source
	}
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
		err = d.checkSources(t.source, sources)
	} else if n := o.upTo(s.offset, entries); n > t.known {
		t.known, t.last = n, s.position
	}
	if err != nil {
		t.endLocked()
	}
	return t, err
}

// checkSources returns an error if another source cannot be remembered, or its tenant,
// unless of is 0, has that many. Sources with a turn may be about to be added. mu is
// held.
func (d *idempotency) checkSources(id sourceID, of int) error {
	if of > 0 {
		had := d.tenantHas[id.tenant]
		for turn := range d.sourceTurns {
			if _, known := d.sources[turn]; turn.tenant == id.tenant && !known {
				had++ // id too
			}
		}
		if had > of {
			return fmt.Errorf("%w: %q of tenant %q, which has %d; want at most %d (TenantOptions.MaxSources)",
				ErrTooManySources, id.name, d.tenants.name(id.tenant), d.tenantHas[id.tenant], of)
		}
	}
	n := len(d.sources) + len(d.sourceTurns)
	most := d.most / 4 * 3
	const each = sourceBytes + maxSource + tenantNameBytes + maxTenant // at most
	if bytes := d.sourceBytes + d.sourceTenantBytes + int64(len(d.sourceTurns)*each); n <= maxSources && bytes <= most {
		return nil
	}
	return fmt.Errorf("%w: %q, while %d are known, with %d bytes; want at most %d, and %d bytes (a share of Options.Memory)",
		ErrTooManySources, id.name, len(d.sources), d.sourceBytes, maxSources, most)
}

// note remembers the batch of the record at a position, which has the head h and
// whose entries are in a memtable with this base. The caller is inside the memtable,
// so that a seal of it finds what is noted. The age of a key counts from now, also in
// a replay: a clock that was wrong must not make it older.
func (d *idempotency) note(h *recordHead, position, base uint64, now time.Duration) {
	if !h.hasKey() && h.source == "" {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	tenant := d.enterTenant(h.tenant)
	defer d.leaveTenant(tenant)
	if h.hasKey() {
		id := keyID{h.key, tenant}
		if was, knew := d.keys.put(id, keptBatch{position, h.handled, h.more}, now); knew && was.position < base {
			d.spanning = append(d.spanning, spanningKey{id, was, now})
			d.useTenant(tenant, 1)
		}
	}
	if h.source != "" {
		d.noteSource(sourceID{tenant, h.source}, sourceEnd{h.offset, position}, position, base)
	}
}

// noteSource notes where a source ends, as what has a position says. mu is held.
func (d *idempotency) noteSource(id sourceID, end sourceEnd, named, base uint64) {
	s, ok := d.sources[id]
	s.named = max(s.named, named)
	switch {
	case !ok:
		if d.tenantHas[id.tenant]++; d.tenantHas[id.tenant] == 1 && id.tenant != 0 {
			d.sourceTenantBytes += int64(tenantNameBytes + len(d.tenants.name(id.tenant)))
		}
		d.sourceBytes += int64(sourceBytes + len(id.name))
		d.useTenant(id.tenant, 1)
	case end.offset <= s.offset:
		end = s.sourceEnd
	case s.position < base:
		s.before = s.sourceEnd
	}
	s.sourceEnd = end
	d.sources[id] = s
}

func (d *idempotency) stats() (keys int, dropped uint64, sources int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.keys.len(), d.keys.early, len(d.sources)
}

// offsetOf returns the offset of the last entry of a source, 0 if it is not known.
func (d *idempotency) offsetOf(tenant, source string) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	number, ok := d.tenants.find(tenant)
	if !ok {
		return 0
	}
	return d.sources[sourceID{number, source}].offset
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
	t.of.leaveTenant(t.tenant)
	t.source, t.key, t.tenant = sourceID{}, keyID{}, 0
}

// turns gives the use of a name to one append at a time, in the order of their
// calls. A name is there while an append uses it, with the ones that wait.
type turns[K comparable] map[K][]chan struct{}

// waitTurn waits until the caller may use the name, which it passes on then.
// mu, which guards the turns, is held before and after, but not while it waits.
func waitTurn[K comparable](ctx context.Context, closed <-chan struct{}, mu *sync.Mutex, t turns[K], name K) error {
	waiting, used := t[name]
	if !used {
		t[name] = nil
		return nil
	}
	turn := make(chan struct{})
	t[name] = append(waiting, turn)
	mu.Unlock()
	var err error
	select {
	case <-turn:
	case <-ctx.Done():
		err = fmt.Errorf("waiting for an append with the same key or source: %w", context.Cause(ctx))
	case <-closed:
		err = ErrClosed
	}
	mu.Lock()
	if err == nil {
		return nil
	}
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

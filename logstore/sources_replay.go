package logstore

import (
	"context"
	"time"
)

// sourcesNow returns what knows the sources as they are after all batches that are
// acknowledged. What the records of later batches say of their sources, which are at the
// position since or a higher one, it may know or not. sourcesMu is held.
//
// While the log is replayed it reads the records that are yet to come, as they tell which
// sources were forgotten, and which came. It cannot wait for them: the replay may itself
// wait for memory, that for a seal, and the seal for the space that the caller frees.
func (s *Store) sourcesNow() (d *idempotency, since uint64, err error) {
	if s.replay.state() == nil {
		return s.idempotency, s.notedBefore(), nil
	}
	if err := s.replay.failure(); err != nil {
		return nil, 0, err
	}
	_, since = s.log.Bounds() // batches are appended behind it
	ahead, from := s.idempotency.copySources(s.o.KeyWindow, &s.replay)
	if from == 0 { // the replay has ended
		return s.idempotency, s.notedBefore(), nil
	}
	for rec, err := range s.log.Records(context.Background(), from) {
		if err == nil && rec.Position >= s.replay.last {
			break
		}
		if err == nil {
			err = ahead.replaySources(rec)
		}
		if err == nil && s.isClosed() {
			err = ErrClosed
		}
		if err != nil {
			return nil, 0, err
		}
	}
	return ahead, since, nil
}

// copySources returns a copy of what is known of sources, and the position of the first
// record that may not be known yet; 0 if the replay has ended. It is that before the next
// one: a record with entries is noted once the next position is set. A record that is
// applied once more changes nothing.
func (d *idempotency) copySources(window time.Duration, r *replayState) (to *idempotency, from uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := r.next.Load()
	if next == 0 {
		return nil, 0
	}
	to = newIdempotency(window, d.most)
	to.forgot = d.forgot
	for id, k := range d.sources {
		tenant := to.enterTenant(d.tenants.name(id.tenant))
		to.noteSource(sourceID{tenant, id.name}, k.sourceEnd, k.named, 0)
		to.leaveTenant(tenant)
	}
	return to, max(next-1, r.first)
}

// replaySources notes what a record says of sources.
func (d *idempotency) replaySources(rec logRecord) error {
	r, h := recordReader{p: rec.Data}, recordHead{}
	if len(rec.Data) == 0 {
		return r.bad("it is empty")
	}
	kind, err := r.head(&h)
	if err != nil {
		return err
	}
	if kind == kindEntries {
		h.key = [16]byte{}
		d.note(&h, rec.Position, 0, 0)
		return nil
	}
	items, err := r.state(nil)
	for i := 0; i < len(items) && err == nil; i++ {
		_, err = d.replayItem(items[i], rec.Position)
	}
	return err
}

// replayItem applies an item of the record at a position, if it is of sources.
func (d *idempotency) replayItem(it stateItem, pos uint64) (ofSources bool, err error) {
	switch it.typ {
	case stateSources:
		err = it.sources(func(o sourceOffset) { d.loadSource(o, pos) })
	case stateForget:
		var tenant, name string
		if tenant, name, err = it.forgotten(); err == nil {
			d.replayForget(tenant, name)
		}
	case stateSourcesSince:
		var since uint64
		if since, err = it.since(pos); err == nil {
			d.replaySince(since)
		}
	default:
		return false, nil
	}
	return true, err
}

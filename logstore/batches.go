package logstore

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// What is known of batches outlives the log in segments.
//
// A seal writes the keys of the batches whose records it seals, if they are
// young enough, and all sources, also those whose entries earlier segments have. So
// Open reads the keys of the segments of the last minutes, and the sources of the
// newest segment; and a store whose log is lost still knows exactly the batches whose
// entries it has. The log would lose both with its damage, and would need all sources
// again for each seal, too.
//
// A compaction joins the keys, and takes the sources of its newest segment. Where a
// segment is removed that nothing replaces, as retention has deleted it or Delete all of
// its entries, the log gets its young keys before, and all sources if it was the last
// segment with them, as state: a later seal writes them into a segment again before that
// part of the log is truncated.

// writeBatches writes what is known of the batches with records at the positions
// (after, upto].
func (s *Store) writeBatches(w *segment2.Writer, after, upto uint64) error {
	now, elapsed := s.catalog.Latest(), s.o.Clock.Elapsed()
	at := func(came time.Duration) int64 { return (now - int64(elapsed-came)) / int64(time.Second) }
	if err := w.AddKeys(s.idempotency.keysIn(after, upto, elapsed, at)); err != nil {
		return err
	}
	return w.AddSources(withoutErrors(s.idempotency.sourcesAt(upto)))
}

func withoutErrors[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, one := range list {
			if !yield(one, nil) {
				return
			}
		}
	}
}

// keysIn returns the keys of batches as they were known at the position upto, if their
// last record then was behind after. at turns a time of the table into seconds since
// the Unix epoch.
func (d *idempotency) keysIn(after, upto uint64, now time.Duration, at func(time.Duration) int64) iter.Seq2[segment2.BatchKey, error] {
	return d.keysWhere(func(position uint64) bool { return after < position && position <= upto }, now, at)
}

// keysWhere is keysIn of the records at positions for which has is true.
func (d *idempotency) keysWhere(has func(position uint64) bool, now time.Duration, at func(time.Duration) int64) iter.Seq2[segment2.BatchKey, error] {
	return func(yield func(segment2.BatchKey, error) bool) {
		var list []segment2.BatchKey
		add := func(id keyID, b keptBatch, came time.Duration) {
			if has(b.position) {
				list = append(list, segment2.BatchKey{
					Tenant: d.tenants.name(id.tenant), Key: id.key, Came: at(came),
					Position: b.position, Handled: b.handled, More: b.more,
				})
			}
		}
		part := func(from uint64) (next uint64, more bool) {
			d.mu.Lock()
			defer d.mu.Unlock()
			if list = list[:0]; from == 0 {
				for _, k := range d.spanning {
					add(k.keyID, k.keptBatch, k.came)
				}
			}
			return d.keys.each(from, now, func(e *keyEntry, came time.Duration) { add(e.id, e.batch(), came) })
		}
		for from, more := uint64(0), true; more; {
			from, more = part(from)
			for _, k := range list {
				if !yield(k, nil) {
					return
				}
			}
		}
	}
}

// sourcesAt returns the sources as they were known at the position upto, in order.
func (d *idempotency) sourcesAt(upto uint64) []segment2.BatchSource {
	list := d.listSources(upto)
	slices.SortFunc(list, func(a, b segment2.BatchSource) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Name, b.Name))
	})
	if d.hasForgot() {
		list = slices.Insert(list, 0, forgotMark)
	}
	return list
}

// hasForgot reports whether some source was forgotten.
func (d *idempotency) hasForgot() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.forgot
}

func (d *idempotency) listSources(upto uint64) []segment2.BatchSource {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := make([]segment2.BatchSource, 0, len(d.sources))
	for id, s := range d.sources {
		end := s.sourceEnd
		if end.position > upto {
			end = s.before
		}
		if end.position != 0 && end.position <= upto {
			list = append(list, segment2.BatchSource{Tenant: d.tenants.name(id.tenant), Name: id.name, Offset: end.offset, Position: end.position})
		}
	}
	return list
}

// sealed notes that a segment has what was known at the position upto.
func (d *idempotency) sealed(upto uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.spanning = slices.DeleteFunc(d.spanning, func(k spanningKey) bool {
		if k.position > upto {
			return false
		}
		d.leaveTenant(k.tenant)
		return true
	})
	if len(d.sources) > 0 || d.forgot {
		d.saved = max(d.saved, upto)
	}
}

// loadSource notes a source that is saved at a position.
func (d *idempotency) loadSource(o sourceOffset, saved uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.saved = max(d.saved, saved)
	if isForgotMark(&o) {
		d.forgot = true
		return
	}
	tenant := d.enterTenant(o.tenant)
	defer d.leaveTenant(tenant)
	d.noteSource(sourceID{tenant, o.source}, sourceEnd{o.offset, o.position}, saved, 0)
}

// loadKey notes a key that came at a time.
func (d *idempotency) loadKey(k *segment2.BatchKey, came time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := keyID{k.Key, d.enterTenant(k.Tenant)}
	defer d.leaveTenant(id.tenant)
	d.keys.put(id, keptBatch{k.Position, k.Handled, k.More}, came)
}

// loadBatches reads what the segments know of batches, before replay adds what the log
// knows. Damage is told as any, and loses names of batches.
func (s *Store) loadBatches(ctx context.Context) error {
	segs := s.catalog.Snapshot()
	defer segs.Release()
	var list []catalog.Segment
	own := s.log.ID()
	for seg := range segs.Segments() {
		// The names of another log's batches are those of another store.
		if id := seg.Info().Log; id == own || id == [16]byte{} || own == [16]byte{} {
			list = append(list, seg)
		}
	}
	for i := len(list) - 1; i >= 0; i-- {
		if ok, err := s.loadSources(ctx, list[i]); err != nil {
			return err
		} else if ok {
			break
		}
	}
	for _, seg := range list {
		if err := s.loadKeys(ctx, seg); err != nil {
			return err
		}
	}
	return nil
}

// loadSources reads the sources of a segment; ok is false if it has none, or they are
// damaged.
func (s *Store) loadSources(ctx context.Context, seg catalog.Segment) (ok bool, err error) {
	if !seg.HasSources() {
		return false, nil
	}
	ok = true
	for o, err := range seg.BatchSources(ctx) {
		if isUnread(err) {
			ok = false
			continue
		}
		if err != nil {
			return false, err
		}
		s.idempotency.loadSource(sourceOffset{o.Tenant, o.Name, o.Offset, o.Position}, seg.Info().Upto)
	}
	return ok, nil
}

// loadKeys reads the keys of a segment that are young enough: all, as if they came now,
// while nothing tells the time.
func (s *Store) loadKeys(ctx context.Context, seg catalog.Segment) error {
	now, _ := s.catalog.Time()
	elapsed := s.o.Clock.Elapsed()
	since, known := (now-int64(s.o.KeyWindow))/int64(time.Second), s.catalog.IsTimeKnown()
	if !known {
		since = 0
	}
	if created := seg.Info().Created; !seg.HasKeys() || created != 0 && created/int64(time.Second) < since {
		return nil
	}
	for k, err := range seg.BatchKeys(ctx) {
		if isUnread(err) {
			continue
		}
		if err != nil {
			return err
		}
		if k.Came >= since {
			age := int64(0)
			if known {
				age = max(0, now-k.Came*int64(time.Second))
			}
			s.idempotency.loadKey(&k, elapsed-time.Duration(age))
		}
	}
	return nil
}

// isUnread reports whether an error is damage of a segment.
func isUnread(err error) bool {
	_, ok := errors.AsType[*segment2.CorruptError](err)
	return ok
}

// sourcesPart is how many sources a record has at most: 64 KiB or less, mostly.
const sourcesPart = 1000

// saveSources appends the sources to the log if one of the segments, which are about
// to be removed, is the last place that has them.
func (s *Store) saveSources(gone []catalog.Holding) error {
	d := s.idempotency
	if !d.savedIn(gone) {
		return nil
	}
	s.sourcesMu.Lock()
	defer s.sourcesMu.Unlock()
	if !d.savedIn(gone) { // a record that was replayed has them
		return nil
	}
	return s.appendSources()
}

// appendSources appends the sources to the log. sourcesMu is held.
//
// Where a source was ever forgotten, a segment that stays may have it. So what is
// appended ends with a record that says from which position on all sources are named.
func (s *Store) appendSources() error {
	d, since, err := s.sourcesNow()
	if err != nil {
		return sourcesError(err)
	}
	var pos uint64
	for part := range slices.Chunk(d.listSources(^uint64(0)), sourcesPart) {
		list := make([]sourceOffset, len(part))
		for i, o := range part {
			list[i] = sourceOffset{o.Tenant, o.Name, o.Offset, o.Position}
		}
		if pos, err = s.appendState(sourcesItem(list)); err != nil {
			return sourcesError(err)
		}
	}
	if d.hasForgot() {
		if pos, err = s.appendState(sinceItem(since)); err != nil {
			return sourcesError(err)
		}
	}
	d = s.idempotency
	d.mu.Lock()
	defer d.mu.Unlock()
	d.saved = max(d.saved, pos)
	return nil
}

// savedIn reports whether one of the segments is the last place that has all sources.
func (d *idempotency) savedIn(list []catalog.Holding) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(list, func(h catalog.Holding) bool { return h.After < d.saved && d.saved <= h.Upto })
}

// notedBefore returns a position of the log: what the records of batches at lower ones say
// of their sources is noted. It waits for the appends that are under way.
func (s *Store) notedBefore() uint64 {
	s.appending.Lock()
	defer s.appending.Unlock()
	return s.nextPosition()
}

func sourcesError(err error) error {
	return errors.Join(errors.New("the sources of batches, which no other segment has, cannot be written to the log"), err)
}

// keysPart is how many keys a record has at most: 64 KiB or less, mostly.
const keysPart = 2000

// saveKeys appends to the log the keys that the segments have which are about to be
// removed: a retry of a batch must not bring back entries that were deleted.
func (s *Store) saveKeys(gone []catalog.Holding) error {
	gone = slices.SortedFunc(slices.Values(gone), byPosition)
	has := func(position uint64) bool {
		i, _ := slices.BinarySearchFunc(gone, position, func(h catalog.Holding, p uint64) int { return cmp.Compare(h.Upto, p) })
		return i < len(gone) && gone[i].After < position
	}
	return s.saveKeysWhere(has)
}

// saveKeysWhere appends to the log the keys of batches whose last record is at a position
// for which has is true.
func (s *Store) saveKeysWhere(has func(position uint64) bool) error {
	var list []segment2.BatchKey
	for k := range s.idempotency.keysWhere(has, s.o.Clock.Elapsed(), func(time.Duration) int64 { return 0 }) {
		list = append(list, k)
	}
	for part := range slices.Chunk(list, keysPart) {
		if err := s.moveKeys(part); err != nil {
			return errors.Join(errors.New("the keys of batches, which no other segment has, cannot be written to the log"), err)
		}
	}
	return nil
}

// moveKeys appends keys to the log. It is inside the memtable, so that a seal which
// truncates the log there finds them.
func (s *Store) moveKeys(list []segment2.BatchKey) error {
	m := s.enter()
	defer m.leave()
	pos, err := s.appendState(keysItem(list))
	if err == nil {
		for i := range list {
			s.idempotency.moveKey(&list[i], pos)
		}
	}
	return err
}

// moveKey notes that the record at a position says the same of a batch as the one
// before. Something newer that is known stays.
func (d *idempotency) moveKey(k *segment2.BatchKey, position uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := keyID{k.Key, d.enterTenant(k.Tenant)}
	defer d.leaveTenant(id.tenant)
	if e := d.keys.lookup(id, d.keys.hash(id)); e != nil && e.position == k.Position {
		e.position = position
	}
}

// replayMovedKey notes a key that the record at a position has, which is replayed. Its
// age counts from now, as in note.
func (d *idempotency) replayMovedKey(k *segment2.BatchKey, position uint64, now time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := keyID{k.Key, d.enterTenant(k.Tenant)}
	defer d.leaveTenant(id.tenant)
	if e := d.keys.lookup(id, d.keys.hash(id)); e == nil || e.position <= k.Position {
		d.keys.put(id, keptBatch{position, k.Handled, k.More}, now)
	}
}

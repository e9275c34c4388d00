package logstore

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A record of kind 1 holds state: what a store remembers beside its entries. It
// is a head without flags and items to the end of the record:
//
//	uvarint  type
//	uvarint  length of the data
//	         data
//
// An item of a type below 64 changes what the records after it mean, so a store
// that does not know the type refuses the log. Others are for a reader that can
// use them.
//
//	1  term: 8 random bytes
//	2  roster: the segments of the store, see roster
//	3  roster change
//	4  sources: for each the tenant and the source, each with its length (uvarint)
//	   before it, the offset of its last entry, and the position of the record
//	   that has it (uvarints)
//	5  delete: entries at lower positions that are gone, see deletion.item
//	6  losses: positions known to be lost
//	7  forget: the tenant and the source that is forgotten, each with its length
//	   (uvarint) before it
//	8  sources since: a position (uvarint). All sources are forgotten but those that
//	   records from there on name; 0 is the position of this record
//	9  delete with conditions on lines, or one that cannot be cancelled any more: see
//	   deletion.item
//	10 cancel: the position (uvarint) of the delete that is cancelled
//
//	64 lost: the record that had this position is lost; see Repair
//	65 keys: of batches that no segment has any more: for each the tenant, with its
//	   length (uvarint) before it, the key (16 bytes), the position of the last
//	   record that told of it (uvarint), and how many of its entries are handled
//	   (uvarint), times two, plus one if the batch goes on
//	66 term goes on: the term of this record and of the one before it, 8 bytes. It
//	   comes with a roster, so that the log tells its term when it is truncated
//	67 other logs: the IDs, 16 bytes each, of the logs whose segments the roster of
//	   this record has beside those of this log
//	68 clock: for how long it was ahead of the time by which entries are deleted, see
//	   clockDoubt
//
// A term is one life of a store, from Open to Close or crash. It is drawn by
// Open and is written before the first entries of that life. Copies
// of a store that went on apart have different terms for the same positions, and so
// has a log that a repair made, where it could not know how far the old one went: see
// provenance.
//
// For example, a term accepted at 2027-01-15 08:00:00 UTC:
//
//	02 01 00 80 a4 a7 da 06
//	01  08 00 11 22 33 44 55 66 77
type stateItem struct {
	typ  uint64
	data []byte
}

const (
	stateTerm         = 1
	stateRoster       = 2
	stateRosterChange = 3
	stateSources      = 4
	stateDelete       = 5
	stateForget       = 7
	stateSourcesSince = 8
	stateDeleteLines  = 9
	stateCancel       = 10
	stateOptional     = 64 // the first type that a store may skip
	stateLost         = 64
	stateKeys         = 65
	stateTermGoesOn   = 66
	stateOtherLogs    = 67
	stateClock        = 68
)

// stateNames has the types of items that are defined.
var stateNames = [...]string{1: "term", 2: "roster", 3: "roster change", 4: "sources", 5: "delete", 6: "losses", 7: "forget", 8: "sources since", 9: "delete of lines", 10: "cancelled delete"}

// encodeState returns a record with items.
func encodeState(accepted int64, items ...stateItem) []byte {
	rec := binary.AppendUvarint([]byte{recordVersion, kindState, 0}, uint64(accepted))
	for _, it := range items {
		rec = binary.AppendUvarint(rec, it.typ)
		rec = binary.AppendUvarint(rec, uint64(len(it.data)))
		rec = append(rec, it.data...)
	}
	return rec
}

// state decodes the items behind the head and appends them to list. The data are
// those of the record.
func (r *recordReader) state(list []stateItem) ([]stateItem, error) {
	for r.off < len(r.p) {
		typ, err := r.uvarint()
		if err != nil {
			return list, err
		}
		data, err := r.bytes()
		if err != nil {
			return list, err
		}
		list = append(list, stateItem{typ, data})
	}
	if len(list) == 0 {
		return nil, r.bad("state without an item")
	}
	return list, nil
}

// errUnknown returns the error for an item that cannot be applied.
func (it stateItem) errUnknown() error {
	name := ""
	if it.typ < uint64(len(stateNames)) && stateNames[it.typ] != "" {
		name = " (" + stateNames[it.typ] + ")"
	}
	return fmt.Errorf("%w: state of type %d%s, which this version cannot apply: use a later one", errRecord, it.typ, name)
}

// A sourceOffset is how much of a source was kept.
type sourceOffset struct {
	tenant, source string
	offset         uint64 // of the last entry
	position       uint64 // of the record that has it
}

func sourcesItem(list []sourceOffset) stateItem {
	var data []byte
	for _, s := range list {
		data = appendString(appendString(data, s.tenant), s.source)
		data = binary.AppendUvarint(data, s.offset)
		data = binary.AppendUvarint(data, s.position)
	}
	return stateItem{stateSources, data}
}

// sources calls f for each source of the item.
func (it stateItem) sources(f func(sourceOffset)) error {
	r := recordReader{p: it.data}
	for r.off < len(r.p) {
		tenant, err := r.bytes()
		if err == nil && len(tenant) > maxTenant {
			err = r.bad("a tenant longer than a tenant can be")
		}
		if err != nil {
			return err
		}
		s := sourceOffset{tenant: string(tenant)}
		if s.source, err = r.name("source", maxSource); err != nil {
			return err
		}
		if s.offset, err = r.uvarint(); err != nil {
			return err
		}
		if s.position, err = r.uvarint(); err != nil {
			return err
		}
		f(s)
	}
	return nil
}

func keysItem(list []segment2.BatchKey) stateItem {
	var data []byte
	for i := range list {
		k := &list[i]
		data = append(appendString(data, k.Tenant), k.Key[:]...)
		data = binary.AppendUvarint(data, k.Position)
		handled := uint64(k.Handled) << 1
		if k.More {
			handled |= 1
		}
		data = binary.AppendUvarint(data, handled)
	}
	return stateItem{stateKeys, data}
}

// keys calls f for each key of the item; none of them came at a time.
func (it stateItem) keys(f func(*segment2.BatchKey)) error {
	r := recordReader{p: it.data}
	for r.off < len(r.p) {
		tenant, err := r.bytes()
		if err == nil && len(tenant) > maxTenant {
			err = r.bad("a tenant longer than a tenant can be")
		}
		if err != nil {
			return err
		}
		k := segment2.BatchKey{Tenant: string(tenant)}
		if copy(k.Key[:], r.p[r.off:]) < len(k.Key) {
			return r.bad("a key that is cut")
		}
		r.off += len(k.Key)
		if k.Position, err = r.uvarint(); err != nil {
			return err
		}
		handled, err := r.uvarint()
		if err != nil {
			return err
		}
		if handled>>1 > math.MaxInt32 {
			return r.bad("a batch of more entries than one can have")
		}
		k.Handled, k.More = int(handled>>1), handled&1 != 0
		f(&k)
	}
	return nil
}

// A clockReading is what an append reads of the clock beside the time: once for
// each second, as it costs more.
type clockReading struct {
	second int64 // of the clock
	// accepted is the time of a record, in seconds: that of segments, as the
	// clock of the next life may begin there, so 0 if it is not to be relied on.
	accepted int64
	elapsed  time.Duration
}

func (s *Store) reading(now time.Time) *clockReading {
	sec := now.Unix()
	if r := s.lastReading.Load(); r != nil && r.second == sec {
		return r
	}
	r := &clockReading{sec, max(0, s.catalog.Created()/int64(time.Second)), s.o.Clock.Elapsed()}
	s.lastReading.Store(r)
	return r
}

// applyState applies the items of the record at a position that is replayed.
func (s *Store) applyState(items []stateItem, pos uint64) error {
	for _, it := range items {
		ofSources, err := s.idempotency.replayItem(it, pos)
		switch {
		case ofSources:
		case it.typ == stateTerm:
			err = s.terms.replayed(it, pos)
		case it.typ == stateKeys:
			now := s.o.Clock.Elapsed()
			err = it.keys(func(k *segment2.BatchKey) { s.idempotency.replayMovedKey(k, pos, now) })
		case it.typ == stateRoster || it.typ == stateRosterChange || it.typ == stateDelete || it.typ == stateDeleteLines || it.typ == stateCancel: // Open has read it
		case it.typ < stateOptional:
			err = it.errUnknown()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

package logstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore/internal/catalog"
)

// A rosterEntry is a segment that should be there, or positions of one, or a gap.
type rosterEntry struct {
	catalog.Holding
	// missing is when Open missed it, in seconds since the Unix epoch; 0 if it was
	// there.
	missing int64
}

// A roster says which segments a store should have, so that Open misses one that
// somebody has deleted. The log holds it, in items of records of state:
//
//	roster         entries: all segments
//	roster change  uvarint how many ranges are gone, then for each the uvarints After
//	               and Upto less After; then entries that are added
//
// An entry is, in uvarints: After less Upto of the one before it, Upto less After,
// generation, entries, MinTime, MaxTime less MinTime, missing. A change continues a
// long roster, or says what is about to be deleted.
//
// # Why a crash is no false alarm, and hides no loss
//
// Only positions count: an entry is missed if positions of it are in no segment,
// and are not replayed either. So what compactions and salvages do, which keep
// positions, need not be written.
//
// A seal makes its segment durable, then appends the roster with it, and then
// truncates the log. A crash before the roster leaves a segment that the roster
// does not have: that is none the less served, and if it is deleted, the log still
// has its positions and replays them. TruncateBefore makes the roster durable
// first, at every level. The roster is appended behind all records that the
// truncation discards, so the log has always one, once a memtable was sealed.
//
// Positions that are to be gone for good, by retention or by a salvage that finds
// nothing, leave the version, then a change says so, durably, and then their file
// is removed. A crash before the removal leaves a file that is served and deleted
// once more. A roster and a change are not written at the same time, so a roster
// behind the change does not have what it removed.
//
// If a change cannot be written because the disk is full, a mark says so in its place
// (roster_mark.go), as deleting the file may be what frees space. If there is no space
// for that either, the file is deleted all the same, and the change is written at the
// next seal: a crash before that makes Open miss it.
type roster struct {
	mu sync.Mutex
	// missing are entries that no segment has: missed by Open, or not readable yet.
	missing []rosterEntry
	// whole is the position of the last roster in the log, 0 if it has none; upto is
	// the highest position that it has with its changes, and bytes is Stats.Bytes
	// when it was written.
	whole, upto uint64
	bytes       uint64
	stale       bool // the last one, or a change, could not be written
	marked      bool // there are marks, see markGone

	// setAside are the segments that Open moves to quarantine.
	setAside []catalog.Holding
	// What Open missed. positions are of segments and of gaps.
	segments, gaps, positions, rows atomic.Int64
}

// rosterPart is how many entries a record has at most: about 64 KiB.
const rosterPart = 2000

func appendEntries(data []byte, list []rosterEntry) []byte {
	upto := uint64(0)
	for _, e := range list {
		for _, v := range [...]uint64{
			e.After - upto, e.Upto - e.After, uint64(e.Generation), uint64(e.Rows),
			uint64(e.MinTime), uint64(e.MaxTime - e.MinTime), uint64(e.missing),
		} {
			data = binary.AppendUvarint(data, v)
		}
		upto = e.Upto
	}
	return data
}

func changeItem(gone []catalog.Holding, added []rosterEntry) stateItem {
	data := binary.AppendUvarint(nil, uint64(len(gone)))
	for _, h := range gone {
		data = binary.AppendUvarint(binary.AppendUvarint(data, h.After), h.Upto-h.After)
	}
	return stateItem{stateRosterChange, appendEntries(data, added)}
}

// numbers decodes uvarints, none above that of int64.
func (r *recordReader) numbers(v []uint64) (err error) {
	for i := range v {
		if v[i], err = r.uvarint(); err != nil {
			return err
		}
		if v[i] > math.MaxInt64 {
			return r.bad("a number out of range")
		}
	}
	return nil
}

// entries decodes the entries to the end of the item.
func (r *recordReader) entries(list []rosterEntry) ([]rosterEntry, error) {
	upto := uint64(0)
	for r.off < len(r.p) {
		var v [7]uint64
		if err := r.numbers(v[:]); err != nil {
			return list, err
		}
		e := rosterEntry{catalog.Holding{
			After: upto + v[0], Upto: upto + v[0] + v[1], Generation: uint32(v[2]), Rows: int64(v[3]),
			MinTime: int64(v[4]), MaxTime: int64(v[4] + v[5]),
		}, int64(v[6])}
		upto = e.Upto
		if v[1] == 0 || max(e.After, upto) > math.MaxInt64 || e.MaxTime < 0 || v[2] > math.MaxUint32 {
			return list, r.bad("a segment that cannot be")
		}
		list = append(list, e)
	}
	return list, nil
}

// change applies a roster change to list.
func (r *recordReader) change(list []rosterEntry) ([]rosterEntry, error) {
	n, err := r.uvarint()
	if err != nil {
		return list, err
	}
	var gone []catalog.Holding
	for range n {
		var v [2]uint64
		if err := r.numbers(v[:]); err != nil {
			return list, err
		}
		gone = append(gone, catalog.Holding{After: v[0], Upto: v[0] + v[1]})
	}
	return r.entries(without(list, gone))
}

// without returns the entries less the positions that others have.
func without(list []rosterEntry, others []catalog.Holding) (left []rosterEntry) {
	set := positionsOf(others)
	for _, e := range list {
		for _, r := range set.without(PositionRange{e.After + 1, e.Upto}) {
			left = append(left, e.part(r.First-1, r.Last))
		}
	}
	return left
}

// positionsOf returns the positions of segments, which may overlap.
func positionsOf(list []catalog.Holding) positionSet {
	ranges := make([]PositionRange, len(list))
	for i, h := range list {
		ranges[i] = PositionRange{h.After + 1, h.Upto}
	}
	return union(ranges)
}

func byPosition(a, b catalog.Holding) int { return cmp.Compare(a.After, b.After) }

// part returns what is known of the positions (after, upto] of e.
func (e rosterEntry) part(after, upto uint64) rosterEntry {
	if after == e.After && upto == e.Upto {
		return e
	}
	e.After, e.Upto, e.Rows = after, upto, 0
	return e
}

// expected returns the segments that the store should have, by position.
func (s *Store) expected() (list []rosterEntry) {
	served := s.catalog.Holdings()
	for _, h := range served {
		list = append(list, rosterEntry{Holding: h})
	}
	s.roster.missing = without(s.roster.missing, served)
	list = append(list, s.roster.missing...)
	slices.SortFunc(list, func(a, b rosterEntry) int { return byPosition(a.Holding, b.Holding) })
	return list
}

// writeRoster appends the roster. roster.mu is held.
func (s *Store) writeRoster() error {
	r := &s.roster
	list := s.expected()
	upto := uint64(0)
	for _, e := range list {
		upto = max(upto, e.Upto)
	}
	others := otherLogs(s.log.ID(), s.catalog.Holdings())
	for i, item := range rosterItems(list) {
		var pos uint64
		var err error
		if i == 0 {
			pos, err = s.writeTerm(append([]stateItem{item}, others...))
		} else {
			pos, err = s.appendState(item)
		}
		if err != nil {
			r.stale = true
			return fmt.Errorf("the roster of segments: %w", err)
		}
		if i == 0 {
			r.whole = pos
		}
	}
	r.upto, r.bytes, r.stale = upto, s.counts.bytes.Load(), false
	return nil
}

// rosterItems returns the items, a record for each, that say which segments there are.
func rosterItems(list []rosterEntry) (items []stateItem) {
	for len(list) > 0 || len(items) == 0 {
		part := list[:min(len(list), rosterPart)]
		list = list[len(part):]
		if len(items) == 0 {
			items = append(items, stateItem{stateRoster, appendEntries(nil, part)})
		} else {
			items = append(items, changeItem(nil, part))
		}
	}
	return items
}

// appendState appends a record of state: the items, and that of the clock. Without any
// it appends nothing.
func (s *Store) appendState(items ...stateItem) (pos uint64, err error) {
	accepted := int64(0)
	if s.catalog != nil { // else the segments are being opened
		accepted = s.reading(s.o.now()).accepted
	}
	items, saved := s.withDoubt(items)
	if len(items) == 0 {
		return 0, nil
	}
	rec := encodeState(accepted, items...)
	pos, err = s.log.Append(context.Background(), rec)
	if err == nil {
		saved()
		s.space.wrote(int64(len(rec)))
		s.noteState(len(rec))
	}
	return pos, err
}

// rosterBefore appends the roster before the log is truncated, and returns up to
// where it may be: so far that it has a roster. A long one is not written before
// a log file is full.
func (s *Store) rosterBefore(next uint64) (uint64, error) {
	if s.o.recordVersion == 1 {
		return next, nil
	}
	r := &s.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	long := len(r.missing)+int(s.catalog.Stats().Segments) > rosterPart
	since := s.counts.bytes.Load() - r.bytes + uint64(s.stateBytes.Load())
	if long && r.whole != 0 && !r.stale && since < uint64(s.o.logSegment()) {
		return min(next, r.whole), s.extendRoster()
	}
	return next, s.writeRoster()
}

// extendRoster appends the positions that segments have beyond the roster.
func (s *Store) extendRoster() error {
	r := &s.roster
	var added []rosterEntry
	for _, e := range s.expected() {
		if e.Upto > r.upto {
			added = append(added, e.part(max(e.After, r.upto), e.Upto))
		}
	}
	if len(added) == 0 {
		return nil
	}
	if _, err := s.appendState(changeItem(nil, added)); err != nil {
		r.stale = true
		return fmt.Errorf("the roster of segments: %w", err)
	}
	r.upto = added[len(added)-1].Upto
	return nil
}

// removing tells the log that segments are about to be removed.
func (s *Store) removing(gone []catalog.Holding) error {
	if s.o.recordVersion == 1 {
		return nil
	}
	if err := s.saveSources(gone); err != nil {
		return err
	}
	// On a full disk the keys are known until the next Open.
	if err := s.saveKeys(gone); err != nil && !isFull(err) {
		return err
	}
	r := &s.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := s.appendState(changeItem(gone, nil))
	if err == nil && s.o.Level != durability.Power {
		err = s.log.Sync(context.Background())
	}
	if isFull(err) {
		if r.stale, err = true, s.markGone(gone); isFull(err) {
			err = nil
		}
	}
	if err == nil && s.catalog == nil {
		r.setAside = append(r.setAside, gone...)
	} else if err == nil {
		r.missing = without(r.missing, gone)
	}
	return err
}

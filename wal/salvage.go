package wal

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"slices"
)

// Salvage returns an iterator over the intact records from position from on,
// control records included, of a log that may be damaged; 0 is the first record.
// Where Records ends at damage, Salvage goes on: each damage is a step with an
// error, mostly a *CorruptError, and the next intact record follows, searched
// for at every byte. Positions only grow. Records between two steps whose
// positions do not follow one another are lost.
//
// The whole records of a torn tail come as well, after a step with an error, but
// Open would cut them: they were not acknowledged as durable. An end of the log
// without evidence of more records behind it is no damage.
//
// A segment whose header is damaged, or is that of another number, is read if the
// first two records are intact, which tell the salt, or if the header still has
// it. A segment of another log is skipped, and so is the rest of one that the
// file system fails to read. If META is lost, the records that were truncated
// come too, where their files are still there.
//
// Salvage is for a log that no process has open. If segments vanish meanwhile,
// an ErrTruncated ends the iteration.
func (in *Inspection) Salvage(from Position) iter.Seq2[RecordInfo, error] {
	return func(yield func(RecordInfo, error) bool) {
		s := salvage{in: in, from: max(from, in.meta.first), yield: yield}
		s.run()
	}
}

// A salvage is one iteration of Salvage.
type salvage struct {
	in      *Inspection
	from    Position
	yield   func(RecordInfo, error) bool
	stopped bool // yield has returned false

	scan scanner
	buf  []byte   // of segment.verify
	next Position // follows the last record; 0 before the first one
	last uint64   // number of the segment of the last record; 0 before the first one
	end  int64    // offset after the last record
	// follows is set while a further segment must be there: the one before is
	// complete.
	follows bool
	told    bool // there was a step with an error after the last record
	// pending are errors that are damage only if the log goes on behind them.
	pending []*CorruptError
}

// run yields the records of all segments.
func (s *salvage) run() {
	m := s.in.meta
	if s.in.MetaErr != nil && !s.step(s.in.MetaErr) {
		return
	}
	s.follows = m.sequence > 1
	i, _ := slices.BinarySearch(s.in.f.numbers, m.segment)
	want := m.segment
	for _, n := range s.in.f.numbers[i:] {
		if n != want && !s.suspect(s.in.f.missing(want, fmt.Sprintf("the segments from this one to %d are missing", n-1))) {
			return
		}
		if !s.file(n) {
			return
		}
		want = n + 1
	}
	if s.follows && !s.step(s.in.f.missing(want, "the segment is missing")) {
		return
	}
	if reached := cmp.Or(s.next, m.first); s.in.MetaErr == nil && reached < m.next {
		why := fmt.Sprintf("the log ends before record %d, but had durably reached %d", reached, m.next)
		c := &CorruptError{File: s.in.f.path(cmp.Or(s.last, m.segment)), Offset: s.end, Reason: why}
		if !s.told && s.pending != nil { // the first was not complete, the others may be prepared
			c = s.pending[0]
			c.Reason += "; " + why
		}
		s.step(c)
	}
}

// step yields err. It reports whether to go on.
func (s *salvage) step(err error) bool {
	s.told = true
	s.stopped = s.stopped || !s.yield(RecordInfo{}, err)
	return !s.stopped
}

// suspect is step of a segment that is damaged or missing; if it may be a
// prepared one, only if the log goes on behind it.
func (s *salvage) suspect(c *CorruptError) bool {
	if s.follows {
		s.follows = false // perhaps it was the last one
		return s.step(c)
	}
	s.pending = append(s.pending, c)
	return true
}

// flush is step of the pending errors, as the log goes on in path.
func (s *salvage) flush(path string) bool {
	for _, c := range s.pending {
		c.Reason += "; but the log goes on in " + path
		if !s.step(c) {
			return false
		}
	}
	s.pending = nil
	return true
}

// file yields the records of segment n. It reports whether to go on.
func (s *salvage) file(n uint64) bool {
	g, err := s.open(n)
	if g != nil {
		defer g.close()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return s.vanished(s.in.f.path(n))
	}
	if c, ok := errors.AsType[*CorruptError](err); ok {
		if g == nil {
			lo, hi := s.bounds(n)
			used, err := usedUnreadable(c.File, lo, hi)
			s.follows = s.follows || used || err != nil // so it is not a prepared one
		}
		if !s.suspect(c) {
			return false
		}
	} else if err != nil {
		s.follows = false
		return s.step(err)
	}
	return g == nil || s.segment(g)
}

// vanished ends the iteration: the log was truncated since Inspect.
func (s *salvage) vanished(path string) bool {
	s.step(fmt.Errorf("wal: salvage %s: %w", path, ErrTruncated))
	return false
}

// open opens segment n. A *CorruptError is that of the header; the segment is nil
// then if it has no records, as far as can be told.
func (s *salvage) open(n uint64) (*segment, error) {
	g := &segment{path: s.in.f.path(n), number: n}
	if err := g.open(false); err != nil {
		return nil, err
	}
	err := g.readHeader(s.in.meta.id)
	if c, ok := errors.AsType[*CorruptError](err); ok {
		known, err := s.identify(g)
		if known && err == nil {
			return g, c
		}
		return nil, errors.Join(cmp.Or(err, error(c)), g.close())
	}
	if err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

// identify completes g, whose header is damaged, and reports whether its records
// can be told.
func (s *salvage) identify(g *segment) (bool, error) {
	fi, err := g.file.Stat()
	if err != nil {
		return false, fmt.Errorf("wal: %w", err)
	}
	size := min(fi.Size(), maxSegmentSize)
	b := make([]byte, headerSum+4)
	if b, err = g.readAt(b, 0); err != nil {
		return false, err
	}
	valid := validHeader(b)
	switch {
	case valid && s.in.meta.id != [16]byte(b[16:32]):
		return false, nil
	case valid && g.size >= minSegmentSize && g.size <= maxSegmentSize:
		return true, nil // only the size of the file is wrong
	}
	g.size = size
	if known, err := s.seedOfFirst(g); known || err != nil || valid || len(b) < headerSum+4 {
		return known, err
	}
	g.seed = seedOf(binary.LittleEndian.Uint64(b[48:]))
	lo, hi := s.bounds(g.number)
	o, _, err := s.search(g, firstOffset-1, lo, hi)
	return o > 0, err
}

// bounds returns the lowest and the highest position that a record in a segment
// may have after those that came. Lower ones in a recycled file are discarded.
func (s *salvage) bounds(number uint64) (lo, hi Position) {
	const most = maxSegmentSize/headerSize + 1 // records of a segment
	m := s.in.meta
	lo, last := s.next, s.last
	if last == 0 {
		if s.in.MetaErr != nil {
			return 1, math.MaxUint64
		}
		lo, last = m.first, m.segment
		if number == last { // it may begin before
			return 1, lo + most
		}
	}
	if number-last > 1<<32 { // of which most are missing
		return lo, math.MaxUint64
	}
	return lo, lo + Position(number-last+1)*most
}

// seedOfFirst sets g.seed to the one that makes the first record valid, if that
// makes the second valid too. A record is always at firstOffset, so it cannot be
// a copy within a payload.
func (s *salvage) seedOfFirst(g *segment) (bool, error) {
	head, err := g.readAt(make([]byte, headerSize), firstOffset)
	if err != nil || len(head) < headerSize {
		return false, err
	}
	var first, second record
	first.decode(head, firstOffset)
	if lo, hi := s.bounds(g.number); !first.fits(g.size) || first.pos < lo || first.pos > hi {
		return false, nil
	}
	if whole, err := g.verify(first, head, &s.buf); !whole {
		return false, err
	}
	seed := seedBefore(binary.LittleEndian.Uint32(head), firstOffset, head)
	head, err = g.readAt(make([]byte, headerSize), first.next)
	if err != nil || len(head) < headerSize {
		return false, err
	}
	if !second.parse(head, seed, first.next) || !second.fits(g.size) {
		return false, nil
	}
	g.seed = seed
	return g.verify(second, head, &s.buf)
}

// seedBefore returns the seed with which the head of a record at off has the
// checksum sum: it takes headSum back, byte by byte.
func seedBefore(sum uint32, off int64, head []byte) uint32 {
	b := binary.LittleEndian.AppendUint64(nil, uint64(off))
	b = append(b, head[4:headerSize]...)
	crc := ^sum
	for _, v := range slices.Backward(b) {
		// The entries of the table differ in their highest bytes.
		i := slices.IndexFunc(castagnoli[:], func(e uint32) bool { return e>>24 == crc>>24 })
		crc = (crc^castagnoli[i])<<8 | uint32(byte(i)^v)
	}
	return ^crc
}

// segment yields the intact records of g. It reports whether to go on.
func (s *salvage) segment(g *segment) bool {
	c := &s.scan
	c.reset(g, firstOffset, 0)
	again := int64(0)
	for {
		r, err := c.next(g.size)
		if err == nil {
			if !s.record(g, r) {
				return false
			}
			if r.typ == typeEnd {
				s.follows = true
				return true
			}
			continue
		}
		if err == errEnd {
			err = c.invalid("the segment is full and has no end record")
		}
		switch {
		case err != errInvalid:
			s.follows = false
			return s.step(err)
		case again != c.off: // a record being written may look damaged
			again = c.off
			c.reset(g, c.off, c.pos)
			continue
		case !g.hasName():
			return s.vanished(g.path)
		}
		if on, ok := s.damaged(g); !on || !ok {
			return ok
		}
	}
}

// damaged goes on behind the damage at the scanner's offset. on is set if there
// is a further record in g, ok if the iteration goes on.
func (s *salvage) damaged(g *segment) (on, ok bool) {
	c := &s.scan
	corrupt, sure := c.corrupt(), c.damage
	lo, hi := s.bounds(g.number)
	if c.pos != 0 {
		lo, hi = c.pos, c.pos+Position((g.size-c.off)/headerSize)+1
	}
	o, proof, err := s.search(g, c.off, lo, hi)
	switch {
	case err != nil:
		s.follows = false
		return false, s.step(corrupt) && s.step(err)
	case o > 0:
		corrupt.Reason += fmt.Sprintf("; the next intact record is at offset %d", o)
		c.reset(g, o, 0)
		return true, s.step(corrupt)
	}
	s.follows = sure || proof
	return false, s.suspect(corrupt)
}

// search returns the offset of the first intact record of g after off with a
// position from lo to hi, or 0. proof is set if a later head says that the bytes
// at off were durable.
func (s *salvage) search(g *segment, off int64, lo, hi Position) (o int64, proof bool, err error) {
	_, err = g.search(off+1, lo, hi, func(at int64, head []byte) error {
		var r record
		if !r.parse(head, g.seed, at) || !r.fits(g.size) {
			return nil
		}
		proof = proof || r.durable() > off
		whole, err := g.verify(r, head, &s.buf)
		if whole {
			o = at
			return errFound
		}
		return err
	})
	if err == errFound {
		err = nil
	}
	return o, proof, err
}

// record yields r of g. It reports whether to go on.
func (s *salvage) record(g *segment, r record) bool {
	if r.pos < s.next {
		// A file of an older state of the log; its records came already.
		return s.told || s.step(s.wrongPosition(g, r, s.next))
	}
	if !s.flush(g.path) {
		return false
	}
	want := s.next
	if want == 0 && s.in.MetaErr == nil {
		want = min(s.in.meta.first, r.pos) // the first segment may begin before
	}
	if !s.told && want != 0 && r.pos != want && !s.step(s.wrongPosition(g, r, want)) {
		return false
	}
	s.told, s.last, s.end = false, g.number, r.next
	if s.next = r.pos; r.typ == typeData {
		s.next++
	}
	if r.pos < s.from {
		return true
	}
	s.stopped = !s.yield(r.info(g), nil)
	return !s.stopped
}

func (s *salvage) wrongPosition(g *segment, r record, want Position) error {
	return &CorruptError{File: g.path, Offset: r.off, Reason: fmt.Sprintf("the record has position %d; want %d", r.pos, want)}
}

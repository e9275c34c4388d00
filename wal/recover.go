package wal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// A Report is the result of Open's recovery, or of Verify.
type Report struct {
	First, Next Position // of the first record and of the next to be appended
	Segments    int      // segments with records; at least 1, as the next record goes into the last
	Prepared    int      // segments prepared ahead of use
	Verified    int64    // bytes of records whose checksums were verified
	// Clean is set if the log was closed and not used since.
	Clean bool
	// Torn is the torn tail that a crash has left, nil if none. Open has cut it.
	Torn *TornTail
	// SetAside counts the prepared segments that were damaged and had never been
	// used, which does no harm. Open has set them aside; see Options.SetAside.
	SetAside int
	// MetaDegraded is set if one of the two slots of META was damaged. Open has
	// rewritten it.
	MetaDegraded bool
}

// A TornTail is the end of a log that was being written when a crash came. No
// part of it was acknowledged as durable.
type TornTail struct {
	File    string
	Offset  int64 // of its first byte
	Bytes   int64 // up to the last byte that was written
	Records int   // whole records in it, which follow one that is not whole
	// Position is that of the next record to be appended: the one that the record
	// at Offset may have had.
	Position Position
	Salt     uint64 // of the segment's header, which the checksums of heads cover
}

// A listing has the files of a log by name.
type listing struct {
	dir     string
	hasMeta bool
	numbers []uint64 // of the segments, ascending
	temps   []string // names of files that were being created
	// irregular is the error for a name of the log that is not a regular file.
	irregular error
}

func readListing(dir string) (listing, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return listing{}, fmt.Errorf("wal: %w", err)
	}
	f := listing{dir: dir}
	for _, e := range entries {
		name := e.Name()
		if n := segmentNumber(name); n != 0 {
			f.numbers = append(f.numbers, n)
		} else if name == metaName {
			f.hasMeta = true
		} else if base, ok := strings.CutSuffix(name, tempExt); ok && (base == metaName || segmentNumber(base+segmentExt) != 0) {
			f.temps = append(f.temps, name)
		} else if name != lockName {
			continue
		}
		if !e.Type().IsRegular() && f.irregular == nil {
			f.irregular = irregular(filepath.Join(dir, name), e.Type())
		}
	}
	slices.Sort(f.numbers)
	return f, nil
}

func (f listing) path(number uint64) string { return filepath.Join(f.dir, segmentName(number)) }

// numbering has the numbers of the segments of a log, ascending. The first
// whole of them have no gap.
type numbering struct {
	listing
	numbers []uint64
	whole   int
}

// split returns the segments of the log, without the leftovers of a truncation;
// none if the log was being created.
func (f listing) split(m meta) (numbering, error) {
	i, _ := slices.BinarySearch(f.numbers, m.segment)
	l := numbering{listing: f, numbers: f.numbers[i:]}
	for l.whole < len(l.numbers) && l.numbers[l.whole] == m.segment+uint64(l.whole) {
		l.whole++
	}
	if l.whole == 0 && (len(l.numbers) > 0 || m.sequence > 1) {
		return l, l.missing(m.segment, "the segment is missing")
	}
	return l, nil
}

func (f listing) missing(number uint64, reason string) *CorruptError {
	return &CorruptError{File: f.path(number), Reason: reason}
}

// A segmentScan is the result of reading one segment.
type segmentScan struct {
	g         *segment
	firstOnly bool     // only its first record was read
	hasRecord bool     // it has a record
	first     Position // of its first record
	next      Position // after its last record
	off       int64    // after its last record
	durable   int64    // all before was durable when its last record was written

	complete   bool          // it has an end record
	closed     bool          // its last record is a closed mark
	corrupt    *CorruptError // the error at off, unless complete
	damage     bool          // no crash leaves that error
	unreadable bool          // corrupt is the error of the header
}

// scanSegment reads the records of a segment, or only the first one.
func scanSegment(c *scanner, g *segment, firstOnly bool) (segmentScan, error) {
	s := segmentScan{g: g, firstOnly: firstOnly, off: firstOffset, durable: firstOffset}
	for c.reset(g, firstOffset, 0); ; {
		r, err := c.next(g.size)
		if err == errEnd {
			err = c.damaged("the segment is full and has no end record")
		}
		if err == errInvalid {
			s.corrupt, s.damage = c.corrupt(), c.damage
			return s, nil
		}
		if err != nil {
			return s, err
		}
		if !s.hasRecord {
			s.hasRecord, s.first = true, r.pos
		}
		s.off, s.next, s.durable = r.next, c.pos, max(s.durable, r.durable())
		s.closed = r.typ == typeClosed
		if s.complete = r.typ == typeEnd; s.complete || firstOnly {
			return s, nil
		}
	}
}

// scanAll opens, scans and closes segments, GOMAXPROCS at once. The error is the
// first in the order of the segments; a damaged header is not an error.
func scanAll(f listing, id [16]byte, numbers []uint64, firstOnly bool) ([]segmentScan, error) {
	found := make([]segmentScan, len(numbers))
	errs := make([]error, len(numbers))
	var turn atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(numbers)) {
		wg.Go(func() {
			var c scanner
			for {
				i := int(turn.Add(1)) - 1
				if i >= len(numbers) {
					return
				}
				path := f.path(numbers[i])
				g, err := openSegment(path, numbers[i], id)
				if err == nil {
					found[i], err = scanSegment(&c, g, firstOnly)
					err = errors.Join(err, g.close())
				} else if corrupt, ok := errors.AsType[*CorruptError](err); ok {
					g = &segment{path: path, number: numbers[i]}
					found[i] = segmentScan{g: g, off: firstOffset, corrupt: corrupt, damage: true, unreadable: true}
					err = nil
				}
				errs[i] = err
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// A logScan is the result of reading a log that is not damaged.
type logScan struct {
	segments []*segment  // closed; with their first positions
	tail     int         // index of the last used segment; prepared ones follow
	last     segmentScan // of the tail
	// before is the segment before the tail if the tail has no record: then its
	// end record may not have been synced.
	before *segmentScan
	// useless are prepared segments that are not in segments.
	useless  []uselessSegment
	torn     tornTail
	next     Position
	verified int64
}

// examine reads the segments of a log and finds its end. If lazy it reads only
// the first record of each segment but the last used one.
func (l numbering) examine(m meta, lazy bool) (logScan, error) {
	found, err := scanAll(l.listing, m.id, l.numbers, lazy)
	if err == nil && lazy {
		err = l.scanLast(m.id, found)
	}
	if err != nil {
		return logScan{}, err
	}
	r := logScan{}
	for ; found[r.tail].complete; r.tail++ {
		if r.tail+1 == l.whole {
			return logScan{}, l.missing(l.numbers[r.tail]+1, "the segment is missing: the one before it is complete")
		}
	}
	for i := range found[:r.tail+1] {
		r.segments = append(r.segments, found[i].g)
		r.verified += found[i].off - firstOffset
	}
	if err := chain(found[:r.tail+1], m); err != nil {
		return logScan{}, err
	}
	r.last = found[r.tail]
	r.next = r.last.next
	if r.tail > 0 && !r.last.hasRecord {
		r.before = &found[r.tail-1]
	}
	if err := r.checkTail(found[r.tail+1:], lazy); err != nil {
		return logScan{}, err
	}
	if r.next < m.next {
		return logScan{}, &CorruptError{File: r.last.g.path, Offset: r.last.off,
			Reason: fmt.Sprintf("%s; the log ends before record %d, but had durably reached %d", r.last.corrupt.Reason, r.next, m.next)}
	}
	return r, nil
}

// scanLast completes found, of which only first records were read: it reads the
// last segment with a record whole. Those before it count as complete; a Reader
// finds if they are not.
func (l numbering) scanLast(id [16]byte, found []segmentScan) error {
	last := 0
	for i := range found {
		if found[i].hasRecord {
			last = i
		}
	}
	if last >= l.whole {
		return l.missing(l.numbers[l.whole-1]+1, "the segment is missing: the log goes on behind it")
	}
	whole, err := scanAll(l.listing, id, l.numbers[last:last+1], false)
	if err != nil {
		return err
	}
	copy(found[last:], whole)
	for i := range last {
		if !found[i].hasRecord {
			return found[i].corrupt
		}
		found[i].complete = true
	}
	return nil
}

// chain checks that the positions of the used segments follow one another, and
// sets the first position of each.
func chain(found []segmentScan, m meta) error {
	next := m.first
	for i := range found {
		s := &found[i]
		if !s.hasRecord {
			// Only the last used one can be without a record.
			s.first, s.next = next, next
		}
		s.g.first = s.first
		ok := s.first == next
		if i == 0 {
			ok = s.first <= m.first
		} else if found[i-1].firstOnly {
			ok = s.first >= next // its later records are not known
		}
		if !ok {
			return &CorruptError{File: s.g.path, Offset: firstOffset,
				Reason: fmt.Sprintf("the segment begins at position %d; want %d", s.first, next)}
		}
		next = s.next
	}
	return nil
}

// checkTail tells a torn tail from a damaged one.
func (r *logScan) checkTail(prepared []segmentScan, lazy bool) error {
	s := r.last
	if s.damage {
		return s.corrupt
	}
	damaged := func(why string, args ...any) error {
		return &CorruptError{File: s.g.path, Offset: s.off, Reason: s.corrupt.Reason + "; " + fmt.Sprintf(why, args...)}
	}
	most := r.next + Position(s.g.size/headerSize) + 1
	var err error
	if r.torn, err = searchClosed(s.g, s.off, r.next, most); err != nil {
		return err
	}
	if r.torn.proof != 0 {
		return damaged("it was durable when the record at offset %d was written", r.torn.proof)
	}
	used, err := r.checkPrepared(prepared, most, lazy)
	if used != nil && used.unreadable {
		err = used.corrupt
	} else if used != nil {
		err = damaged("but the log goes on in %s", used.g.path)
	}
	return err
}

// searchClosed is searchTornTail of a segment that is not open.
func searchClosed(g *segment, off int64, lo, hi Position) (tornTail, error) {
	if err := g.open(false); err != nil {
		return tornTail{}, err
	}
	t, err := searchTornTail(g, off, lo, hi)
	return t, errors.Join(err, g.close())
}

// report returns the exported form of r.
func (r *logScan) report(m meta, degraded bool) Report {
	rep := Report{
		First: m.first, Next: r.next,
		Segments: r.tail + 1, Prepared: len(r.segments) - r.tail - 1,
		Verified:     r.verified,
		Clean:        r.last.closed && !r.torn.exists(r.last.g),
		MetaDegraded: degraded,
	}
	for _, u := range r.useless {
		if u.damaged {
			rep.SetAside++
		}
	}
	if r.torn.exists(r.last.g) {
		rep.Torn = r.torn.report(r.last.g, r.next)
	}
	return rep
}

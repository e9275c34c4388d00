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

// A Report is what was found in a log on Open, or by Verify.
type Report struct {
	First, Next Position // of the first record that is there, and of the next
	Segments    int      // files that have records, or will have the next
	Prepared    int      // files made ready for later
	// Verified is how many bytes of records had their checksums verified.
	Verified int64
	// Clean: the log had been closed, and not used since.
	Clean bool
	// Torn is what a crash had left behind the last whole record, nil if
	// nothing. Open has cut it.
	Torn *Torn
	// HalfMeta: one of the two slots of META was damaged. Open has written it
	// again.
	HalfMeta bool
}

// Torn is the end of a log that a crash has cut off: what was being written,
// none of it acknowledged as durable.
type Torn struct {
	File    string
	Offset  int64 // where it begins
	Bytes   int64 // to the end of what had been written
	Records int   // that were whole, behind one that was not
}

// A folder is what the folder of a log holds, by name.
type folder struct {
	dir     string
	hasMeta bool
	numbers []uint64 // of the segments, ascending
	temps   []string // names of files that were being made
	// irregular is why a name of the log's is not that of a file of the log.
	irregular error
}

func readFolder(dir string) (folder, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return folder{}, fmt.Errorf("wal: %w", err)
	}
	f := folder{dir: dir}
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

func (f folder) path(number uint64) string { return filepath.Join(f.dir, segmentName(number)) }

// split returns the segments that belong to the log. Those before are left
// over from a truncation.
func (f folder) split(m meta) ([]uint64, error) {
	i, _ := slices.BinarySearch(f.numbers, m.segment)
	log := f.numbers[i:]
	if len(log) == 0 && m.sequence == 1 {
		return nil, nil // the log was being made
	}
	for i := range max(len(log), 1) {
		if want := m.segment + uint64(i); i >= len(log) || log[i] != want {
			return nil, &CorruptError{File: f.path(want), Reason: "the segment is missing"}
		}
	}
	return log, nil
}

// A scanned is what was found in one segment.
type scanned struct {
	g       *segment
	once    bool     // only its first record was read
	headed  bool     // it has a record
	first   Position // of its first record
	next    Position // behind its last
	off     int64    // behind its last
	durable int64    // all before was durable when its last record was written

	complete bool          // it has its end record
	closed   bool          // its last record is a closed mark
	corrupt  *CorruptError // what is at off, unless complete
	wrong    bool          // no crash leaves that
}

// scanSegment reads a segment from its first record on; once: only that.
func scanSegment(c *scanner, g *segment, once bool) (scanned, error) {
	s := scanned{g: g, once: once, off: firstOffset, durable: firstOffset}
	for c.reset(g, firstOffset, 0); ; {
		r, err := c.next(g.size)
		if err == errEnd {
			err = c.refused("the segment is full and has no end record")
		}
		if err == errInvalid {
			s.corrupt, s.wrong = c.corrupt(), c.wrong
			return s, nil
		}
		if err != nil {
			return s, err
		}
		if !s.headed {
			s.headed, s.first = true, r.pos
		}
		s.off, s.next, s.durable = r.next, c.pos, max(s.durable, r.durable())
		s.closed = r.typ == typeClosed
		if s.complete = r.typ == typeEnd; s.complete || once {
			return s, nil
		}
	}
}

// scanAll opens and scans segments, as many at once as there are processors,
// and closes them. The error is that of the first, in their order.
func scanAll(f folder, id [16]byte, numbers []uint64, once bool) ([]scanned, error) {
	found := make([]scanned, len(numbers))
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
				g, err := openSegment(f.path(numbers[i]), numbers[i], id)
				if err == nil {
					found[i], err = scanSegment(&c, g, once)
					err = errors.Join(err, g.close())
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

// A finding is what was found in a log that is not damaged.
type finding struct {
	segments []*segment // closed; with their first positions
	tail     int        // index of the last that is in use; behind it are prepared ones
	last     scanned    // the tail
	// before is the segment before the tail, if the tail has no record: then
	// nobody has vouched for its end.
	before   *scanned
	tear     tear // at its end
	next     Position
	verified int64
}

// examine reads the segments of a log and tells where it ends. lazy: only the
// first record of all segments but the last that is in use.
func examine(f folder, m meta, numbers []uint64, lazy bool) (finding, error) {
	found, err := scanAll(f, m.id, numbers, lazy)
	if err != nil {
		return finding{}, err
	}
	r := finding{}
	if lazy {
		last := 0 // that has a record
		for i := range found {
			if found[i].headed {
				last = i
			}
		}
		whole, err := scanAll(f, m.id, numbers[last:last+1], false)
		if err != nil {
			return finding{}, err
		}
		copy(found[last:], whole)
		for i := range last {
			if !found[i].headed {
				return finding{}, found[i].corrupt
			}
			found[i].complete = true // whoever reads it will see
		}
	}
	for i := range found {
		r.segments = append(r.segments, found[i].g)
		r.verified += found[i].off - firstOffset
	}
	for r.tail = 0; found[r.tail].complete; r.tail++ {
		if r.tail+1 == len(found) {
			return finding{}, &CorruptError{File: f.path(numbers[r.tail] + 1), Reason: "the segment is missing: the one before it is complete"}
		}
	}
	if err := chain(found[:r.tail+1], m); err != nil {
		return finding{}, err
	}
	r.last = found[r.tail]
	r.next = r.last.next
	if r.tail > 0 && !r.last.headed {
		r.before = &found[r.tail-1]
	}
	if err := r.checkTail(found[r.tail+1:], lazy); err != nil {
		return finding{}, err
	}
	if r.next < m.next {
		return finding{}, &CorruptError{File: r.last.g.path, Offset: r.last.off,
			Reason: fmt.Sprintf("%s; the log ends before record %d, and once ended before %d", r.last.corrupt.Reason, r.next, m.next)}
	}
	return r, nil
}

// chain holds the positions of the segments in use against each other, and
// sets their first ones.
func chain(found []scanned, m meta) error {
	next := m.first
	for i := range found {
		s := &found[i]
		if !s.headed {
			// Only the last one in use can be without a record.
			s.first, s.next = next, next
		}
		s.g.first = s.first
		ok := s.first == next
		if i == 0 {
			ok = s.first <= m.first
		} else if found[i-1].once {
			ok = s.first >= next // what is behind its first record is not known
		}
		if !ok {
			return &CorruptError{File: s.g.path, Offset: firstOffset,
				Reason: fmt.Sprintf("the segment begins at position %d, not %d", s.first, next)}
		}
		next = s.next
	}
	return nil
}

// checkTail tells a torn end from a damaged one.
func (r *finding) checkTail(prepared []scanned, lazy bool) error {
	s := r.last
	if s.wrong {
		return s.corrupt
	}
	damaged := func(why string, args ...any) error {
		return &CorruptError{File: s.g.path, Offset: s.off, Reason: s.corrupt.Reason + "; " + fmt.Sprintf(why, args...)}
	}
	most := r.next + Position(s.g.size/headerSize) + 1
	var err error
	if r.tear, err = searchClosed(s.g, s.off, r.next, most); err != nil {
		return err
	}
	if r.tear.proof != 0 {
		return damaged("it had been durable when the record at %d was written", r.tear.proof)
	}
	// A segment is complete, durably, before the next one gets a record.
	for _, p := range prepared {
		goesOn := p.headed
		if !goesOn && !lazy {
			most += Position(p.g.size/headerSize) + 1
			t, err := searchClosed(p.g, firstOffset, r.next, most)
			if err != nil {
				return err
			}
			goesOn = t.heads > 0
		}
		if goesOn {
			return damaged("but the log goes on in %s", p.g.path)
		}
	}
	return nil
}

// searchClosed is searchTear of a segment that is not open.
func searchClosed(g *segment, off int64, lo, hi Position) (tear, error) {
	if err := g.open(false); err != nil {
		return tear{}, err
	}
	t, err := searchTear(g, off, lo, hi)
	return t, errors.Join(err, g.close())
}

// report tells what was found.
func (r *finding) report(m meta, half bool) Report {
	rep := Report{
		First: m.first, Next: r.next,
		Segments: r.tail + 1, Prepared: len(r.segments) - r.tail - 1,
		Verified: r.verified,
		Clean:    r.last.closed && !r.tear.torn(r.last.g),
		HalfMeta: half,
	}
	if r.tear.torn(r.last.g) {
		rep.Torn = &Torn{File: r.last.g.path, Offset: r.tear.off, Bytes: r.tear.end(r.last.g) - r.tear.off, Records: r.tear.records}
	}
	return rep
}

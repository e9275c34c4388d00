package wal

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
)

// A State is the state of a segment.
type State string

const (
	// StateLeftover is the state of a truncated segment, to be recycled.
	StateLeftover State = "leftover"
	// StateComplete is the state of a segment with an end record: the log goes
	// on in the next one.
	StateComplete State = "complete"
	// StateActive is the state of the segment in which the log ends.
	StateActive State = "active"
	// StatePrepared is the state of a segment without records, ready for use.
	StatePrepared State = "prepared"
	// StateDamaged is the state of a damaged segment; see SegmentInfo.Err.
	StateDamaged State = "damaged"
)

// A SegmentInfo describes one segment.
type SegmentInfo struct {
	File   string
	Number uint64
	State  State

	Size         int64  // bytes, by the header; of a leftover, those of the file
	Salt         uint64 // of the header
	RecycledFrom uint64 // number that the file had before; 0 if it was not recycled

	First, Last Position // of the whole data records; 0 if there are none
	Records     int64    // whole data records
	Payload     int64    // bytes in them
	End         int64    // offset after the last record of any type
	Closed      bool     // the last record is a closed mark

	// Torn is the torn tail of the active segment, after End. In a log that is
	// open elsewhere it may be a write under way.
	Torn *TornTail
	Err  error // of StateDamaged
}

// A RecordInfo describes one record.
type RecordInfo struct {
	Record         // Data is valid until the next step of the iteration
	Type    string // "data", "end", "closed" or "pad"; only data records have positions of their own
	Segment uint64 // number of its segment
	Offset  int64  // in the segment, in bytes
	Back    int64  // bytes: the segment before Offset-Back was durable when the record was written
}

// An Inspection describes a log, read without changing it.
type Inspection struct {
	Dir string

	// The content of META.
	ID           string
	Version      uint32
	First        Position // the records before it are discarded
	FirstSegment uint64   // number of the first segment of the log
	Sequence     uint64   // times that META was written
	// Reached is the position of the next record when META was last written, at
	// least First: the log had durably reached it.
	Reached Position
	// MetaDegraded is set if one of the two slots of META is damaged.
	MetaDegraded bool
	// MetaErr is set if both slots are damaged or META is missing. Then the
	// fields above are derived from the segments.
	MetaErr error

	f    listing
	meta meta
}

// Inspect reads the log in dir. It writes nothing and takes no lock, so it works
// on a log that another process has open; its result is then a little older than
// the log. It fails if the directory cannot be read or has no log, and for a
// layout that it does not know (*VersionError). Damage is reported by the fields,
// and by Verify.
func Inspect(dir string) (*Inspection, error) {
	f, err := readListing(dir)
	if err != nil {
		return nil, err
	}
	if !f.hasMeta && len(f.numbers) == 0 {
		return nil, pathError("inspect", dir, errNoLog)
	}
	in := &Inspection{Dir: dir, Version: version, f: f}
	in.meta, in.MetaDegraded, in.MetaErr = loadMeta(f)
	if v, ok := errors.AsType[*VersionError](in.MetaErr); ok {
		return nil, v
	}
	if in.MetaErr != nil {
		in.meta = f.guessMeta()
	}
	in.ID = hex.EncodeToString(in.meta.id[:])
	in.First, in.FirstSegment, in.Sequence = in.meta.first, in.meta.segment, in.meta.sequence
	in.Reached = in.meta.next
	return in, nil
}

var errNoLog error = noLogError{}

// A noLogError is that of a directory without a log.
type noLogError struct{}

func (noLogError) Error() string { return "there is no log in this directory" }

func (noLogError) Is(target error) bool { return target == fs.ErrNotExist }

// Verify reads the log in dir and verifies every checksum. It returns the error
// that Open would return for it. It writes nothing and takes no lock; in a log
// that another process has open, a write under way may count as a torn tail.
func Verify(dir string) (Report, error) {
	r, err := verifyOnce(dir)
	// A log in use changes while it is read, but damage stays where it is.
	for range 20 {
		if err == nil && r.SetAside == 0 {
			break
		}
		last, lastErr := r, err
		r, err = verifyOnce(dir)
		if err == nil && lastErr == nil && r.SetAside == last.SetAside || err != nil && lastErr != nil && err.Error() == lastErr.Error() {
			break
		}
	}
	return r, err
}

func verifyOnce(dir string) (Report, error) {
	f, err := readListing(dir)
	if err != nil {
		return Report{}, err
	}
	if !f.hasMeta && len(f.numbers) == 0 {
		return Report{}, pathError("verify", dir, errNoLog)
	}
	if f.irregular != nil {
		return Report{}, f.irregular
	}
	m, degraded, err := loadMeta(f)
	if err != nil {
		return Report{}, err
	}
	l, err := f.split(m)
	if err != nil {
		return Report{}, err
	}
	if len(l.numbers) == 0 {
		return Report{First: m.first, Next: m.first, MetaDegraded: degraded}, nil
	}
	found, err := l.examine(m, false)
	if err != nil {
		return Report{}, err
	}
	return found.report(m, degraded), nil
}

func loadMeta(f listing) (meta, bool, error) {
	path := filepath.Join(f.dir, metaName)
	if !f.hasMeta {
		return meta{}, false, errNoMeta(path)
	}
	file, err := openFile(path, false)
	if err != nil {
		return meta{}, false, err
	}
	defer file.Close()
	m, _, degraded, err := readMeta(file, path)
	return m, degraded, err
}

// guessMeta stands in for a lost META: all segments belong to the log, and its
// id is that of the first one with a readable header.
func (f listing) guessMeta() meta {
	m := meta{first: 1, segment: 1}
	if len(f.numbers) > 0 {
		m.segment = f.numbers[0]
	}
	for _, n := range f.numbers {
		if id, ok := readID(f.path(n)); ok {
			m.id = id
			break
		}
	}
	return m
}

// Segments returns an iterator over the segments in ascending order, leftovers
// first. It reads and verifies each segment of the log.
func (in *Inspection) Segments() iter.Seq[SegmentInfo] {
	return func(yield func(SegmentInfo) bool) {
		var c scanner
		var previous *SegmentInfo // its state depends on the next one
		emit := func(info SegmentInfo) bool {
			ok := true
			if previous != nil {
				in.setStates(&c, previous, &info)
				ok = yield(*previous)
			}
			previous = &info
			return ok
		}
		for i, n := range in.f.numbers {
			info := SegmentInfo{File: in.f.path(n), Number: n, State: StateLeftover}
			if n > in.meta.segment && in.f.numbers[max(i, 1)-1] != n-1 {
				lost := SegmentInfo{File: in.f.path(n - 1), Number: n - 1, State: StateDamaged}
				lost.Err = &CorruptError{File: lost.File, Reason: "the segment is missing"}
				if !emit(lost) {
					return
				}
			}
			if n >= in.meta.segment {
				in.inspect(&c, &info)
			} else if fi, err := os.Lstat(info.File); err == nil && fi.Mode().IsRegular() {
				info.Size = fi.Size()
			} else if err == nil {
				info.State, info.Err = StateDamaged, irregular(info.File, fi.Mode())
			}
			if !emit(info) {
				return
			}
		}
		if previous != nil {
			yield(*previous)
		}
	}
}

// setStates sets the states of two consecutive segments if the log seems to end
// in the first.
func (in *Inspection) setStates(c *scanner, a, b *SegmentInfo) {
	if a.State != StateActive && a.State != StatePrepared {
		return
	}
	used := b.End > firstOffset
	if !used && b.State == StateActive {
		b.State = StatePrepared
	}
	if !used {
		return
	}
	again := SegmentInfo{File: a.File, Number: a.Number}
	in.inspect(c, &again) // it may have been completed meanwhile
	if again.State != StateComplete && again.State != StateLeftover {
		again.State, again.Torn = StateDamaged, nil
		again.Err = &CorruptError{File: a.File, Offset: again.End, Reason: "the segment has no end record, but the log goes on in " + b.File}
	}
	*a = again
}

// inspect fills info. A segment that is not complete counts as active.
func (in *Inspection) inspect(c *scanner, info *SegmentInfo) {
	fail := func(err error) {
		info.State, info.Err = StateDamaged, err
	}
	// Since the directory was read the segment may have been truncated away. If
	// its file was recycled it was renamed first.
	g, err := openSegment(info.File, info.Number, in.meta.id)
	if _, statErr := os.Lstat(info.File); errors.Is(statErr, fs.ErrNotExist) {
		if err == nil {
			g.close()
		}
		info.State = StateLeftover
		return
	}
	if err != nil {
		fail(err)
		return
	}
	defer g.close()
	info.Size, info.Salt, info.RecycledFrom, info.End = g.size, g.salt, g.recycledFrom, firstOffset
	last, err := in.read(c, g, func(r record) bool { info.add(r); return true })
	if !g.hasName() {
		*info = SegmentInfo{File: info.File, Number: info.Number, State: StateLeftover}
		return
	}
	if err != nil {
		fail(err)
		return
	}
	if info.State = StateComplete; !last.complete {
		info.State = StateActive
		if last.torn.exists(g) {
			info.Torn = last.torn.report(g, last.next)
		}
	}
}

func (info *SegmentInfo) add(r record) {
	info.End, info.Closed = r.next, r.typ == typeClosed
	if r.typ != typeData {
		return
	}
	if info.First == 0 {
		info.First = r.pos
	}
	info.Last = r.pos
	info.Records++
	info.Payload += int64(len(r.payload))
}

// A segmentEnd is the end of a segment: an end record, or a torn tail.
type segmentEnd struct {
	complete bool
	torn     tornTail
	next     Position // of the next data record
}

// read calls visit for each record of g until it returns false. Damage is an
// error. A record being written may look like damage, so read retries until it
// makes no progress.
func (in *Inspection) read(c *scanner, g *segment, visit func(record) bool) (segmentEnd, error) {
	c.reset(g, firstOffset, 0)
	stuck := int64(0)
	for {
		r, err := c.next(g.size)
		if err == nil {
			if !visit(r) || r.typ == typeEnd {
				return segmentEnd{complete: r.typ == typeEnd}, nil
			}
			continue
		}
		if err != errInvalid && err != errEnd {
			return segmentEnd{}, err
		}
		corrupt, damage := c.corrupt(), c.damage
		lo := max(c.pos, 1)
		t, err := searchTornTail(g, c.off, lo, lo+Position(g.size/headerSize)+1)
		if err != nil {
			return segmentEnd{}, err
		}
		if !damage && t.proof == 0 {
			return segmentEnd{torn: t, next: lo}, nil
		}
		if stuck == c.off {
			return segmentEnd{}, corrupt
		}
		stuck = c.off
		c.reset(g, c.off, c.pos)
	}
}

// Records returns an iterator over the records from position from on, control
// records included; 0 is the first record. An error ends the iteration: damage,
// or ErrTruncated if the log was truncated meanwhile.
func (in *Inspection) Records(from Position) iter.Seq2[RecordInfo, error] {
	from = max(from, in.meta.first)
	return func(yield func(RecordInfo, error) bool) {
		var c scanner
		first, _ := slices.BinarySearch(in.f.numbers, in.meta.segment)
		for i, n := range in.f.numbers[first:] {
			path := in.f.path(n)
			if want := in.meta.segment + uint64(i); n != want {
				yield(RecordInfo{}, &CorruptError{File: in.f.path(want), Reason: "the segment is missing"})
				return
			}
			g, err := openSegment(path, n, in.meta.id)
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("wal: read %s: %w", path, ErrTruncated) // since Inspect
			}
			if err != nil {
				yield(RecordInfo{}, err)
				return
			}
			stopped := false
			last, err := in.read(&c, g, func(r record) bool {
				if r.pos < from {
					return true
				}
				stopped = !yield(r.info(g), nil)
				return !stopped
			})
			if !stopped && err != nil && !g.hasName() {
				err = fmt.Errorf("wal: read %s: %w", path, ErrTruncated)
			}
			g.close()
			if stopped {
				return
			}
			if err != nil {
				yield(RecordInfo{}, err)
				return
			}
			if !last.complete {
				return
			}
		}
	}
}

// info returns the exported form of r, a record of g.
func (r record) info(g *segment) RecordInfo {
	return RecordInfo{
		Record: Record{Position: r.pos, Data: r.payload}, Type: typeName(r.typ),
		Segment: g.number, Offset: r.off, Back: int64(r.back),
	}
}

func typeName(typ byte) string {
	return [...]string{typeData: "data", typeEnd: "end", typeClosed: "closed", typePad: "pad"}[typ]
}

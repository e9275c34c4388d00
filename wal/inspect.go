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

// A State is what a file of a log is good for.
type State string

const (
	// StateLeftover: before the first segment of the log, to be used again.
	StateLeftover State = "leftover"
	// StateComplete: it has its end record, the log goes on in the next one.
	StateComplete State = "complete"
	// StateActive: the log ends here.
	StateActive State = "active"
	// StatePrepared: made ready for use, it has no records.
	StatePrepared State = "prepared"
	// StateDamaged: SegmentInfo.Err says how.
	StateDamaged State = "damaged"
)

// A SegmentInfo is what Inspect tells of a segment.
type SegmentInfo struct {
	File   string
	Number uint64
	State  State

	// Of the header, but Size of a leftover is that of the file. Was is the
	// number of the file's former life, 0 if it had none.
	Size int64
	Salt uint64
	Was  uint64

	// Of the data records that are whole: their positions, 0 if there are
	// none, how many there are, and the bytes in them.
	First, Last Position
	Records     int64
	Payload     int64
	End         int64 // offset behind the last record of any type
	Closed      bool  // the last is a closed mark

	Torn *Torn // behind End, of the active one; beside a live log also what is being written
	Err  error
}

// A RecordInfo is what Inspect tells of a record.
type RecordInfo struct {
	Record         // Data is valid until the next step of the iteration
	Type    string // "data", "end", "closed", "pad"; only data records have positions of their own
	Segment uint64
	Offset  int64
	Back    int64 // bytes: all of the segment before Offset-Back was durable when it was written
}

// An Inspection is a log that is looked at, and not touched.
type Inspection struct {
	Dir string
	// Of META. First is the position before which all is given up, FirstSegment
	// the first that belongs to the log, Sequence how often META was written.
	ID           string
	Version      uint32
	First        Position
	FirstSegment uint64
	Sequence     uint64
	// HalfMeta: one of its two slots is damaged. MetaErr: both are, or META is
	// missing; then the rest is told as far as the segments say it.
	HalfMeta bool
	MetaErr  error

	f    folder
	meta meta
}

// Inspect looks at the log in dir. It writes nothing and takes no lock, so it
// can be used beside the process that has the log open: then what it tells is
// a little older than the log. The error is that of a folder which cannot be
// read or has no log in it; damage is told in the fields, and by Verify.
func Inspect(dir string) (*Inspection, error) {
	f, err := readFolder(dir)
	if err != nil {
		return nil, err
	}
	if !f.hasMeta && len(f.numbers) == 0 {
		return nil, pathError("inspect", dir, errors.New("there is no log in this folder"))
	}
	in := &Inspection{Dir: dir, Version: version, f: f}
	in.meta, in.HalfMeta, in.MetaErr = loadMeta(f)
	if v, ok := errors.AsType[*VersionError](in.MetaErr); ok {
		return nil, v
	}
	if in.MetaErr != nil {
		in.meta = f.guessMeta()
	}
	in.ID = hex.EncodeToString(in.meta.id[:])
	in.First, in.FirstSegment, in.Sequence = in.meta.first, in.meta.segment, in.meta.sequence
	return in, nil
}

// Verify reads all of the log in dir and verifies every checksum. The error is
// the one that Open would give. It writes nothing and takes no lock; beside
// the process that has the log open it may see as torn what is being written.
func Verify(dir string) (Report, error) {
	r, err := verifyOnce(dir)
	// A log in use changes while it is read. Damage stays where it is.
	for range 20 {
		if err == nil {
			break
		}
		was := err
		if r, err = verifyOnce(dir); err != nil && err.Error() == was.Error() {
			break
		}
	}
	return r, err
}

func verifyOnce(dir string) (Report, error) {
	f, err := readFolder(dir)
	if err != nil {
		return Report{}, err
	}
	if !f.hasMeta && len(f.numbers) == 0 {
		return Report{}, pathError("verify", dir, errors.New("there is no log in this folder"))
	}
	if f.irregular != nil {
		return Report{}, f.irregular
	}
	m, half, err := loadMeta(f)
	if err != nil {
		return Report{}, err
	}
	numbers, err := f.split(m)
	if err != nil {
		return Report{}, err
	}
	if len(numbers) == 0 {
		return Report{First: m.first, Next: m.first, HalfMeta: half}, nil
	}
	found, err := examine(f, m, numbers, false)
	if err != nil {
		return Report{}, err
	}
	return found.report(m, half), nil
}

func loadMeta(f folder) (meta, bool, error) {
	path := filepath.Join(f.dir, metaName)
	if !f.hasMeta {
		return meta{}, false, errNoMeta(path)
	}
	file, err := openFile(path, false)
	if err != nil {
		return meta{}, false, err
	}
	defer file.Close()
	m, _, half, err := readMeta(file, path)
	return m, half, err
}

// guessMeta makes up for a lost META: all the segments are the log, and its id
// is that of the first one that can be read.
func (f folder) guessMeta() meta {
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

// Segments goes through the files of the log, leftovers first, and reads and
// verifies each that belongs to it.
func (in *Inspection) Segments() iter.Seq[SegmentInfo] {
	return func(yield func(SegmentInfo) bool) {
		var c scanner
		var held *SegmentInfo // what it is depends on the one that follows
		put := func(info SegmentInfo) bool {
			ok := true
			if held != nil {
				in.relate(&c, held, &info)
				ok = yield(*held)
			}
			held = &info
			return ok
		}
		for i, n := range in.f.numbers {
			info := SegmentInfo{File: in.f.path(n), Number: n, State: StateLeftover}
			if n > in.meta.segment && in.f.numbers[max(i, 1)-1] != n-1 {
				lost := SegmentInfo{File: in.f.path(n - 1), Number: n - 1, State: StateDamaged}
				lost.Err = &CorruptError{File: lost.File, Reason: "the segment is missing"}
				if !put(lost) {
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
			if !put(info) {
				return
			}
		}
		if held != nil {
			yield(*held)
		}
	}
}

// relate sets the states of two neighbours, of which the log seems to end in
// the first.
func (in *Inspection) relate(c *scanner, a, b *SegmentInfo) {
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
		again.Err = &CorruptError{File: a.File, Offset: again.End, Reason: "it is not complete, but the log goes on in " + b.File}
	}
	*a = again
}

// inspect fills info, as if the log ended in it unless it is complete.
func (in *Inspection) inspect(c *scanner, info *SegmentInfo) {
	fail := func(err error) {
		info.State, info.Err = StateDamaged, err
	}
	// Since the folder was read it may have been truncated away, and used
	// again: then it was renamed first.
	g, err := openSegment(info.File, info.Number, in.meta.id)
	if _, gone := os.Lstat(info.File); errors.Is(gone, fs.ErrNotExist) {
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
	info.Size, info.Salt, info.Was, info.End = g.size, g.salt, g.was, firstOffset
	last, err := in.read(c, g, func(r record) bool { info.add(r); return true })
	if !g.named() {
		*info = SegmentInfo{File: info.File, Number: info.Number, State: StateLeftover}
		return
	}
	if err != nil {
		fail(err)
		return
	}
	if info.State = StateComplete; !last.complete {
		info.State = StateActive
		if t := last.tear; t.torn(g) {
			info.Torn = &Torn{File: g.path, Offset: t.off, Bytes: t.end(g) - t.off, Records: t.records}
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

// An ending is how a segment ends.
type ending struct {
	complete bool
	tear     tear
}

// read gives see the records of g, until it returns false. Damage is an error.
// Where a record that is being written looks like damage, it reads on once
// it is there.
func (in *Inspection) read(c *scanner, g *segment, see func(record) bool) (ending, error) {
	c.reset(g, firstOffset, 0)
	stuck := int64(0)
	for {
		r, err := c.next(g.size)
		if err == nil {
			if !see(r) || r.typ == typeEnd {
				return ending{complete: r.typ == typeEnd}, nil
			}
			continue
		}
		if err != errInvalid && err != errEnd {
			return ending{}, err
		}
		corrupt, wrong := c.corrupt(), c.wrong
		lo := max(c.pos, 1)
		t, err := searchTear(g, c.off, lo, lo+Position(g.size/headerSize)+1)
		if err != nil {
			return ending{}, err
		}
		if !wrong && t.proof == 0 {
			return ending{tear: t}, nil
		}
		if stuck == c.off {
			return ending{}, corrupt
		}
		stuck = c.off
		c.reset(g, c.off, c.pos)
	}
}

// Records goes through the records of the log from the position from on,
// control records included; 0 is the first that is there. An error, that of
// damage included, is the last step; ErrTruncated: meanwhile.
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
				err = fmt.Errorf("wal: %s: %w", path, ErrTruncated) // meanwhile
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
				stopped = !yield(RecordInfo{
					Record: Record{Position: r.pos, Data: r.payload}, Type: typeName(r.typ),
					Segment: n, Offset: r.off, Back: int64(r.back),
				}, nil)
				return !stopped
			})
			if !stopped && err != nil && !g.named() {
				err = fmt.Errorf("wal: %s: %w", path, ErrTruncated)
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

func typeName(typ byte) string {
	return [...]string{typeData: "data", typeEnd: "end", typeClosed: "closed", typePad: "pad"}[typ]
}

package logstore

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/logstore/internal/segment2"
	"github.com/stele-go/stele/wal"
)

// errIO is the error of a disk that fails to read.
const errIO = syscall.EIO

// A repairSegment is what a repair must know of a segment.
type repairSegment struct {
	file       string
	positions  PositionRange
	generation uint32
	info       segment2.Info // zero if the index is damaged
	indexErr   error         // the index is damaged, or misnamed
	misnamed   bool          // its content belongs under another name
	verdict    catalog.Verdict
	served     bool // by Open, as it is
}

// surveySegments opens all segments. Other errors than damage are those that Open would return.
func surveySegments(ctx context.Context, files []string) (segs []repairSegment, err error) {
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name, ok := catalog.ParseName(filepath.Base(file))
		if !ok {
			continue // as Open does
		}
		s := repairSegment{file: file, positions: PositionRange{name.After + 1, name.Upto}, generation: name.Generation}
		seg, err := InspectSegment(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil && !isSegmentDamage(err):
			return nil, err
		case err != nil:
			s.indexErr = err
		default:
			s.indexErr = seg.Err
			if seg.Err == nil {
				s.info = seg.content.info()
			}
			if seg.Err == nil && (seg.After != name.After || seg.Upto != name.Upto || seg.Generation != name.Generation) {
				s.misnamed = true
				s.indexErr = &CorruptError{File: file, Reason: fmt.Sprintf("its content belongs under the name %016x-%016x-%08x", seg.After, seg.Upto, seg.Generation)}
			}
			if err := seg.Close(); err != nil {
				return nil, err
			}
		}
		segs = append(segs, s)
	}
	return segs, nil
}

func isSegmentDamage(err error) bool {
	_, ok := errors.AsType[*CorruptError](err)
	return ok
}

// holding returns what is known of the segment: of one with a damaged index, its name.
func (s *repairSegment) holding() catalog.Holding {
	return catalog.HoldingOf(s.positions.First-1, s.positions.Last, s.generation, s.info)
}

// judgeSegments sets the verdict of each segment, and returns why Open refuses the
// store, or nil.
func judgeSegments(segs []repairSegment, p *provenance) (refused error) {
	var named []*repairSegment
	var list []catalog.Holding
	for i := range segs {
		s := &segs[i]
		s.served, s.verdict = false, catalog.Verdict{}
		if s.misnamed {
			if isOtherLog(s.info.Log, p.log) {
				s.verdict = catalog.Verdict{Other: true, Aside: s.indexErr.(*CorruptError).Reason}
			}
			continue
		}
		named, list = append(named, s), append(list, s.holding())
	}
	verdicts, refused := p.judge(list)
	for i, v := range verdicts {
		named[i].verdict = v
	}
	serve(segs)
	return refused
}

// serve decides as package catalog does: of overlapping segments one is served, and none
// that is not of the log in place of one that is.
func serve(segs []repairSegment) {
	slices.SortFunc(segs, func(a, b repairSegment) int {
		span := func(s repairSegment) uint64 { return s.positions.Last - s.positions.First }
		if a.verdict.Other != b.verdict.Other {
			if b.verdict.Other {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.generation, a.generation), cmp.Compare(span(b), span(a)),
			cmp.Compare(a.info.Created, b.info.Created), cmp.Compare(a.file, b.file))
	})
	var held positionSet
	for i := range segs {
		s := &segs[i]
		if s.indexErr != nil || s.verdict.Aside != "" {
			continue
		}
		if left := held.without(s.positions); left.count() == s.positions.Last-s.positions.First+1 {
			s.served = true
			held = union(append(held, s.positions))
		} else if s.verdict.Other {
			s.verdict.Aside = "it is of another log, and its positions overlap those of another segment"
		}
	}
}

// servedUpto returns the highest position of the segments of the log that Open would
// serve as they are.
func servedUpto(segs []repairSegment) (n uint64) {
	for _, s := range segs {
		if s.served && !s.verdict.Other {
			n = max(n, s.positions.Last)
		}
	}
	return n
}

// uptoWith returns the highest position that Open would not replay, if the log had
// the given positions intact. A segment with a damaged index is salvaged, unless
// the log has all of it: then that is replayed.
func uptoWith(segs []repairSegment, intact positionSet) uint64 {
	n := servedUpto(segs)
	for _, s := range segs {
		if s.indexErr != nil && !s.misnamed && !intact.has(s.positions) {
			n = max(n, s.positions.Last)
		}
	}
	return n
}

// newestLog returns the ID of the log that the newest segment is of; zero if none
// says that.
func newestLog(segs []repairSegment) (id [16]byte) {
	last := uint64(0)
	for _, s := range segs {
		if s.info.Log != [16]byte{} && !s.misnamed && s.positions.Last > last {
			id, last = s.info.Log, s.positions.Last
		}
	}
	return id
}

// heldBy returns the positions that the segments of the log have.
func heldBy(segs []repairSegment) positionSet {
	var all []PositionRange
	for _, s := range segs {
		if !s.verdict.Other && !s.misnamed {
			all = append(all, s.positions)
		}
	}
	return union(all)
}

// A logSurvey is what can be told of a damaged log.
type logSurvey struct {
	id             [16]byte
	first, reached uint64
	metaLost       bool // so first and reached are guesses

	intact  positionSet
	damage  []LogDamage
	openEnd bool // the last damage has no intact record behind it

	// Intact records with entries up to position floor that no segment has.
	givenUp        positionSet
	givenUpEntries int64

	// Of the intact records above position floor:
	floor   uint64
	entries int64
	bytes   int64 // heads included
	largest int64 // without its head
}

// surveyLog reads all that is intact of the log in dir. Segments have the positions held,
// and what is up to floor is not replayed.
func surveyLog(ctx context.Context, dir string, floor uint64, held positionSet, m *meter) (*logSurvey, error) {
	in, err := wal.Inspect(dir)
	if err != nil {
		return nil, err
	}
	l := &logSurvey{first: uint64(in.First), reached: uint64(in.Reached), metaLost: in.MetaErr != nil, floor: floor}
	if l.metaLost {
		l.reached = 0
	}
	if id, err := hex.DecodeString(in.ID); err == nil && len(id) == len(l.id) {
		l.id = [16]byte(id)
	}
	var set rowSet
	for r, err := range in.Salvage(0) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			if err := l.addDamage(in.Dir, err); err != nil {
				return nil, err
			}
			continue
		}
		l.endDamage(r)
		if r.Type != dataRecord {
			continue
		}
		l.intact.add(uint64(r.Position))
		if m != nil {
			m.add(logFile(dir, r.Segment), logHead+len(r.Data))
		}
		pos := uint64(r.Position)
		if pos <= floor && (pos < l.first || l.metaLost || held.has(PositionRange{pos, pos})) {
			continue // sealed
		}
		if err := set.parse(r.Data, func([]byte) *stream { return nil }); err != nil {
			return nil, fmt.Errorf("position %d: %w", r.Position, err)
		}
		if pos <= floor {
			if n := len(set.rows); n > 0 {
				l.givenUp.add(pos)
				l.givenUpEntries += int64(n)
			}
			continue
		}
		l.entries += int64(len(set.rows))
		l.bytes += logHead + int64(len(r.Data))
		l.largest = max(l.largest, int64(len(r.Data)))
	}
	return l, nil
}

const (
	dataRecord = "data" // wal.RecordInfo.Type
	logHead    = 24     // bytes of a record's head in a log
)

// logFile returns the path of a file of the log.
func logFile(dir string, number uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%016d.wal", number))
}

// addDamage adds an error of Salvage. It returns those that are no damage.
func (l *logSurvey) addDamage(dir string, err error) error {
	d := LogDamage{File: dir, Reason: err.Error()}
	if c, ok := errors.AsType[*wal.CorruptError](err); ok {
		d = LogDamage{File: c.File, Offset: c.Offset, Reason: c.Reason}
	} else if !isLogDamage(err) {
		return err
	} else if p, ok := errors.AsType[*fs.PathError](err); ok {
		d.File = p.Path
	}
	l.damage = append(l.damage, d)
	l.openEnd = true
	return nil
}

// endDamage notes where a record is intact again.
func (l *logSurvey) endDamage(r wal.RecordInfo) {
	if !l.openEnd {
		return
	}
	l.openEnd = false
	last := &l.damage[len(l.damage)-1]
	if filepath.Base(last.File) == filepath.Base(logFile("", r.Segment)) && last.Offset < r.Offset {
		last.End = r.Offset
	}
}

// logOf returns what the log in dir says of the segments of the store.
func logOf(store, dir string) *provenance {
	in, err := wal.Inspect(dir)
	if err != nil {
		return (&logContents{unread: unreadLog(err)}).provenance(store, [16]byte{}, 0, 0)
	}
	var id [16]byte // zero if META is damaged
	if b, err := hex.DecodeString(in.ID); err == nil && len(b) == len(id) {
		id = [16]byte(b)
	}
	v := salvageContents(dir)
	first := uint64(in.First)
	if first == 0 || in.MetaErr != nil && v.first != 0 { // it is a guess
		first = v.first
	}
	return v.provenance(store, id, first, max(first, v.last+1))
}

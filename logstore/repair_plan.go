package logstore

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/wal"
)

// RepairOptions are the settings of PlanRepair and Repair.
type RepairOptions struct {
	// Quick reads the ends of the segments only. By default every block is
	// verified.
	Quick bool
	// Progress, unless nil, is called now and then, never concurrently.
	Progress func(VerifyProgress)
	// Confirm, unless nil, is called by Repair with the plan, before anything is
	// changed and while no process can open the store. Repair returns its error.
	Confirm func(*RepairPlan) error
	// AcceptMissing gives up the segments of RepairPlan.Missing, for good: those that
	// nobody can bring back. Then Open tells them no longer, and OpenReadOnly and
	// Snapshot take the store for whole. It is for Repair; PlanRepair tells the same.
	AcceptMissing bool

	// For tests: called before each step, and no exchange of names.
	step       func(name string) error
	twoRenames bool
	statfs     func(string) (sys.FSInfo, error)
}

// A RepairPlan says why Open refuses a store, what Repair would keep of it, and
// what it would give up.
type RepairPlan struct {
	Dir, LogDir string

	// Refused is why Open refuses the store; nil if it does not, or only until
	// Repair completes an earlier repair. Then there is nothing else to repair: Open
	// itself salvages damaged segments, and serves what there is beside missing ones.
	Refused error
	// Interrupted reports an earlier repair that had made a new log and has not
	// moved the old one to quarantine, or not said so there. Repair completes it.
	Interrupted bool

	// LogID identifies the log in hexadecimal: by the log, else by the segments. The
	// new log has the same. It is "" if nothing tells it, or if Open does not refuse
	// the store.
	LogID string
	// LogMissing reports that there is no log at all.
	LogMissing bool
	// LogDamage lists the damaged places of the log, by file.
	LogDamage []LogDamage
	// Torn reports whole records in the torn tail of a log that Open does not refuse: it
	// would cut them, and keep a copy in quarantine. A repair does nothing about them.
	// nil if there are none.
	Torn *TornTailError

	// Lost are the positions of the log that Repair gives up: they are damaged or
	// missing, and no segment has them. How many entries each had is not known.
	Lost []PositionRange
	// OpenEnd reports that records behind the last of the log may be lost too:
	// nothing tells how many.
	OpenEnd bool
	// Deletions are pending deletions that can be read in the log, and that Repair gives
	// up, so that entries whose bytes are left are found again: delete them again. Where
	// something is lost, other deletions may have been, too, which nothing tells.
	Deletions []Deletion
	// Covered counts the damaged positions that segments have: nothing of those
	// is lost.
	Covered uint64
	// Kept are the positions of intact records that no segment has. Repair keeps
	// them, with KeptEntries entries in KeptBytes bytes of records.
	Kept        []PositionRange
	KeptEntries int64
	KeptBytes   int64
	// The new log begins at position First. Next is that of the next record.
	First, Next uint64

	// GivenUp are the positions of intact records, with GivenUpEntries entries, that no
	// segment has and that cannot be kept: they lie below positions of segments, and Open
	// would not replay them. The old log in quarantine has them.
	GivenUp        []PositionRange
	GivenUpEntries int64
	// LogKept reports that the log is sound and stays as it is: Open refuses the store
	// for its segments, and Repair sets those aside.
	LogKept bool
	// OtherLog lists the segments that are not of the log. Those that are not served
	// Repair moves to quarantine, or Open does if it does not refuse the store. Import
	// can append the entries of a segment in quarantine.
	OtherLog []*OtherLogError

	// Missing lists the segments that the log expects and that are not there, or
	// positions of them, as far as the log can be read. No repair gives them back:
	// only a copy of the file or a snapshot has their entries. Import puts the file
	// back in its place, and RepairOptions.AcceptMissing gives it up.
	Missing []*MissingError
	// Segments lists the damaged segments.
	Segments []SegmentDamage
	// SegmentCount counts all segments, SegmentUpto is the highest position that
	// they have.
	SegmentCount int
	SegmentUpto  uint64

	// Need is how many bytes the new log takes while the old one is still there.
	// Free is how many the file system has, -1 if that is not known.
	Need, Free int64

	// Quarantine is where Repair has moved the old log; its report has the same
	// name and the suffix .txt. It is "" until Repair is done.
	Quarantine string
	// Accepted is the report on the segments that RepairOptions.AcceptMissing has given
	// up. It is "" until then.
	Accepted string

	largest int64    // bytes of the longest record that is kept
	id      [16]byte // LogID
}

// A LogDamage is a damaged place of the log. The bytes from Offset to before End
// cannot be read; if End is 0, those to the end of the file.
type LogDamage struct {
	File        string
	Offset, End int64
	Reason      string
}

// A SegmentDamage describes a damaged segment. Open salvages what is intact.
type SegmentDamage struct {
	File string
	// Readable entries are in intact blocks, Lost ones in damaged blocks. If the
	// index is damaged (IndexErr), there may be more of the latter.
	Readable, Lost int64
	IndexErr       error
	// Replayed reports that the log has all records of the segment, so that none
	// of its entries is lost.
	Replayed bool
	Damage   []error
}

// LostPositions returns how many positions are given up.
func (p *RepairPlan) LostPositions() uint64 { return positionSet(p.Lost).count() }

// KeptRecords returns how many records of the log are kept.
func (p *RepairPlan) KeptRecords() uint64 { return positionSet(p.Kept).count() }

// PlanRepair reads the store in dir and returns what Repair would do. It writes
// nothing.
//
// The errors are ErrLocked, if a process has the store open; that of ctx; that of
// a directory that holds no store, or of the file system; and that of a file of a
// later version. Damage is in the plan.
func PlanRepair(ctx context.Context, dir string, o RepairOptions) (*RepairPlan, error) {
	err := walError(wal.Locked(filepath.Join(dir, logDir)))
	var p *RepairPlan
	if err == nil {
		p, err = planRepair(ctx, dir, o)
	}
	if err != nil {
		return nil, fmt.Errorf("logstore: plan the repair of %s: %w", dir, err)
	}
	return p, nil
}

func planRepair(ctx context.Context, dir string, o RepairOptions) (*RepairPlan, error) {
	if err := checkWhole(dir); err != nil {
		return nil, err
	}
	p := &RepairPlan{Dir: dir, LogDir: filepath.Join(dir, logDir), Free: -1}
	files, err := segmentFiles(dir)
	if err != nil {
		return nil, err
	}
	segs, err := surveySegments(ctx, files)
	if err != nil {
		return nil, err
	}
	p.SegmentCount = len(segs)
	if p.Interrupted, err = interrupted(dir); err != nil {
		return nil, err
	}
	if new, err := unplaced(dir); err != nil {
		return nil, err
	} else if new {
		p.LogDir = filepath.Join(dir, repairDir)
	}
	c, err := compareSegments(dir, p.LogDir)
	if err != nil {
		return nil, err
	}
	p.Missing = c.missing
	m := &meter{report: o.Progress}
	if err := p.planLog(ctx, segs, m); err != nil {
		return nil, err
	}
	if p.Refused == nil && c.unread != nil { // so perhaps more is missing
		return nil, c.unread
	}
	p.planDeletions(segs)
	if err := p.planSegments(ctx, segs, o, m); err != nil {
		return nil, err
	}
	statfs := o.statfs
	if statfs == nil {
		statfs = sys.StatFS
	}
	if info, err := statfs(dir); err == nil {
		p.Free = info.Free
	}
	return p, nil
}

// planLog finds out whether Open refuses the log, what is intact of it, and which
// segments are not of it.
func (p *RepairPlan) planLog(ctx context.Context, segs []repairSegment, m *meter) error {
	of := logOf(p.Dir, p.LogDir)
	refused := judgeSegments(segs, of)
	if err := p.planSound(ctx, segs, of, refused, m); err != nil {
		return err
	}
	if p.Refused != nil && !p.LogKept { // what Open will find
		of.log, of.first, of.next = p.id, p.First, p.Next
		if len(p.Kept) == 0 {
			of = new(logContents).provenance(p.Dir, p.id, p.First, p.Next)
		}
		refused = judgeSegments(segs, of)
	}
	for i := range segs {
		s := &segs[i]
		if refused != nil && s.verdict.Other && s.verdict.Aside == "" {
			s.verdict.Aside = fmt.Sprintf("it is of the log %x, and this is the log %x", s.info.Log, of.log)
		}
		if s.verdict.Other {
			p.OtherLog = append(p.OtherLog, of.otherLogError(s.file, s.holding(), s.verdict))
		} else if !s.misnamed {
			p.SegmentUpto = max(p.SegmentUpto, s.positions.Last)
		}
	}
	slices.SortFunc(p.OtherLog, func(a, b *OtherLogError) int { return cmp.Compare(a.File, b.File) })
	return nil
}

// planSound looks at a log that is sound, or missing, and plans a new one if it is not.
// refused is why Open refuses the segments beside it, or nil.
func (p *RepairPlan) planSound(ctx context.Context, segs []repairSegment, of *provenance, refused error, m *meter) error {
	rep, err := wal.Verify(p.LogDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if len(segs) == 0 {
			return checkLog(p.Dir) // nil: Open creates a log
		}
		p.LogMissing, p.Refused = true, goneError(p.LogDir)
		p.beginLog(segs)
		return nil
	case err != nil && !isLogDamage(err):
		return err
	case err == nil:
		if of.unread != nil { // of says too little of a log that is sound
			return of.unread
		}
		var whole positionSet
		if rep.First < rep.Next {
			whole = positionSet{{uint64(rep.First), uint64(rep.Next) - 1}}
		}
		p.First, p.Next = uint64(rep.First), uint64(rep.Next)
		upto := uptoWith(segs, whole)
		if refused != nil && of.empty {
			p.Refused = refused
			p.beginLog(segs)
			return nil
		}
		if upto < p.Next {
			if p.Refused = refused; refused == nil {
				p.Torn = tornTailError(rep.Torn)
				return nil
			}
			p.LogKept = true
			return p.countKept(ctx, segs, upto)
		}
		p.OpenEnd = true
		err = cmp.Or(refused, behindError(upto, p.Next))
	}
	p.Refused = err
	held := heldBy(segs)
	l, err := surveyLog(ctx, p.LogDir, servedUpto(segs), held, m)
	if err != nil {
		return err
	}
	if upto := uptoWith(segs, l.intact); upto > l.floor {
		if l, err = surveyLog(ctx, p.LogDir, upto, held, nil); err != nil {
			return err
		}
	}
	p.judge(l, segs)
	return nil
}

// countKept counts what a sound log that is kept has above position upto.
func (p *RepairPlan) countKept(ctx context.Context, segs []repairSegment, upto uint64) error {
	l, err := surveyLog(ctx, p.LogDir, upto, heldBy(segs), nil)
	if err == nil {
		p.Kept, p.KeptEntries, p.KeptBytes = l.intact.from(upto+1), l.entries, l.bytes
		p.setID(l.id)
	}
	return err
}

// beginLog plans a new log behind the segments, without a record: there is none.
func (p *RepairPlan) beginLog(segs []repairSegment) {
	p.OpenEnd = true
	p.setID(newestLog(segs))
	p.First = uptoWith(segs, nil) + 1
	p.Next = p.First
}

// judge sets what is kept and what is lost of a log that Open refuses.
func (p *RepairPlan) judge(l *logSurvey, segs []repairSegment) {
	p.LogDamage = l.damage
	p.OpenEnd = p.OpenEnd || l.openEnd
	p.KeptEntries, p.KeptBytes, p.largest = l.entries, l.bytes, l.largest
	p.GivenUp, p.GivenUpEntries = l.givenUp, l.givenUpEntries
	kept := l.intact.from(l.floor + 1)
	p.Kept = kept
	p.setID(l.id)
	if id := newestLog(segs); id != [16]byte{} && (len(kept) == 0 || l.id == [16]byte{}) {
		p.setID(id) // the log may be one that was made where the right one is gone
	}

	p.setLost(l, segs)
	p.First = p.Next
	if len(kept) > 0 {
		p.First = kept[0].First
	}
	p.Need = p.newLogBytes()
}

func (p *RepairPlan) setID(id [16]byte) {
	if p.id = id; id != [16]byte{} {
		p.LogID = hex.EncodeToString(id[:])
	}
}

// setLost sets Next, Lost and Covered.
func (p *RepairPlan) setLost(l *logSurvey, segs []repairSegment) {
	begin, end := l.first, l.reached // known bounds of the old log
	if n := len(l.intact); n > 0 {
		end = max(end, l.intact[n-1].Last+1)
		if l.metaLost {
			begin = l.intact[0].First
		}
	}
	if l.metaLost && len(segs) > 0 { // what it had before may have been truncated
		begin = l.floor + 1
	}
	p.Next = max(end, l.floor+1)
	if begin >= end {
		return
	}
	held := heldBy(segs)
	for _, r := range l.intact.without(PositionRange{begin, end - 1}) {
		lost := held.without(r)
		p.Lost = append(p.Lost, lost...)
		p.Covered += r.Last - r.First + 1 - lost.count()
	}
}

// interrupted reports whether an earlier repair was interrupted after its new log
// was complete: DIR/wal has the mark then, or DIR/wal.repair is the old log, or the
// new one without a place. Without the mark and files of a log, DIR/wal.repair is one
// that was just being made.
func interrupted(dir string) (bool, error) {
	if _, err := os.Lstat(filepath.Join(dir, logDir, repairMark)); err == nil {
		return true, nil
	}
	entries, err := os.ReadDir(filepath.Join(dir, repairDir))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	marked, old := false, false
	for _, e := range entries {
		marked = marked || e.Name() == repairMark
		old = old || e.Name() == "LOCK" || e.Name() == "META" || filepath.Ext(e.Name()) == ".wal"
	}
	if !marked {
		return old, nil
	}
	return unplaced(dir)
}

// unplaced reports whether a repair was interrupted between its two renames.
func unplaced(dir string) (bool, error) {
	if checkInterrupted(dir) == nil {
		return false, nil
	}
	name, _, err := readMark(filepath.Join(dir, repairDir))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		_, err = os.Lstat(filepath.Join(dir, catalog.QuarantineDir, name))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // it was not complete, and the log is gone for another reason
	}
	return err == nil, err
}

// isLogDamage reports whether an error of package wal is damage, or a disk that
// does not return what was written to it.
func isLogDamage(err error) bool {
	if _, ok := errors.AsType[*wal.CorruptError](err); ok {
		return true
	}
	return errors.Is(err, errIO)
}

// behindError is the error of a log that ends before positions that segments
// have.
func behindError(upto, next uint64) error {
	return fmt.Errorf("segments hold positions up to %d of the log, but the log ends before %d: it is another log, or an old copy; bring back the right directory %s, or let stele repair make one",
		upto, next, logDir)
}

package logstore

import (
	"cmp"
	"slices"
	"time"

	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/wal"
)

// A deletionSurvey finds out which deletions that a log has are pending: the log keeps
// one until a seal after it was applied.
type deletionSurvey struct {
	found   []*surveyedDeletion
	missing []rosterEntry // that the log expects
}

// A surveyedDeletion is one that may be pending.
type surveyedDeletion struct {
	*deletion
	logged uint64   // position of the last record before it that has entries, 0 without one
	files  []string // segments that may have its entries
}

// surveyDeletions reads what is intact of the log in dir.
func surveyDeletions(dir string) (v deletionSurvey) {
	in, err := wal.Inspect(dir)
	if err != nil {
		return v // Inspection.LogErr
	}
	var log logContents
	for rec, err := range in.Salvage(0) {
		if err != nil || rec.Type != dataRecord {
			continue
		}
		pos, known := uint64(rec.Position), len(log.deletions)
		_ = log.add(pos, rec.Data)                                         // a record that does not parse has no deletion
		for _, p := range log.deletions[min(known, len(log.deletions)):] { // some may be cancelled
			i := slices.IndexFunc(v.found, func(d *surveyedDeletion) bool { return d.Position == p.Position })
			if i >= 0 { // once more, perhaps as it is final
				v.found[i].final.Store(v.found[i].final.Load() || p.final.Load())
				continue
			}
			d := &surveyedDeletion{deletion: p}
			if pos == p.Position { // else all before it are sealed
				d.logged = log.entries
			}
			v.found = append(v.found, d)
		}
	}
	v.missing = log.expected
	left := withoutCovered(log.deletions)
	v.found = slices.DeleteFunc(v.found, func(d *surveyedDeletion) bool { return !slices.Contains(left, d.deletion) })
	return v
}

// segment notes which deletions a segment may have entries of.
func (v *deletionSurvey) segment(s *SegmentInspection) {
	info := s.content.info()
	for _, d := range v.found {
		if !d.Meets(&info) {
			continue
		}
		if x, ok := s.content.(*indexContent); !ok || x.index.MaySelect(d.Drop.Tenant, d.Conditions) {
			d.files = append(d.files, s.File)
		}
	}
}

// pending returns the deletions of which there may still be entries, in the segments, in
// the log behind them, or in segments of the store in dir that are missing.
func (v *deletionSurvey) pending(dir string, segments []SegmentInfo) (list []PendingDeletion) {
	held, upto := marksIn(dir), uint64(0)
	for _, s := range segments {
		held = append(held, catalog.Holding{After: s.After, Upto: s.Upto})
		upto = max(upto, s.Upto)
	}
	missing := without(v.missing, held)
	for _, d := range v.found {
		p := PendingDeletion{Deletion: d.Deletion.clone(), Position: d.Position, Time: time.Unix(d.when, 0), Applied: d.final.Load()}
		for _, s := range segments {
			if !s.Leftover && slices.Contains(d.files, s.File) {
				p.Segments++
				p.Bytes += s.Size
			}
		}
		if p.Segments > 0 || d.logged > upto || slices.ContainsFunc(missing, d.mayBeIn) {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b PendingDeletion) int { return cmp.Compare(a.Position, b.Position) })
	return list
}

package logstore

import (
	"context"
	"errors"
	"slices"
)

// planSegments lists the damaged segments.
func (p *RepairPlan) planSegments(ctx context.Context, segs []repairSegment, o RepairOptions, m *meter) error {
	var verdicts []SegmentVerdict
	if !o.Quick {
		var files []string
		for _, s := range segs {
			files = append(files, s.file)
		}
		slices.Sort(files)
		report := o.Progress
		if report != nil {
			report = func(v VerifyProgress) { v.Done += m.done; o.Progress(v) }
		}
		var err error
		if verdicts, err = verifySegments(ctx, files, report); err != nil {
			return err
		}
	}
	for _, s := range segs {
		if s.misnamed && s.verdict.Other {
			continue // it is in OtherLog
		}
		d := SegmentDamage{File: s.file, IndexErr: s.indexErr}
		if i := slices.IndexFunc(verdicts, func(v SegmentVerdict) bool { return v.File == s.file }); i >= 0 {
			d.Damage = verdicts[i].Damage
		}
		if len(d.Damage) == 0 && d.IndexErr == nil {
			continue
		}
		if d.IndexErr != nil && len(d.Damage) == 0 {
			d.Damage = []error{d.IndexErr}
		}
		d.Replayed = d.IndexErr != nil && s.positions.First > servedUpto(segs) && p.hasInLog(s.positions)
		if err := d.countRows(); err != nil {
			return err
		}
		p.Segments = append(p.Segments, d)
	}
	slices.SortFunc(p.Segments, func(a, b SegmentDamage) int {
		if a.File < b.File {
			return -1
		}
		return 1
	})
	return nil
}

// hasInLog reports whether the log, as Open will find it, has all positions of r.
func (p *RepairPlan) hasInLog(r PositionRange) bool {
	if p.Refused == nil {
		return p.First <= r.First && r.Last < p.Next
	}
	return positionSet(p.Kept).has(r)
}

// countRows counts the entries in damaged blocks, and in others.
func (d *SegmentDamage) countRows() error {
	s, err := InspectSegment(d.File)
	if err != nil {
		return ignoreDamage(err) // no block is readable
	}
	defer s.Close()
	for b, err := range s.EachBlock() {
		if err != nil {
			return ignoreDamage(err)
		}
		damaged := slices.ContainsFunc(d.Damage, func(err error) bool {
			c, ok := errors.AsType[*CorruptError](err)
			return ok && b.Offset <= c.Offset && c.Offset < b.Offset+b.Bytes
		})
		if damaged {
			d.Lost += b.Rows
		} else {
			d.Readable += b.Rows
		}
	}
	return nil
}

func ignoreDamage(err error) error {
	if isSegmentDamage(err) {
		return nil
	}
	return err
}

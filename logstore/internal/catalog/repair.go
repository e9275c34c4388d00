package catalog

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/stele-go/stele/logstore/internal/segment"
)

func (s *Shelf) path(f *file) string { return filepath.Join(s.dir, SegmentFolder, f.name) }

// toRepair returns a damaged file, nil if there is none, or it is not yet time
// to try again.
func (s *Shelf) toRepair() *file {
	now := s.o.Now()
	due := func(f *file) bool { return f.damage.Load() != nil && !now.Before(f.retry) }
	for _, list := range [][]*file{s.broken, s.now.Load().order} {
		if i := slices.IndexFunc(list, due); i >= 0 {
			return list[i]
		}
	}
	return nil
}

// repair salvages what is intact of a damaged file into a segment that takes
// its place, and has the damaged one go into quarantine. If it fails nothing
// has changed, and the file is left alone for a while.
func (s *Shelf) repair(ctx context.Context, f *file) error {
	err := s.salvage(ctx, f)
	if err == nil || ctx.Err() != nil {
		return err
	}
	f.retry = s.o.Now().Add(retryAfter)
	return fmt.Errorf("shelf: salvaging %s: %w", f.name, err)
}

// errIntact and errNothing end the writing of a salvage.
var (
	errIntact  = errors.New("nothing is damaged")
	errNothing = errors.New("nothing is intact")
)

// salvage reads by the index first, and where that is damaged by what blocks
// say of themselves.
func (s *Shelf) salvage(ctx context.Context, f *file) error {
	err := errNoIndex
	if !slices.Contains(s.broken, f) {
		err = s.salvageIndexed(ctx, f)
	}
	if isCorrupt(err) || err == errNoIndex {
		err = s.salvageScanned(ctx, f)
	}
	return err
}

var errNoIndex = errors.New("the index is damaged")

func isCorrupt(err error) bool {
	_, ok := errors.AsType[*segment.CorruptError](err)
	return ok
}

func (s *Shelf) salvageIndexed(ctx context.Context, f *file) error {
	h, err := s.table.use(f)
	if err != nil {
		return err
	}
	defer h.done()
	return s.salvageSegment(ctx, f, h.seg, nil)
}

func (s *Shelf) salvageScanned(ctx context.Context, f *file) error {
	src, err := openSource(s.path(f), s.o.Profile)
	if err != nil {
		return err
	}
	defer src.Close()
	size, err := src.Size()
	if err != nil {
		return err
	}
	info := segment.Info{After: f.span.after, Upto: f.span.upto, Generation: f.span.generation, Created: s.o.Now().UnixNano()}
	seg, lost, err := segment.Scan(ctx, src, size, info)
	lost = append([]error{f.damage.Load()}, lost...)
	switch {
	case isCorrupt(err):
		return s.salvageSegment(ctx, f, nil, append(lost, err))
	case err != nil:
		return err
	}
	defer seg.Close()
	return s.salvageSegment(ctx, f, seg, lost)
}

// salvageSegment replaces f by what is intact of seg, which is f as it was
// opened; nil: nothing. lost is what is known to be lost.
func (s *Shelf) salvageSegment(ctx context.Context, f *file, seg *segment.Segment, lost []error) error {
	r := &report{span: f.span, found: s.o.Now(), reason: f.damage.Load().Error(), kept: "nothing"}
	want := f.span
	want.generation++
	o := segment.MergeOptions{
		BlockRaw: s.o.BlockRaw, Pace: s.retireBeside([]*file{f}),
		Created: s.o.Now().UnixNano(), Generation: want.generation, CheckLabels: s.o.CheckLabels,
	}
	to, items, err := s.write(ctx, want, func(ctx context.Context, to *output) (info segment.Info, err error) {
		if seg == nil {
			return info, errNothing
		}
		info, more, err := segment.Salvage(ctx, to, seg, o)
		lost = append(lost, more...)
		if err == nil && len(lost) == 0 {
			// No block is lost, but a list of the index may be, or a filter.
			err = seg.Verify(ctx, func(bad error) { lost = append(lost, bad) })
			switch {
			case err == nil:
				err = errIntact
			case isCorrupt(err):
				err = nil
			}
		}
		if err == nil && info.Rows == 0 {
			err = errNothing
		}
		return info, err
	})
	switch {
	case errors.Is(err, errIntact):
		// What was read then was not what is on the disk: memory, or a cable.
		f.damage.Store(nil)
		f.retry = s.o.Now().Add(retryAfter)
		s.figures.falseAlarms.Add(1)
		return nil
	case err != nil && !errors.Is(err, errNothing):
		return err
	}
	rows := int64(0)
	if to != nil {
		rows = to.info.Rows
		r.kept = fmt.Sprintf("%d entries in %d blocks, as %s", rows, to.info.Blocks, to.name)
		s.figures.salvaged.Add(1)
	}
	s.figures.lostRows.Add(max(0, f.info.Rows-rows))
	for _, l := range lost {
		r.lost = append(r.lost, l.Error())
	}
	s.broken = slices.DeleteFunc(s.broken, func(b *file) bool { return b == f })
	s.figures.broken.Store(int64(len(s.broken)))
	s.replace([]*file{f}, to, items, r)
	return nil
}

package catalog

import (
	"context"
	"errors"
	"slices"

	"github.com/stele-go/stele/logstore/internal/segment"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// salvage1 salvages a file of version 1: by the index first, and where that is
// damaged by the blocks.
func (c *Catalog) salvage1(ctx context.Context, f *file) error {
	err := errNoIndex
	if !slices.Contains(c.unreadable, f) {
		err = c.salvageIndexed(ctx, f)
	}
	if isCorrupt(err) || err == errNoIndex {
		err = c.salvageScanned(ctx, f)
	}
	return err
}

var errNoIndex = errors.New("the index is damaged")

func (c *Catalog) salvageIndexed(ctx context.Context, f *file) error {
	h, err := c.files.acquire(ctx, f)
	if err != nil {
		return err
	}
	defer h.unref()
	return c.salvageSegment(ctx, f, h.seg, nil)
}

func (c *Catalog) salvageScanned(ctx context.Context, f *file) error {
	src, size, err := c.place.Open(ctx, f.name)
	if err != nil {
		return err
	}
	defer src.Close()
	info := segment2.Info{After: f.positions.after, Upto: f.positions.upto, Generation: f.positions.generation, Created: c.Created()}
	seg, lost, err := segment.Scan(ctx, src, size, info)
	lost = append([]error{f.damage.Load()}, lost...)
	switch {
	case isCorrupt(err):
		return c.salvageSegment(ctx, f, nil, append(lost, err))
	case err != nil:
		return err
	}
	defer seg.Close()
	return c.salvageSegment(ctx, f, seg, lost)
}

// salvageSegment replaces f by the intact blocks of seg, which is f as it was
// opened; nil means there are none. lost lists the known losses.
func (c *Catalog) salvageSegment(ctx context.Context, f *file, seg *segment.Segment, lost []error) error {
	return c.replaceDamaged(ctx, f, lost, func(ctx context.Context, to *segmentOutput) (segment2.Info, []error, error) {
		if seg == nil {
			return segment2.Info{}, nil, errNothing
		}
		info, more, err := segment2.SalvageSource(ctx, to, seg.MergeSource(), c.salvageOptions(f))
		if err == nil && len(lost)+len(more) == 0 {
			more, err = verify(ctx, func(bad func(error)) error { return seg.Verify(ctx, bad) })
		}
		return info, more, err
	})
}

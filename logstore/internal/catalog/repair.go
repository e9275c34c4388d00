package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stele-go/stele/logstore/internal/segment"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

func (c *Catalog) path(f *file) string { return c.place.path(f.name) }

// nextRepair returns a damaged file that is due, or nil.
func (c *Catalog) nextRepair() *file {
	elapsed := c.o.Clock.Elapsed()
	due := func(f *file) bool { return f.damage.Load() != nil && f.card == nil && !f.failure.waits(elapsed) }
	for _, list := range [][]*file{c.unreadable, c.current.Load().order} {
		if i := slices.IndexFunc(list, due); i >= 0 {
			return list[i]
		}
	}
	return nil
}

// repair salvages the intact blocks of a damaged file into a segment that takes
// its place, and quarantines the file. If it fails nothing has changed, and the
// file is not tried again for a while.
func (c *Catalog) repair(ctx context.Context, f *file) {
	begun := c.o.Clock.Elapsed()
	err := c.salvage(ctx, f)
	if err != nil && ctx.Err() == nil {
		f.failure = c.newFailure(fmt.Errorf("catalog: salvage %s: %w", c.path(f), err), begun)
	}
}

// errIntact and errNothing end the writing of a salvage.
var (
	errIntact  = errors.New("nothing is damaged")
	errNothing = errors.New("nothing is intact")
)

// salvage reads by the index first, and where that is damaged by the blocks.
func (c *Catalog) salvage(ctx context.Context, f *file) error {
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

func isCorrupt(err error) bool {
	_, ok := errors.AsType[*segment2.CorruptError](err)
	return ok
}

func (c *Catalog) salvageIndexed(ctx context.Context, f *file) error {
	h, err := c.files.acquire(f)
	if err != nil {
		return err
	}
	defer h.unref()
	return c.salvageSegment(ctx, f, h.seg, nil)
}

func (c *Catalog) salvageScanned(ctx context.Context, f *file) error {
	src, size, err := c.place.open(f.name)
	if err != nil {
		return err
	}
	defer src.Close()
	info := segment.Info{After: f.positions.after, Upto: f.positions.upto, Generation: f.positions.generation, Created: c.Created()}
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
	r := &report{positions: f.positions, found: time.Unix(0, c.now()), reason: f.damage.Load().Error(), kept: "nothing"}
	want := f.positions
	want.generation++
	o := segment.MergeOptions{
		BlockRaw: c.o.BlockRaw, Throttle: c.retireDuring([]*file{f}),
		Created: c.Created(), Generation: want.generation,
	}
	to, err := c.writeSegment(ctx, want, func(ctx context.Context, to *segmentOutput) (segment2.Info, error) {
		if seg == nil {
			return segment2.Info{}, errNothing
		}
		written, more, err := segment.Salvage(ctx, to, seg, o)
		info := info1(written)
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
		// The first read did not return what is on the disk: memory, or a cable.
		f.damage.Store(nil)
		f.failure = &failure{until: c.o.Clock.Elapsed() + retryAfter}
		c.counters.falseAlarms.Add(1)
		return nil
	case err != nil && !errors.Is(err, errNothing):
		return err
	}
	rows := int64(0)
	if to != nil {
		rows = to.info.Rows
		r.kept = fmt.Sprintf("%d entries in %d blocks, as %s", rows, to.info.Blocks, to.name)
		c.counters.salvaged.Add(1)
	}
	c.counters.lostRows.Add(max(0, f.info.Rows-rows))
	for _, l := range lost {
		r.lost = append(r.lost, l.Error())
	}
	c.tellSalvage(f, rows, r.kept)
	c.unreadable = slices.DeleteFunc(c.unreadable, func(b *file) bool { return b == f })
	c.counters.unreadable.Store(int64(len(c.unreadable)))
	c.replace([]*file{f}, to, r)
	return nil
}

package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

func (c *Catalog) path(f *file) string { return c.place.Path(f.name) }

// nextRepair returns a damaged file that is due, or nil.
func (c *Catalog) nextRepair() *file {
	elapsed := c.o.Clock.Elapsed()
	due := func(f *file) bool { return f.damage.Load() != nil && !f.failure.waits(elapsed) }
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

func isCorrupt(err error) bool {
	_, ok := errors.AsType[*segment2.CorruptError](err)
	return ok
}

// salvage salvages a file of either version, which its end or its beginning
// tells.
func (c *Catalog) salvage(ctx context.Context, f *file) error {
	if f.info.Version == 1 {
		return c.salvage1(ctx, f)
	}
	err := c.salvage2(ctx, f)
	if v, ok := errors.AsType[*segment2.VersionError](err); ok && v.Version == 1 {
		return c.salvage1(ctx, f)
	}
	return err
}

func (c *Catalog) salvage2(ctx context.Context, f *file) error {
	src, size, err := c.place.Open(ctx, f.name)
	if err != nil {
		return err
	}
	defer src.Close()
	info := segment2.Info{After: f.positions.after, Upto: f.positions.upto, Generation: f.positions.generation, Created: c.Created()}
	return c.replaceDamaged(ctx, f, nil, func(ctx context.Context, to *segmentOutput) (segment2.Info, []error, error) {
		o := c.salvageOptions(f)
		o.Log = [16]byte{} // the file tells, at one of its ends
		info, lost, err := segment2.Salvage(ctx, to, unmapped(src), size, info, o)
		if isCorrupt(err) {
			return info, append(lost, err), errNothing
		}
		if err == nil && len(lost) == 0 && f.card != nil {
			// No row is lost, but a part of the index may be, or a filter.
			lost, err = verify(ctx, func(bad func(error)) error { return f.card.Verify(ctx, src, bad) })
		}
		return info, lost, err
	})
}

// salvageOptions are those of a segment in place of a damaged file.
func (c *Catalog) salvageOptions(f *file) segment2.MergeOptions {
	o := segment2.MergeOptions{
		BlockRaw: c.o.BlockRaw, Throttle: c.retireDuring([]*file{f}),
		Created: c.Created(), Generation: f.positions.generation + 1, Log: c.logOf([]*file{f}), KeysSince: c.keysSince(),
	}
	if c.o.Encoder != nil {
		o.Encoder = c.o.Encoder()
	}
	return o
}

// verify returns what is damaged, and errIntact if nothing is.
func verify(ctx context.Context, f func(bad func(error)) error) (lost []error, err error) {
	err = f(func(bad error) { lost = append(lost, bad) })
	switch {
	case err == nil:
		err = errIntact
	case isCorrupt(err):
		err = nil
	}
	return lost, err
}

// replaceDamaged replaces a damaged file by a segment with content, which returns
// what was lost; known was lost before.
func (c *Catalog) replaceDamaged(ctx context.Context, f *file, known []error, content func(context.Context, *segmentOutput) (segment2.Info, []error, error)) error {
	r := &report{positions: f.positions, found: c.o.Clock.Now(), reason: f.damage.Load().Error(), kept: "nothing"}
	want := f.positions
	want.generation++
	lost := known
	to, err := c.writeSegment(ctx, want, func(ctx context.Context, to *segmentOutput) (segment2.Info, error) {
		info, more, err := content(ctx, to)
		lost = append(lost, more...)
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
	c.replace([]*file{f}, to, r)
	return nil
}

package segment2

import (
	"context"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/stele-go/stele/logstore/internal/block"
)

// A Removal is the rows of a segment that a merge leaves out.
type Removal struct {
	Rows    int64 // how many
	Expired int64 // of Rows: those that have expired
	Bytes   int64 // of the blocks of which no row stays

	drops   []sourceDrop
	expired []expiredRange
	streams *roaring.Bitmap          // those of which no row stays
	blocks  map[uint32]*removedBlock // those that lose rows
}

// A removedBlock is a block that loses rows.
type removedBlock struct {
	rows uint32 // that it loses
	low  uint32 // ordinal of the lowest stream with rows that stay
	all  bool   // it loses all
}

// A sourceDrop is a Drop that a segment meets.
type sourceDrop struct {
	Drop
	streams *roaring.Bitmap // nil: all
	takes   bool            // rows are gone by it
}

func (d *sourceDrop) has(ordinal uint32) bool { return d.streams == nil || d.streams.Contains(ordinal) }

// An expiredRange is the streams of a tenant, of which rows with times below before
// have expired.
type expiredRange struct {
	first, end uint32 // ordinals [first, end)
	before     int64
}

// PlanRemoval finds out which rows of a segment are gone: those of drops, and of each
// tenant those with times below what expired, unless nil, returns for what the segment
// has of it. It returns nil if none is. It reads the index, and the blocks of which that does not tell; rows whose
// positions are lost count as those of the lowest. Its memory is a bitmap of the
// streams, and some 60 bytes for each block that loses rows. Errors are those of
// Merge, throttle is MergeOptions.Throttle.
func PlanRemoval(ctx context.Context, one MergeSource, drops []Drop, expired func(TenantTotals) (before int64), throttle func(ctx context.Context, n int) error) (*Removal, error) {
	p := planner{ctx: ctx, info: one.Info(), stay: roaring.New()}
	r, err := one.OpenMerge(func(src Source) Source {
		p.s.src = newThrottledSource(ctx, src, throttle)
		return p.s.src
	})
	if err != nil {
		return nil, err
	}
	p.s.MergeReader, p.s.version2 = r, p.info.Version == version
	p.removal = &Removal{blocks: map[uint32]*removedBlock{}, streams: roaring.New()}
	for _, d := range drops {
		if !d.Meets(&p.info) || !r.MaySelect(d.Tenant, d.Conditions) {
			continue
		}
		streams, err := r.Select(ctx, d.Tenant, d.Conditions)
		if UnlessRebuilt(err) != nil {
			return nil, err
		}
		if streams == nil || !streams.IsEmpty() {
			p.removal.drops = append(p.removal.drops, sourceDrop{d, streams, false})
		}
	}
	if expired != nil {
		if err := p.expire(expired); err != nil {
			return nil, err
		}
	}
	if len(p.removal.drops)+len(p.removal.expired) == 0 {
		return nil, nil
	}
	if err := p.blocks(); err != nil {
		return nil, err
	}
	if p.removal.Rows == 0 {
		return nil, nil
	}
	p.emptyStreams()
	return p.removal, nil
}

// A planner is a PlanRemoval under way.
type planner struct {
	ctx     context.Context
	info    Info
	s       mergeSource
	removal *Removal
	stay    *roaring.Bitmap // streams that lose some rows and keep others

	frame   Frame
	decoder block.Decoder
	times   []int64 // of frame
	ids     []ID    // of frame
	read    bool    // times and ids are there
}

// expire sets which rows have expired.
func (p *planner) expire(expired func(TenantTotals) (before int64)) error {
	tenants, err := p.s.Tenants(p.ctx)
	if UnlessRebuilt(err) != nil {
		return err
	}
	for _, t := range tenants { // in the order of ordinals
		if before := expired(t); t.Rows > 0 && t.MinTime < before {
			p.removal.expired = append(p.removal.expired, expiredRange{t.First, t.First + uint32(t.Streams), before})
		}
	}
	return nil
}

// expiredBefore returns below which time the rows of a stream have expired.
func (r *Removal) expiredBefore(ordinal uint32) int64 {
	i, _ := slices.BinarySearchFunc(r.expired, ordinal, func(e expiredRange, o uint32) int {
		if e.end <= o {
			return -1
		}
		return 1
	})
	if i < len(r.expired) && r.expired[i].first <= ordinal {
		return r.expired[i].before
	}
	return math.MinInt64
}

// blocks looks at all runs.
func (p *planner) blocks() error {
	zones, err := p.s.Zones(p.ctx)
	if UnlessRebuilt(err) != nil {
		return err
	}
	for i := range zones {
		g, err := p.s.Group(p.ctx, i)
		if UnlessRebuilt(err) != nil {
			return err
		}
		runs, err := p.s.Runs(p.ctx, i)
		if UnlessRebuilt(err) != nil {
			return err
		}
		for n := range g.Blocks {
			if err := p.block(g, g.First+n, runs.Of(g.First+n)); err != nil {
				return err
			}
		}
	}
	return nil
}

// block counts the rows of a block that are gone.
func (p *planner) block(g *Group, number int, runs Runs) error {
	lost := removedBlock{low: math.MaxUint32}
	p.read = false
	for i := range runs {
		n, err := p.run(g, number, &runs[i])
		if err != nil {
			return err
		}
		lost.rows += n
		if n < runs[i].Rows {
			lost.low = min(lost.low, runs[i].Ordinal)
			p.stay.Add(runs[i].Ordinal)
		}
	}
	if lost.rows > 0 {
		if lost.all = lost.rows == g.Block(number).Rows; lost.all {
			p.removal.Bytes += g.Block(number).Bytes
		}
		p.removal.blocks[uint32(number)] = &lost
		p.removal.Rows += int64(lost.rows)
	}
	return nil
}

// run counts the rows of a run that are gone. It reads the block if the index does
// not tell.
func (p *planner) run(g *Group, number int, run *Run) (n uint32, err error) {
	before := p.removal.expiredBefore(run.Ordinal)
	if run.MaxTime < before {
		p.removal.Expired += int64(run.Rows)
		return run.Rows, nil
	}
	some, lines := run.MinTime < before, false
	for i := range p.removal.drops {
		d := &p.removal.drops[i]
		if d.From > run.MaxTime || run.MinTime >= d.To || !d.has(run.Ordinal) {
			continue
		}
		if d.Covers(&p.info, run.MinTime, run.MaxTime) {
			d.takes = true
			return run.Rows, nil
		}
		some, lines = true, lines || d.Line != nil
	}
	if !some {
		return 0, nil
	}
	if err := p.load(g, number, run); err != nil {
		return 0, err
	}
	if lines {
		if err := p.decoder.Lines(); err != nil {
			return 0, wrongContent(p.s.src, g.Block(number).Offset, number, err)
		}
	}
	for row := run.First; row < run.First+run.Rows; row++ {
		if p.times[row] < before {
			p.removal.Expired++
		}
		gone, by := p.removal.has(&p.info, run.Ordinal, p.times, p.ids, &p.decoder, int(row))
		if gone {
			n++
		}
		if by != nil {
			by.takes = true
		}
	}
	return n, nil
}

// load reads the times and positions of a block.
func (p *planner) load(g *Group, number int, run *Run) error {
	b := g.Block(number)
	if !p.read {
		if !knownCodec(b.Codec) {
			return &VersionError{File: p.s.src.Name(), Version: version, Codec: b.Codec}
		}
		if err := p.s.ReadFrame(p.ctx, &p.frame, g, number); UnlessRebuilt(err) != nil {
			return err
		}
		templates, err := p.s.templates(p.ctx, p.frame.Dictionary)
		if err != nil {
			return err
		}
		if err = p.decoder.Open(p.frame.Block, templates); err == nil {
			p.times, err = p.decoder.Times()
		}
		if err != nil {
			return wrongContent(p.s.src, b.Offset, number, err)
		}
		if p.ids, err = p.s.rowIDs(p.ctx, p.ids[:0], b, &p.frame); err != nil {
			return err
		}
		p.read = true
	}
	if uint64(run.First)+uint64(run.Rows) > uint64(len(p.times)) {
		return p.s.corrupt(b.Offset, number, errRows)
	}
	return nil
}

// rowIDs returns the identities of the rows of a frame; none if they are lost.
func (s *mergeSource) rowIDs(ctx context.Context, dst []ID, b *Block, f *Frame) ([]ID, error) {
	if s.version2 && b.positions == 0 {
		return dst, nil
	}
	return s.IDs(ctx, dst, f)
}

// has reports whether a row of a stream is gone, and by which drop, if it has not expired.
// ids is empty if they are lost. lines has the lines if a drop of the stream asks for them.
func (r *Removal) has(info *Info, ordinal uint32, times []int64, ids []ID, lines *block.Decoder, row int) (gone bool, by *sourceDrop) {
	if times[row] < r.expiredBefore(ordinal) {
		return true, nil
	}
	for i := range r.drops {
		d := &r.drops[i]
		if t := times[row]; t < d.From || t >= d.To || !d.has(ordinal) {
			continue
		}
		if (d.Before > info.Upto || len(ids) == 0 || ids[row].Position < d.Before) && (d.Line == nil || d.Line(lines.Line(row))) {
			return true, d
		}
	}
	return false, nil
}

// Taken returns the positions of the drops by which rows are gone; a row that is gone by
// several counts for one of them.
func (r *Removal) Taken() (positions []uint64) {
	for i := range r.drops {
		if d := &r.drops[i]; d.takes && d.Position != 0 {
			positions = append(positions, d.Position)
		}
	}
	return positions
}

// emptyStreams sets the streams of which no row stays.
func (p *planner) emptyStreams() {
	gone := p.removal.streams
	for _, e := range p.removal.expired {
		gone.AddRange(uint64(e.first), uint64(e.end))
	}
	for i := range p.removal.drops {
		if s := p.removal.drops[i].streams; s != nil {
			gone.Or(s)
		} else {
			gone.AddRange(0, uint64(p.info.Streams))
		}
	}
	gone.AndNot(p.stay)
}

// emptied reports whether no row of a stream stays.
func (r *Removal) emptied(ordinal uint32) bool { return r != nil && r.streams.Contains(ordinal) }

// of returns what a block loses, nil if that is nothing.
func (r *Removal) of(block uint32) *removedBlock {
	if r == nil {
		return nil
	}
	return r.blocks[block]
}

package catalog

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// # Old codecs
//
// Blocks of an old codec move to the newest one as compactions touch them: each encodes
// a part of them again, so that it does not take much longer than one that copies
// blocks. To an older codec only Recode moves blocks, but for small ones: a compaction
// merges these into blocks of the codec of the store, whatever it is.

const (
	// recodedPart and leastRecoded are how much of the lines of a compaction is
	// encoded again: a quarter, or so many bytes if that is more.
	recodedPart  = 4
	leastRecoded = 32 << 20
)

// codec returns the codec of new blocks.
func (c *Catalog) codec() uint16 { return max(c.o.Codec, segment2.CodecLines) }

// recodes returns how many bytes of lines of other codecs a compaction of files, which
// have raw bytes, encodes again.
func (c *Catalog) recodes(files []*file, raw int64) int64 {
	switch {
	case files[0].recoding:
		return math.MaxInt64
	case c.codec() == segment2.CodecLines:
		return 0
	}
	return max(raw/recodedPart, leastRecoded)
}

// A recoding is a Recode under way.
type recoding struct {
	c        *Catalog
	ctx      context.Context
	progress func(done, total int64)
	seen     map[segmentPlace]recodeTry
	last     *file // the one that is being rewritten, or nil
	lastRaw  int64 // bytes of its lines to be encoded again
	done     int64 // bytes of lines that were
	total    int64
	err      error // of the first segment that could not be looked at
}

// A segmentPlace is the positions of a segment, which a rewrite and a salvage keep.
type segmentPlace struct{ after, upto uint64 }

func (f *file) segmentPlace() segmentPlace {
	return segmentPlace{f.positions.after, f.positions.upto}
}

// A recodeTry is what was done with the segment in a place.
type recodeTry struct {
	file  uint64 // ID of the last one
	tries int
}

// recodeTries is how often the segment in a place is rewritten at most: once more after
// the damage that a rewrite met is salvaged.
const recodeTries = 2

// Recode writes again, one after the other, all segments that have blocks of another
// codec than Options.Codec. Blocks whose entries have lost their positions, and those of
// an unknown codec, stay as they are. progress, unless nil, is called before each segment,
// and at the end, with how many bytes of lines of such blocks are done, of how many. If it
// is interrupted, the segments that are done stay done, and a later call goes on with the
// others. The error is that of Maintain, whose work is done too, but for compactions.
func (c *Catalog) Recode(ctx context.Context, progress func(done, total int64)) error {
	r := &recoding{c: c, ctx: ctx, progress: progress, seen: map[segmentPlace]recodeTry{}}
	if progress == nil {
		r.progress = func(int64, int64) {}
	}
	none := func([]candidate, limits) (window, bool) { return window{}, false }
	err := c.maintain(ctx, none, r.next, true)
	if err == nil {
		err = context.Cause(ctx) // it has ended the search for the next segment
	}
	if err == nil && r.err == nil {
		if left := r.measure(); left > 0 {
			err = fmt.Errorf("catalog: recode: %d bytes of lines are left in another codec: their segments are damaged, or not truncated from the log yet; once that is done, recode again", left)
		}
	}
	return errors.Join(err, r.err)
}

// next returns the next segment to be rewritten, or nil.
func (r *recoding) next() *file {
	if r.total == 0 {
		r.total = r.measure()
	}
	r.settle()
	r.progress(r.done, r.total)
	for _, f := range r.segments() {
		if !r.c.mayRewrite(f) || r.ctx.Err() != nil || r.c.writeFailure.waits(r.c.o.Clock.Elapsed()) {
			continue
		}
		try := r.seen[f.segmentPlace()]
		if try.file == f.id || try.tries == recodeTries {
			continue
		}
		raw := r.other(f)
		try.file = f.id
		if raw > 0 {
			try.tries++
		}
		r.seen[f.segmentPlace()] = try
		if raw > 0 {
			f.recoding, r.last, r.lastRaw = true, f, raw
			return f
		}
	}
	return nil
}

// segments returns the current segments: none once the catalog is closed.
func (r *recoding) segments() []*file {
	if v := r.c.current.Load(); v != nil {
		return v.order
	}
	return nil
}

// settle counts what the last rewrite has done.
func (r *recoding) settle() {
	if r.last == nil {
		return
	}
	place := r.last.segmentPlace()
	for _, f := range r.segments() {
		if f.segmentPlace() == place && f != r.last {
			r.done += max(0, r.lastRaw-r.other(f))
		}
	}
	r.last = nil
}

// measure returns how many bytes of lines are to be encoded again.
func (r *recoding) measure() (raw int64) {
	for _, f := range r.segments() {
		raw += r.other(f)
	}
	return raw
}

// other returns how many bytes of lines a segment has in blocks of other codecs that a
// merge encodes again.
func (r *recoding) other(f *file) (raw int64) {
	if f.damage.Load() != nil || r.ctx.Err() != nil {
		return 0
	}
	s := Segment{catalog: r.c, file: f}
	zones, err := s.Zones(r.ctx)
	err = segment2.UnlessRebuilt(err)
	for i := 0; i < len(zones) && err == nil; i++ {
		g, failed := s.Group(r.ctx, i)
		if err = segment2.UnlessRebuilt(failed); err != nil {
			break
		}
		for n := range g.Blocks {
			if b := &g.Blocks[n]; b.Codec != r.c.codec() && b.Codec <= segment2.CodecColumns && (f.info.Version == 1 || b.PositionBytes() > 0) {
				raw += int64(b.Raw)
			}
		}
	}
	if err != nil && !isCorrupt(err) && r.ctx.Err() == nil && r.err == nil {
		r.err = err
	}
	return raw
}

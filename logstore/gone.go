package logstore

import (
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A gone is entries that queries leave out, though they are still there.
type gone struct {
	segment2.Drop
	selector Selector        // compiled; of the streams in memory
	matches  []*valueMatches // of the conditions
	memory   int64           // about the bytes of all this
}

// has reports whether an entry of a stream that is selected is gone.
func (g *gone) has(time int64, pos uint64) bool {
	return g.From <= time && time < g.To && pos < g.Before
}

// meets reports whether entries with times from min to max may be gone.
func (g *gone) meets(min, max int64) bool { return g.From <= max && min < g.To }

// mayLack reports whether entries of a stream may be gone.
func (b *memtableBranch) mayLack(h *memStream, t rowTotals) bool {
	return slices.ContainsFunc(b.gone.of(h.of.labels), func(g *gone) bool { return g.meets(t.min, t.max) })
}

// A goneRows is a gone that a segment meets.
type goneRows struct {
	*gone
	streams *roaring.Bitmap // ordinals; nil: all
	// byLabels: the index of the streams is damaged, and their labels decide.
	byLabels bool
	// always: all positions of the segment lie below Before.
	always bool
}

// goneIn returns what may be gone of a segment, by what is known without reading.
func (x *search) goneIn(seg catalog.Segment) (list []goneRows) {
	set := x.gone()
	if set == nil {
		return nil
	}
	info := seg.Info()
	for _, g := range set.all {
		if g.Position != 0 && seg.Applied() > g.Position {
			continue
		}
		if g.Meets(&info) && g.meets(x.from, x.to-1) && seg.MaySelect(g.Tenant, g.Conditions) {
			list = append(list, goneRows{gone: g, always: g.Before > info.Upto})
		}
	}
	return list
}

// findGone looks up the streams of what is gone, once those to be read are known.
func (in *searched) findGone(x *search, fail func(error)) {
	kept := in.gone[:0]
	for _, g := range in.gone {
		streams, err := in.Select(x.ctx, g.Tenant, g.Conditions)
		failLost(err, func(err error) {
			g.byLabels = true
			if _, damaged := asDamage(err); !damaged {
				fail(err)
			}
		})
		if !g.byLabels {
			if g.streams = streams; streams != nil && in.streams != nil {
				streams.And(in.streams)
			}
			if streams != nil && streams.IsEmpty() {
				continue
			}
		}
		kept = append(kept, g)
	}
	in.gone = kept
}

// of reports whether entries of a stream may be gone.
func (g *goneRows) of(x *search, in *searched, ordinal uint32) bool {
	if g.byLabels {
		l, err := in.labels(x, ordinal)
		return err == nil && g.selector.matches(Labels{l}) // without labels it has no results
	}
	return g.streams == nil || g.streams.Contains(ordinal)
}

// lacks reports whether rows of a stream of the segment with times from min to max
// may be gone, and whether all of them are.
func (in *searched) lacks(x *search, ordinal uint32, min, max int64) (some, all bool) {
	for i := range in.gone {
		g := &in.gone[i]
		if g.meets(min, max) && g.of(x, in, ordinal) {
			some = true
			if g.always && g.Line == nil && g.From <= min && max < g.To {
				return true, true
			}
		}
	}
	return some, false
}

// dropGone drops the picks that are gone.
func (l *blockLeaf) dropGone(r *reading) error {
	in := l.in
	if len(in.gone) == 0 || len(r.picks) == 0 {
		return nil
	}
	var of []*goneRows // of the span
	var ids []segment2.ID
	var err error
	span := int32(-1)
	isGone := func(p pick) bool {
		if p.span != span {
			span, of = p.span, of[:0]
			for i := range in.gone {
				if g := &in.gone[i]; g.of(r.x, in, r.frame.Runs[span].Ordinal) {
					of = append(of, g)
				}
			}
		}
		for _, g := range of {
			if !g.meets(p.time, p.time) {
				continue
			}
			if !g.always && ids == nil && err == nil {
				ids, err = l.readIDs(r)
			}
			// An entry without a position might have been acknowledged to be deleted.
			if err != nil || !g.always && !r.idsLost && ids[p.row].Position >= g.Before {
				continue
			}
			if g.Line == nil {
				return true
			}
			if err = l.readLines(r); err == nil && g.Line(r.line(p)) {
				return true
			}
		}
		return false
	}
	r.picks = slices.DeleteFunc(r.picks, isGone)
	return err
}

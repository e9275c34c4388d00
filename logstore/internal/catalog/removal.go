package catalog

import (
	"context"
	"errors"
	"slices"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A Gone is rows that are gone, though segments may still have them.
type Gone struct {
	segment2.Drop
	// Due: a segment that has such rows is rewritten for that alone. Others lose
	// them when they are compacted.
	Due bool
}

// Applied returns the position below which all deletes have been applied to the
// segment, or have nothing to delete in it.
func (s Segment) Applied() uint64 { return s.file.appliedBelow() }

func (f *file) appliedBelow() uint64 { return max(f.info.Applied, f.applied.Load()) }

// mayHave reports whether a file may have rows that a delete has not been applied to,
// by what is known without reading.
func (f *file) mayHave(d *segment2.Drop) bool {
	if d.Position != 0 && f.appliedBelow() > d.Position || !d.Meets(&f.info) {
		return false
	}
	if f.card == nil {
		return d.Tenant == ""
	}
	return f.card.MaySelect(d.Tenant, d.Conditions)
}

// Remaining returns how many files may still have rows of a delete, and their bytes:
// those that are served, and those that have not left the directory for good.
func (c *Catalog) Remaining(d segment2.Drop) (files int, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.current.Load()
	if v == nil {
		return 0, 0
	}
	add := func(f *file) {
		if f.mayHave(&d) {
			files++
			bytes += f.info.Size
		}
	}
	for _, f := range v.order {
		add(f)
	}
	for _, g := range c.obsolete {
		add(g.file)
	}
	return files, bytes
}

// gone returns the rows that are gone.
func (c *Catalog) gone() (list []Gone, applied uint64) {
	if c.o.Gone == nil {
		return nil, 0
	}
	return c.o.Gone()
}

// nextRemoval returns the next segment to be rewritten without rows that are gone, or
// nil: if now is set, whether that is due or not. One that the log may replay waits.
func (c *Catalog) nextRemoval(now bool) *file {
	list, _ := c.gone()
	list = slices.DeleteFunc(list, func(g Gone) bool { return g.Position == 0 || !g.Due && !now })
	if len(list) == 0 || c.writeFailure.waits(c.o.Clock.Elapsed()) {
		return nil
	}
	for _, f := range c.current.Load().order {
		if c.mayRewrite(f) && slices.ContainsFunc(list, func(g Gone) bool { return f.mayHave(&g.Drop) }) {
			return f
		}
	}
	return nil
}

// removals are what a compaction leaves out.
type removals struct {
	of      []*segment2.Removal // of each source; nil: nothing
	rows    int64
	expired int64 // of rows
	bytes   int64 // of blocks of which no row stays
	applied uint64
}

// planRemovals finds out what is gone of the sources of a compaction: deleted, or
// expired by the limits of its tenant.
func (c *Catalog) planRemovals(ctx context.Context, sources []segment2.MergeSource, throttle func(context.Context, int) error) (r removals, err error) {
	list, applied := c.gone()
	var expired func(segment2.TenantTotals) int64
	if e := c.expiry(); e != nil {
		expired = e.before
	} else if applied == 0 && len(list) == 0 {
		return r, nil
	}
	r.applied = applied
	drops := make([]segment2.Drop, len(list))
	for i := range list {
		drops[i] = list[i].Drop
	}
	r.of = make([]*segment2.Removal, len(sources))
	var taken []uint64
	for i, s := range sources {
		if r.of[i], err = segment2.PlanRemoval(ctx, s, drops, expired, throttle); err != nil {
			return r, err
		}
		if r.of[i] != nil {
			r.rows += r.of[i].Rows
			r.expired += r.of[i].Expired
			r.bytes += r.of[i].Bytes
			taken = append(taken, r.of[i].Taken()...)
		}
	}
	if r.rows == 0 {
		r.of = nil
	}
	if len(taken) == 0 || c.o.Taking == nil {
		return r, nil
	}
	slices.Sort(taken)
	ok, err := c.o.Taking(slices.Compact(taken))
	if err == nil && !ok { // it was cancelled meanwhile
		return c.planRemovals(ctx, sources, throttle)
	}
	return r, err
}

// errNothingGone ends the rewrite of a segment that has nothing that is gone.
var errNothingGone = errors.New("catalog: no row is gone")

// removeAll completes a compaction that would leave no row. It reports whether it did:
// the log must not replay the positions.
func (c *Catalog) removeAll(files []*file, gone removals, raw int64) bool {
	if files[len(files)-1].positions.upto > c.truncated.Load() {
		return false
	}
	c.counters.removed(gone, raw)
	c.replace(files, nil, nil)
	return true
}

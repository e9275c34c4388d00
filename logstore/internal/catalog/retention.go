package catalog

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// retireEvery is how long retention waits at most for a running compaction.
const retireEvery = time.Second

// retireDuring is the Throttle of a compaction or salvage: a long one at a low
// rate delays retention by no more than retireEvery, as a full disk may need
// it. Errors come up again in Maintain.
func (c *Catalog) retireDuring(busy []*file) func(ctx context.Context, n int) error {
	last := c.o.Clock.Elapsed()
	return func(ctx context.Context, n int) error {
		if now := c.o.Clock.Elapsed(); now-last >= retireEvery {
			last = now
			c.retire(busy)
			c.deleteObsolete(ctx)
		}
		return c.throttle.wait(ctx, n)
	}
}

// retire removes from the version the segments that Options.Retention and
// RetainBytes do not keep, but for those being compacted. deleteObsolete
// deletes them.
func (c *Catalog) retire(busy []*file) {
	now, retention := c.now(), c.o.Retention
	if !c.clock.proven() {
		retention = 0
	}
	old := expired(c.current.Load().order, now, retention, c.o.RetainBytes, c.truncated.Load())
	old = slices.DeleteFunc(old, func(f *file) bool { return slices.Contains(busy, f) })
	c.retireFiles(old)
}

// retireFiles removes files from the version as retention does.
func (c *Catalog) retireFiles(old []*file) {
	if len(old) == 0 {
		return
	}
	obsolete := make([]*obsoleteFile, len(old))
	for i, f := range old {
		obsolete[i] = &obsoleteFile{file: f, lone: true}
		c.counters.retired.Add(1)
		c.counters.retiredBytes.Add(f.info.Size)
		c.tell(c.about(f, Retired, ""))
	}
	c.install(nil, obsolete, nil)
}

// expired returns the files that are not kept: those whose newest entry is
// older than retention, and of the rest, those with the oldest newest entries,
// until at most retainBytes are left, or one file. Files with positions above
// truncated stay for now, as the log would replay them; none goes in place of one.
func expired(files []*file, now int64, retention time.Duration, retainBytes int64, truncated uint64) (old []*file) {
	byTime := slices.Clone(files)
	slices.SortStableFunc(byTime, func(a, b *file) int { return cmp.Compare(a.info.MaxTime, b.info.MaxTime) })
	var bytes int64
	for _, f := range files {
		bytes += f.info.Size
	}
	for i, f := range byTime {
		late := retention > 0 && f.info.MaxTime < now-int64(retention)
		much := retainBytes > 0 && bytes > retainBytes && i < len(byTime)-1
		if !late && !much {
			break // the rest is newer
		}
		bytes -= f.info.Size
		if f.positions.upto <= truncated {
			old = append(old, f)
		}
	}
	return old
}

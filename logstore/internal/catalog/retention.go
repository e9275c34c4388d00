package catalog

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// retireEvery is how long retention waits at most for a merge under way.
const retireEvery = time.Second

// retireDuring is Options.Pace of a merge or a salvage: a long one at a low rate
// keeps retention waiting for no longer than retireEvery, as a full disk may
// need it. What goes wrong Maintain finds again.
func (c *Catalog) retireDuring(busy []*file) func(ctx context.Context, n int) error {
	last := c.o.Now()
	return func(ctx context.Context, n int) error {
		if now := c.o.Now(); now.Sub(last) >= retireEvery {
			last = now
			c.retire(busy)
			c.deleteObsolete()
		}
		return c.throttle.wait(ctx, n)
	}
}

// retire takes out of the version what Options.Retention and RetainBytes say,
// but for what is being merged. reap deletes it.
func (c *Catalog) retire(busy []*file) {
	old := expired(c.current.Load().order, c.o.Now().UnixNano(), c.o.Retention, c.o.RetainBytes, c.truncated.Load())
	old = slices.DeleteFunc(old, func(f *file) bool { return slices.Contains(busy, f) })
	if len(old) == 0 {
		return
	}
	dead := make([]*obsoleteFile, len(old))
	for i, f := range old {
		dead[i] = &obsoleteFile{file: f}
		c.counters.retired.Add(1)
		c.counters.retiredBytes.Add(f.info.Size)
	}
	c.install(nil, nil, dead, nil)
}

// expired returns the files that are not kept any more: those whose newest
// entry is older than retention, and of the rest, the ones with the oldest
// newest entries, until they have at most retainBytes. Those with positions
// above floor stay, for the log would replay them.
func expired(files []*file, now int64, retention time.Duration, retainBytes int64, floor uint64) (old []*file) {
	byTime := slices.Clone(files)
	slices.SortStableFunc(byTime, func(a, b *file) int { return cmp.Compare(a.info.MaxTime, b.info.MaxTime) })
	var bytes int64
	for _, f := range files {
		bytes += f.info.Size
	}
	for _, f := range byTime {
		late := retention > 0 && f.info.MaxTime < now-int64(retention)
		much := retainBytes > 0 && bytes > retainBytes
		if !late && !much {
			break // those behind are newer
		}
		if f.positions.upto <= floor {
			old = append(old, f)
			bytes -= f.info.Size
		}
	}
	return old
}

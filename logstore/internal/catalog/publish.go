package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// Publish writes a segment with the content of write, which does not call Finish,
// under a name made of info's positions; After is Upto() or more. Once it is durable (level Power,
// whatever that of the store), step is called with the function that makes it
// visible in snapshots: a caller that holds a lock there can change something
// else in the same step. Under that lock it may call Snapshot, Upto,
// SetTruncated and Stats, and nothing that changes the catalog. If step is nil
// or does not call publish, Publish does.
//
// If Publish fails nothing is published, and it may be called again. It leaves
// nothing behind, unless the disk fails too: then maybe a file that the next
// segment of the same positions replaces.
func (c *Catalog) Publish(ctx context.Context, info segment2.Info, write func(w *segment2.Writer) error, step func(publish func())) error {
	leave, err := c.keepOpen()
	if err != nil {
		return err
	}
	defer leave()
	c.publishMu.Lock()
	defer c.publishMu.Unlock()
	if upto := c.Upto(); info.After < upto || info.Upto <= info.After {
		return fmt.Errorf("catalog: publish positions after %d up to %d; want positions after %d", info.After, info.Upto, upto)
	}
	f, err := c.writeSegment(ctx, positionsOf(info), func(ctx context.Context, o *segmentOutput) (segment2.Info, error) {
		w := segment2.NewWriter(o, info)
		if err := write(w); err != nil {
			return info, err
		}
		return w.Finish()
	})
	if err != nil {
		return err
	}
	c.counters.published.Add(1)
	c.counters.publishedBytes.Add(f.info.Size)
	c.install([]*file{f}, nil, step)
	return nil
}

func positionsOf(info segment2.Info) positions {
	return positions{info.After, info.Upto, info.Generation}
}

// writeSegment writes a segment with content, makes it durable, and opens it: a
// segment that cannot be read back must not replace anything.
func (c *Catalog) writeSegment(ctx context.Context, want positions, content func(context.Context, *segmentOutput) (segment2.Info, error)) (*file, error) {
	name := want.String()
	ctx, cancel := c.withClose(ctx)
	defer cancel()
	to, err := c.place.Create(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errWrite, err)
	}
	defer to.Abort()
	info, err := content(ctx, &segmentOutput{ctx: ctx, to: to})
	if err != nil {
		return nil, err
	}
	if positionsOf(info) != want && !c.o.anyPositions || info.Rows == 0 {
		return nil, fmt.Errorf("catalog: write %s: %d entries, as %s; want at least one, as %s", name, info.Rows, positionsOf(info), name)
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	named, err := to.Commit()
	if err != nil {
		err = fmt.Errorf("%w: %w", errWrite, err)
	} else {
		f := c.newFile(name, want)
		if err = c.readBack(ctx, f, info); err == nil {
			return f, nil
		}
		c.files.evict(f)
	}
	if named {
		err = errors.Join(err, c.remove(c.ctx, name))
	}
	return nil, err
}

func (c *Catalog) newFile(name string, sp positions) *file {
	id := c.ids.Add(1)
	return &file{id: id, name: name, positions: sp, parts: c.parts.of(id)}
}

// readBack opens a segment that was just written, and verifies its index.
func (c *Catalog) readBack(ctx context.Context, f *file, written segment2.Info) error {
	h, err := c.files.acquire(ctx, f)
	if err != nil {
		return err
	}
	defer h.unref()
	if f.info != written {
		return fmt.Errorf("catalog: %s was written as %+v, and reads as %+v", c.path(f), written, f.info)
	}
	if f.card == nil {
		return nil // its tables were read
	}
	return f.card.VerifyIndex(ctx, unmapped(h.src))
}

// unmapped returns a source that is read into memory only: it hides View.
func unmapped(src segment2.Source) segment2.Source {
	if far, ok := src.(segment2.RangeReader); ok {
		return struct{ segment2.RangeReader }{far}
	}
	return struct{ segment2.Source }{src}
}

// install makes the next version: with the added files, and without the obsolete
// ones. Readers see all of it in one step.
func (c *Catalog) install(added []*file, obsolete []*obsoleteFile, step func(publish func())) {
	removed := make(map[*file]bool, len(obsolete))
	for _, g := range obsolete {
		removed[g.file] = true
	}
	c.mu.Lock()
	was := c.current.Load()
	next := was.apply(added, removed)
	publish := func() {
		if c.current.CompareAndSwap(was, next) {
			for _, f := range added {
				c.upto.Store(max(c.upto.Load(), f.positions.upto))
			}
		}
	}
	if step != nil {
		step(publish)
	}
	publish()
	for _, g := range obsolete {
		g.removedIn = next.number
	}
	c.dropOldVersions() // a slow compaction may keep Maintain away for long
	c.oldVersions = append(c.oldVersions, was)
	c.obsolete = append(c.obsolete, obsolete...)
	c.counters.obsolete.Store(int64(len(c.obsolete)))
	if len(removed) > 0 && len(c.unreadable) > 0 { // the maintenance token is held
		c.unreadable = slices.DeleteFunc(slices.Clone(c.unreadable), func(f *file) bool { return removed[f] })
		c.tellUnserved()
	}
	c.mu.Unlock()
	for f := range removed {
		c.files.cards.drop(f)
	}
	c.unref(was)
}

// errWrite is in the chain of an error of writing a segment, or of making it
// durable.
var errWrite = errors.New("writing a segment")

// A segmentOutput writes a segment in steps. ctx cancels it.
type segmentOutput struct {
	ctx       context.Context
	to        Writer
	size      int64
	writeback int64 // of size, where writeback has begun
}

// writebackBytes is how much is written before the kernel is asked to write it
// back: so the sync at the end finds little left, and does not keep the syncs
// of appends waiting for a whole segment.
const writebackBytes = 1 << 20

func (o *segmentOutput) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		if err := context.Cause(o.ctx); err != nil {
			return n, err
		}
		m, err := o.to.Write(p[:min(len(p), stepBytes)])
		n += m
		o.size += int64(m)
		p = p[m:]
		if err != nil {
			return n, fmt.Errorf("%w: %w", errWrite, err)
		}
		if o.size-o.writeback >= writebackBytes {
			o.to.Writeback(o.writeback, o.size-o.writeback)
			o.writeback = o.size
		}
	}
	return n, nil
}

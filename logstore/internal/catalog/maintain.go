package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

const (
	// maxSources is how many segments one compaction takes. Each is open meanwhile.
	maxSources = 64
	// maxTables bounds the streams of its sources of version 1, whose tables take
	// some 150 bytes a stream.
	maxTables = 500_000
	// tableShare is how many bytes of what a compaction may take allow for one of these
	// streams: their tables take more than their share, until they are converted.
	tableShare = 40
)

// Maintain compacts, retires and repairs what is due, in small steps, until
// there is nothing to do. Files that a snapshot still uses are left to a later
// call. The error joins what failed, in this call or before, and has not succeeded
// since; the rest is done. What failed is tried again by a later call: at once if
// it failed at once, after at most ten minutes if it took long.
func (c *Catalog) Maintain(ctx context.Context) error {
	return c.maintain(ctx, pick, nil, false)
}

// CompactAll is Maintain that compacts as much as SegmentSize and SegmentSpan
// allow, converts what is left of version 1, and tries at once what has failed, for
// Store.Compact. What it leaves for lack of space is an error, also where Maintain only
// waits.
func (c *Catalog) CompactAll(ctx context.Context) error {
	return c.maintain(ctx, pack, c.nextConversion, true)
}

// maintain does what is due, in small steps. choose returns what to compact, convert,
// unless nil, the next segment to be rewritten alone, for its layout.
func (c *Catalog) maintain(ctx context.Context, choose func([]candidate, limits) (window, bool), convert func() *file, now bool) error {
	leave, err := c.keepOpen()
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := c.withClose(ctx)
	defer cancel()
	select {
	case <-c.maintenance:
		defer func() { c.maintenance <- struct{}{} }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if now {
		c.retryNow()
	}
	c.countQuarantine(ctx)
	defer c.endPostponed()
	for {
		c.retire(nil)
		c.expire(ctx, now)
		undeleted := c.deleteObsolete(ctx)
		if err := context.Cause(ctx); err != nil {
			return errors.Join(c.failures(), undeleted, err)
		}
		if c.syncFailure != nil {
			// A compaction's sources may not be gone for good, nor those that it
			// replaced, so its space might be taken twice for as long as this lasts.
			return errors.Join(c.failures(), undeleted)
		}
		if f := c.nextRepair(); f != nil {
			c.repair(ctx, f)
			continue
		}
		files, noSpace := c.nextCompaction(choose)
		if files != nil {
			c.compact(ctx, files)
		} else if f := cmp.Or(c.nextRemoval(now), c.nextExpired()); f != nil {
			c.compact(ctx, []*file{f})
		} else if c.convertNext(ctx, convert) {
			continue
		} else {
			c.forgetFailures()
			if !now {
				noSpace = nil // it is tried again when there is space, and nothing waits for it
			}
			return errors.Join(c.failures(), undeleted, c.limitsFailure, noSpace)
		}
	}
}

// convertNext rewrites a segment alone, and reports whether there was one.
func (c *Catalog) convertNext(ctx context.Context, next func() *file) bool {
	if next == nil {
		return false
	}
	f := next()
	if f == nil {
		return false
	}
	f.converting = true
	c.compact(ctx, []*file{f})
	f.converting, f.recoding = false, false
	return true
}

// nextCompaction returns the neighbours to compact next, or nil: with an error if the
// space for it is not there.
func (c *Catalog) nextCompaction(choose func([]candidate, limits) (window, bool)) ([]*file, error) {
	order := c.current.Load().order
	elapsed := c.o.Clock.Elapsed()
	if c.writeFailure.waits(elapsed) {
		return nil, nil
	}
	list := make([]candidate, len(order))
	for i, f := range order {
		list[i] = candidate{
			positions: f.positions, size: f.info.Size, min: f.info.MinTime, max: f.info.MaxTime,
			log: f.info.Log, streams: f.info.Streams, excluded: f.damage.Load() != nil || f.failure.waits(elapsed) || f.salvaged(),
		}
		if f.card == nil {
			list[i].tables = f.info.Streams
		}
	}
	w, ok := choose(list, c.limits())
	if !ok {
		return nil, nil
	}
	files := order[w.from:w.to]
	if err := c.checkSpace(w.size); err != nil {
		return nil, c.compactionError(files, err)
	}
	return files, nil
}

// nextConversion returns the next segment of version 1 to be rewritten alone, or nil.
func (c *Catalog) nextConversion() *file {
	order := c.current.Load().order
	i := slices.IndexFunc(order, func(f *file) bool { return f.info.Version == 1 && c.mayRewrite(f) })
	if i < 0 || c.writeFailure.waits(c.o.Clock.Elapsed()) {
		return nil
	}
	return order[i]
}

// limits returns those of a compaction.
func (c *Catalog) limits() limits {
	l := limits{size: c.o.SegmentSize, span: c.o.SegmentSpan, small: c.o.SmallSpan, count: min(maxSources, c.files.limit/2), tables: maxTables}
	if c.o.MergeBytes > 0 {
		l.tables = int(min(maxTables, c.o.MergeBytes/tableShare))
		l.memory = max(1, c.o.MergeBytes-segment2.MergeBlockBytes-c.postings())
	}
	return l
}

// postings returns how many bytes of memory the postings of a compaction may take: a
// quarter.
func (c *Catalog) postings() int64 { return c.o.MergeBytes / 4 }

// compact replaces the files by one segment. If it fails nothing has changed, and
// they are not tried again for a while.
func (c *Catalog) compact(ctx context.Context, files []*file) {
	begun := c.o.Clock.Elapsed()
	t := c.counters.compaction.Start()
	err := c.compactFiles(ctx, files)
	if err == nil {
		t.Stop()
		c.writeFailure = nil
		return
	}
	if ctx.Err() != nil || errors.Is(err, errNothingGone) {
		return
	}
	if errors.Is(err, errNoSpace) {
		c.postpone(files[0], c.compactionError(files, err), begun)
		return
	}
	c.counters.failedCompactions.Add(1)
	if bad, ok := errors.AsType[*segment2.CorruptError](err); ok {
		if i := slices.IndexFunc(files, func(f *file) bool { return c.path(f) == bad.File }); i >= 0 {
			c.noteError(files[i], bad)
			return // it is repaired next
		}
	}
	failed := c.newFailure(c.compactionError(files, err), begun)
	if errors.Is(err, errWrite) {
		c.writeFailure = failed
		return
	}
	for _, f := range files {
		f.failure = failed
	}
}

func (c *Catalog) compactionError(files []*file, err error) error {
	return fmt.Errorf("catalog: compact %d segments from %s: %w", len(files), c.path(files[0]), err)
}

func (c *Catalog) compactFiles(ctx context.Context, files []*file) error {
	want := positions{after: files[0].positions.after, upto: files[len(files)-1].positions.upto}
	sources := make([]segment2.MergeSource, len(files))
	var rows, raw int64
	for i, f := range files {
		h, err := c.files.acquire(ctx, f)
		if err != nil {
			return err
		}
		defer h.unref()
		sources[i] = h.mergeSource()
		want.generation = max(want.generation, f.positions.generation+1)
		rows += f.info.Rows
		raw += f.info.Raw
	}
	if len(files) == 1 {
		want.generation = files[0].positions.generation + rewriteStep
	}
	throttle := c.retireDuring(files)
	gone, err := c.planRemovals(ctx, sources, throttle)
	switch {
	case err != nil:
		return err
	case gone.rows == 0 && len(files) == 1 && !files[0].converting:
		files[0].applied.Store(max(files[0].applied.Load(), gone.applied))
		return errNothingGone
	case gone.rows == rows && c.removeAll(files, gone, raw):
		return nil
	case gone.rows == rows:
		gone = removals{}
	}
	if len(files) == 1 { // nextCompaction has asked for several
		if err := c.checkSpace(files[0].info.Size - gone.bytes); err != nil {
			return err
		}
	}
	o := segment2.MergeOptions{
		BlockRaw: c.o.BlockRaw, Throttle: throttle,
		Created: c.Created(), Generation: want.generation, Log: c.logOf(files), KeysSince: c.keysSince(),
		Memory: c.counters.compacting.Store, Postings: c.postings(), Removals: gone.of, Applied: gone.applied,
		Recode: c.recodes(files, raw),
	}
	if files[0].recoding {
		o.KeysSince = 0 // the program that recodes may remember keys for less time than the one that appends
	}
	if c.o.Encoder != nil {
		o.Encoder = c.o.Encoder()
	}
	defer c.counters.compacting.Store(0)
	f, err := c.writeSegment(ctx, want, func(ctx context.Context, to *segmentOutput) (segment2.Info, error) {
		info, err := segment2.Merge(ctx, to, sources, o)
		if err == nil && (info.Rows != rows-gone.rows || info.Raw > raw || info.Raw != raw && gone.rows == 0) {
			// The sources are about to be deleted.
			err = fmt.Errorf("catalog: the compacted segment has %d entries of %d bytes; want %d of %d, as its sources, less %d that are gone", info.Rows, info.Raw, rows, raw, gone.rows)
		}
		return info, err
	})
	if err != nil {
		return err
	}
	c.counters.compactions.Add(1)
	c.counters.compactedSegments.Add(int64(len(files)))
	c.counters.compactedBytes.Add(f.info.Size)
	c.counters.removed(gone, raw-f.info.Raw)
	c.replace(files, f, nil)
	return nil
}

// mergeSource returns the segment for a compaction, which reads it into memory
// only.
func (h *handle) mergeSource() segment2.MergeSource {
	if h.seg != nil {
		return h.seg.MergeSource()
	}
	return h.file.card.MergeSource(unmapped(h.src))
}

// replace serves f instead of the files it was made from, which go into
// quarantine with the report, or are deleted if that is nil.
func (c *Catalog) replace(files []*file, f *file, r *report) {
	obsolete := make([]*obsoleteFile, len(files))
	for i, old := range files {
		obsolete[i] = &obsoleteFile{file: old, damaged: r, lone: f == nil}
	}
	var added []*file
	if f != nil {
		f.replaces = slices.Clone(obsolete)
		added = []*file{f}
	}
	c.install(added, obsolete, nil)
}

// logOf returns the log that a segment made of files is of: theirs, which may be
// an earlier one than the store's. Files of version 1 do not tell.
func (c *Catalog) logOf(files []*file) [16]byte {
	log := c.o.Log
	for _, f := range files {
		if f.info.Log != [16]byte{} {
			return f.info.Log
		}
		if f.info.Version != 1 { // not known: the file may tell
			log = [16]byte{}
		}
	}
	return log
}

package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stele-go/stele/logstore/internal/segment"
	"github.com/stele-go/stele/logstore/timeindex"
)

// maxSources is how many segments one merge takes. Each is open meanwhile.
const maxSources = 64

// Maintain merges, retires and repairs what is due, in small steps, until
// there is nothing to do. What a snapshot still uses is left to a later call. An
// error tells what failed; the rest is done, and what failed is tried again by a
// call ten minutes later, or more.
func (s *Catalog) Maintain(ctx context.Context) error {
	return s.maintain(ctx, pick)
}

// CompactAll merges all that SegmentSize and SegmentSpan allow, for
// Store.Compact. It does what Maintain does too.
func (s *Catalog) CompactAll(ctx context.Context) error {
	return s.maintain(ctx, pack)
}

// WhileIdle calls f if nothing is being maintained, and nothing is while f
// runs. It reports whether it did.
func (s *Catalog) WhileIdle(f func()) bool {
	select {
	case <-s.maintenance:
		defer func() { s.maintenance <- struct{}{} }()
		f()
		return true
	default:
		return false
	}
}

func (s *Catalog) maintain(ctx context.Context, choose func([]candidate, limits) (window, bool)) error {
	leave, err := s.keepOpen()
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := s.withClose(ctx)
	defer cancel()
	select {
	case <-s.maintenance:
		defer func() { s.maintenance <- struct{}{} }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if s.o.ForgetStreams != nil {
		s.o.ForgetStreams(nil)
	}
	var failed, unreaped error
	for {
		s.retire(nil)
		unreaped = s.deleteObsolete()
		if s.syncErr != nil {
			// Nothing is deleted, so a merge would take its room twice for good.
			return errors.Join(failed, unreaped)
		}
		if err := context.Cause(ctx); err != nil {
			return errors.Join(failed, unreaped, err)
		}
		var err error
		if f := s.nextRepair(); f != nil {
			err = s.repair(ctx, f)
		} else if files := s.nextCompaction(choose); files != nil {
			err = s.compact(ctx, files)
		} else {
			return errors.Join(failed, unreaped)
		}
		if err != nil && ctx.Err() == nil {
			failed = errors.Join(failed, err)
		}
	}
}

// nextCompaction returns the neighbours that are to be merged next, nil if there are none.
func (s *Catalog) nextCompaction(choose func([]candidate, limits) (window, bool)) []*file {
	order := s.current.Load().order
	now := s.o.Now()
	if now.Before(s.compactAfter) {
		return nil
	}
	list := make([]candidate, len(order))
	for i, f := range order {
		list[i] = candidate{
			positions: f.positions, size: f.info.Size, min: f.info.MinTime, max: f.info.MaxTime,
			excluded: f.damage.Load() != nil || now.Before(f.retryAt),
		}
	}
	w, ok := choose(list, limits{size: s.o.SegmentSize, span: s.o.SegmentSpan, count: min(maxSources, s.files.limit/2)})
	if !ok || s.o.HasSpace != nil && !s.o.HasSpace(w.size) {
		return nil
	}
	return order[w.from:w.to]
}

// compact makes one segment of the files and puts it in their place. If it fails
// nothing has changed, and they are left alone for a while.
func (s *Catalog) compact(ctx context.Context, files []*file) error {
	t := s.counters.compaction.Start()
	err := s.compactFiles(ctx, files)
	if err == nil {
		t.Stop()
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	s.counters.failedCompactions.Add(1)
	if bad, ok := errors.AsType[*segment.CorruptError](err); ok {
		if i := slices.IndexFunc(files, func(f *file) bool { return s.path(f) == bad.File }); i >= 0 {
			s.noteError(files[i], bad)
			return nil // it is repaired next
		}
	}
	later := s.o.Now().Add(retryAfter)
	if errors.Is(err, errWrite) {
		s.compactAfter = later // others would fail too, and fill the disk once more
	}
	for _, f := range files {
		f.retryAt = later
	}
	return fmt.Errorf("shelf: merging %d segments from %s on: %w", len(files), files[0].name, err)
}

func (s *Catalog) compactFiles(ctx context.Context, files []*file) error {
	want := positions{after: files[0].positions.after, upto: files[len(files)-1].positions.upto}
	sources := make([]*segment.Segment, len(files))
	var rows, raw int64
	for i, f := range files {
		h, err := s.files.acquire(f)
		if err != nil {
			return err
		}
		defer h.unref()
		sources[i] = h.seg
		want.generation = max(want.generation, f.positions.generation+1)
		rows += f.info.Rows
		raw += f.info.Raw
	}
	o := segment.MergeOptions{
		BlockRaw: s.o.BlockRaw, Throttle: s.retireDuring(files),
		Created: s.o.Now().UnixNano(), Generation: want.generation,
	}
	f, items, err := s.writeSegment(ctx, want, func(ctx context.Context, to *segmentOutput) (segment.Info, error) {
		info, err := segment.Merge(ctx, to, sources, o)
		if err == nil && (info.Rows != rows || info.Raw != raw) {
			// The sources are about to be deleted.
			err = fmt.Errorf("shelf: a merge has %d entries of %d bytes, its sources %d of %d", info.Rows, info.Raw, rows, raw)
		}
		return info, err
	})
	if err != nil {
		return err
	}
	s.counters.compactions.Add(1)
	s.counters.compactedSegments.Add(int64(len(files)))
	s.counters.compactedBytes.Add(f.info.Size)
	s.replace(files, f, items, nil)
	return nil
}

// replace has f served instead of the files it was made from, which go into
// quarantine with the report, or are deleted where that is nil.
func (s *Catalog) replace(files []*file, f *file, items []timeindex.Item, r *report) {
	dead := make([]*obsoleteFile, len(files))
	for i, old := range files {
		dead[i] = &obsoleteFile{file: old, damaged: r}
	}
	var added []*file
	if f != nil {
		f.replaces = slices.Clone(dead)
		added = []*file{f}
	}
	s.install(added, items, dead, nil)
}

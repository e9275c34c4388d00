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
func (s *Shelf) Maintain(ctx context.Context) error {
	return s.maintain(ctx, pick)
}

// CompactAll merges all that SegmentSize and SegmentSpan allow, for
// Store.Compact. It does what Maintain does too.
func (s *Shelf) CompactAll(ctx context.Context) error {
	return s.maintain(ctx, pack)
}

// Unmaintained calls f if nothing is being maintained, and nothing is while f
// runs. It reports whether it did.
func (s *Shelf) Unmaintained(f func()) bool {
	select {
	case <-s.maintaining:
		defer func() { s.maintaining <- struct{}{} }()
		f()
		return true
	default:
		return false
	}
}

func (s *Shelf) maintain(ctx context.Context, choose func([]candidate, limits) (window, bool)) error {
	leave, err := s.enter()
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := s.join(ctx)
	defer cancel()
	select {
	case <-s.maintaining:
		defer func() { s.maintaining <- struct{}{} }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if s.o.Gone != nil {
		s.o.Gone(nil)
	}
	var failed, unreaped error
	for {
		s.retire(nil)
		unreaped = s.reap()
		if s.unsynced != nil {
			// Nothing is deleted, so a merge would take its room twice for good.
			return errors.Join(failed, unreaped)
		}
		if err := context.Cause(ctx); err != nil {
			return errors.Join(failed, unreaped, err)
		}
		var err error
		if f := s.toRepair(); f != nil {
			err = s.repair(ctx, f)
		} else if files := s.toMerge(choose); files != nil {
			err = s.merge(ctx, files)
		} else {
			return errors.Join(failed, unreaped)
		}
		if err != nil && ctx.Err() == nil {
			failed = errors.Join(failed, err)
		}
	}
}

// toMerge returns the neighbours that are to be merged next, nil if there are none.
func (s *Shelf) toMerge(choose func([]candidate, limits) (window, bool)) []*file {
	order := s.now.Load().order
	now := s.o.Now()
	if now.Before(s.mergeAfter) {
		return nil
	}
	list := make([]candidate, len(order))
	for i, f := range order {
		list[i] = candidate{
			span: f.span, size: f.info.Size, min: f.info.MinTime, max: f.info.MaxTime,
			alone: f.damage.Load() != nil || now.Before(f.retry),
		}
	}
	w, ok := choose(list, limits{size: s.o.SegmentSize, span: s.o.SegmentSpan, count: min(maxSources, s.table.limit/2)})
	if !ok || s.o.Room != nil && !s.o.Room(w.size) {
		return nil
	}
	return order[w.from:w.to]
}

// merge makes one segment of the files and puts it in their place. If it fails
// nothing has changed, and they are left alone for a while.
func (s *Shelf) merge(ctx context.Context, files []*file) error {
	t := s.figures.merging.Start()
	err := s.mergeFiles(ctx, files)
	if err == nil {
		t.Stop()
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	s.figures.failedMerges.Add(1)
	if bad, ok := errors.AsType[*segment.CorruptError](err); ok {
		if i := slices.IndexFunc(files, func(f *file) bool { return s.path(f) == bad.File }); i >= 0 {
			s.note(files[i], bad)
			return nil // it is repaired next
		}
	}
	later := s.o.Now().Add(retryAfter)
	if errors.Is(err, errWrite) {
		s.mergeAfter = later // others would fail too, and fill the disk once more
	}
	for _, f := range files {
		f.retry = later
	}
	return fmt.Errorf("shelf: merging %d segments from %s on: %w", len(files), files[0].name, err)
}

func (s *Shelf) mergeFiles(ctx context.Context, files []*file) error {
	want := span{after: files[0].span.after, upto: files[len(files)-1].span.upto}
	sources := make([]*segment.Segment, len(files))
	var rows, raw int64
	for i, f := range files {
		h, err := s.table.use(f)
		if err != nil {
			return err
		}
		defer h.done()
		sources[i] = h.seg
		want.generation = max(want.generation, f.span.generation+1)
		rows += f.info.Rows
		raw += f.info.Raw
	}
	o := segment.MergeOptions{
		BlockRaw: s.o.BlockRaw, Pace: s.retireBeside(files),
		Created: s.o.Now().UnixNano(), Generation: want.generation,
	}
	f, items, err := s.write(ctx, want, func(ctx context.Context, to *output) (segment.Info, error) {
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
	s.figures.merges.Add(1)
	s.figures.merged.Add(int64(len(files)))
	s.figures.mergedBytes.Add(f.info.Size)
	s.replace(files, f, items, nil)
	return nil
}

// replace has f served instead of the files it was made from, which go into
// quarantine with the report, or are deleted where that is nil.
func (s *Shelf) replace(files []*file, f *file, items []timeindex.Item, r *report) {
	dead := make([]*grave, len(files))
	for i, old := range files {
		dead[i] = &grave{file: old, damaged: r}
	}
	var added []*file
	if f != nil {
		f.replaced = slices.Clone(dead)
		added = []*file{f}
	}
	s.change(added, items, dead, nil)
}

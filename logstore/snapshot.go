package logstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

// A SnapshotInfo says what Snapshot has made.
type SnapshotInfo struct {
	// Position is that of the last record of the log that the snapshot has. Everything
	// acknowledged before the call has this position or a lower one.
	Position uint64
	// Segments counts those of the snapshot, and Bytes theirs. Linked ones are hard
	// links to those of the store, Cloned ones share its blocks on the disk; the
	// others are copies, of CopiedBytes bytes.
	Segments, Linked, Cloned int
	Bytes, CopiedBytes       int64
	// LogBytes are those of the records that were copied.
	LogBytes int64
	// Missing counts segments, or parts of them, that this store misses. The snapshot
	// does not have them either, and tells so when it is opened.
	Missing int
}

// Snapshot makes a store in the directory dir that has exactly the entries of this
// one up to a position of the log: all that were acknowledged before the call, and of
// those appended meanwhile the first ones. Appends, queries, seals, compactions and
// retention go on. dir must not exist, or be an empty directory that is no mount
// point; its parent must exist.
//
// The segments are hard links to those of this store, which never writes to a
// segment that it has made; where that cannot be, as on another file system, they
// are clones that share blocks on the disk (btrfs, XFS), or copies, made at
// Options.BackgroundRate. The records of the log that may be in no segment are
// copied. So a snapshot on the same file system takes as long as a copy of the log,
// and as much space, at most Options.Memory; but what this store compacts or deletes
// keeps its space for as long as the snapshot has it. A link is no second copy: what
// damages the file of one damages it in both.
//
// The snapshot is a store of its own, which can be opened at once, beside this one.
// It has the ID of this log and the positions of its entries, so cursors of this store
// mean the same entries up to SnapshotInfo.Position; behind it each store goes on in
// terms of its own. It has what Import remembers, but neither quarantine nor profile.
//
// When Snapshot returns nil, the snapshot survives a power cut. Until then, dir is not
// there, or is the empty directory that it was: the snapshot is made in dir.part
// beside it, and renamed. A crash leaves dir.part, which Open refuses. No call takes it
// for a store or removes it: remove it yourself before the next Snapshot of that name.
//
// After an error nothing is left, unless the error says so. Errors: that of ctx;
// fs.ErrExist, if dir or dir.part is there; ErrClosed; ErrFailed; ErrIncomplete and
// what is wrong, for a store that is open for reading only and has lost a part;
// fs.ErrInvalid for one of OpenSegments; and those of the file system, ENOSPC among
// them.
func (s *Store) Snapshot(ctx context.Context, dir string) (SnapshotInfo, error) {
	info, err := s.snapshot(ctx, dir)
	if err != nil {
		return SnapshotInfo{}, s.opError("snapshot", err)
	}
	return info, nil
}

func (s *Store) snapshot(ctx context.Context, dir string) (info SnapshotInfo, err error) {
	if s.log == nil {
		return info, errUnopened
	}
	s.closeMu.RLock()
	defer s.closeMu.RUnlock()
	if err := cmp.Or(s.checkSnapshot(), context.Cause(ctx)); err != nil {
		return info, err
	}
	ctx, end := s.untilClosed(ctx)
	defer end()
	to, err := makeSnapshotDir(s.dir, dir)
	if err != nil {
		return info, err
	}
	if err = s.copyTo(ctx, to, &info); err == nil {
		err = s.snapshotStep(ctx)
	}
	if err == nil {
		err = to.publish()
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && !to.published {
			err = cause
		}
		err = errors.Join(err, to.remove())
	}
	return info, err
}

// checkSnapshot returns an error if there is nothing to make a whole snapshot of.
func (s *Store) checkSnapshot() error {
	if s.isClosed() {
		return ErrClosed
	}
	if !s.readOnly {
		return nil
	}
	if l, ok := s.log.(*readLog); ok && l.in == nil && len(l.damage) == 0 {
		return fmt.Errorf("it is not the directory of a store: %w", fs.ErrInvalid)
	}
	return s.replay.failure()
}

// untilClosed returns a context that is done when ctx is, or the store is closed.
func (s *Store) untilClosed(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var wait sync.WaitGroup
	wait.Go(func() {
		select {
		case <-s.closed:
			cancel(ErrClosed)
		case <-ctx.Done():
		}
	})
	return ctx, func() { cancel(nil); wait.Wait() }
}

// copyTo copies the store up to a position. The order is this:
//
//	imports    first: an import notes how far it is behind what the log has
//	hold       the log keeps all of its records
//	segments   the current ones are kept from being removed
//	position   the last of the log, so the log has all that is in no segment
//	log        its records up to the position are copied
//	release
//	segments   are linked or copied
//
// So the snapshot has what a crash could have left, with fewer records at the end of
// the log. The roster at the end of its log says which segments it has.
func (s *Store) copyTo(ctx context.Context, to *snapshotDir, info *SnapshotInfo) error {
	if err := to.copyImports(ctx, s.dir); err != nil {
		return err
	}
	s.truncation.hold()
	segs := s.catalog.WholeSnapshot()
	if segs == nil {
		s.releaseLog(ctx)
		return ErrClosed
	}
	defer segs.Release()
	err := s.copyLog(ctx, to, segs, info)
	s.releaseLog(ctx)
	if err == nil {
		err = s.snapshotStep(ctx)
	}
	if err != nil {
		return err
	}
	c, err := segs.CopyTo(ctx, to.path(catalog.SegmentDir))
	info.Segments, info.Linked, info.Cloned = c.Segments, c.Linked, c.Cloned
	info.Bytes, info.CopiedBytes = c.Bytes, c.CopiedBytes
	return err
}

// snapshotStep returns why a snapshot is not to go on.
func (s *Store) snapshotStep(ctx context.Context) error {
	if s.o.snapshotStep != nil {
		s.o.snapshotStep()
	}
	return context.Cause(ctx)
}

// A truncation is that of the log, which can be held.
type truncation struct {
	mu   sync.Mutex // held while the log is truncated
	held int
	due  uint64 // where the log is to be truncated at the release
}

// hold keeps the log from being truncated, once a truncation under way has ended.
func (h *truncation) hold() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held++
}

// release ends a hold, and returns before which position the log is to be truncated
// then, or 0.
func (h *truncation) release() (due uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held--; h.held == 0 {
		due, h.due = h.due, 0
	}
	return due
}

// releaseLog ends a hold, and truncates the log if a seal would have done it.
func (s *Store) releaseLog(ctx context.Context) {
	if due := s.truncation.release(); due != 0 {
		s.truncate(context.WithoutCancel(ctx), due) // the seal would have
	}
}

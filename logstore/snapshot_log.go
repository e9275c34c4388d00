package logstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/wal"
)

// copyLog makes the log of a snapshot with the segments segs: the records that this
// log has by now, and behind them one with a new term and the roster.
func (s *Store) copyLog(ctx context.Context, to *snapshotDir, segs *catalog.Snapshot, info *SnapshotInfo) error {
	if err := s.log.Sync(ctx); err != nil {
		return s.logError(err)
	}
	first, next := s.log.Bounds()
	info.Position = next - 1
	largest := int64(0)
	err := s.eachRecord(ctx, first, next, func(data []byte) error {
		largest = max(largest, int64(len(data)))
		info.LogBytes += int64(len(data))
		return nil
	})
	if err != nil {
		return err
	}
	dir := to.path(logDir)
	if err := wal.Create(dir, wal.CreateOptions{ID: s.log.ID(), First: wal.Position(first)}); err != nil {
		return err
	}
	l, err := wal.Open(dir, wal.Options{Level: durability.None, SegmentSize: newLogSegmentSize(largest)})
	if err != nil {
		return err
	}
	w := logWriter{log: l, next: first}
	err = s.eachRecord(ctx, first, next, func(data []byte) error { return w.add(ctx, data) })
	if err == nil {
		info.Missing, err = s.addRoster(ctx, &w, segs)
	}
	if err == nil {
		err = w.flush(ctx)
	}
	if err = errors.Join(err, l.Close()); err != nil {
		return err
	}
	rep, err := wal.Verify(dir)
	if err == nil && (uint64(rep.First) != first || uint64(rep.Next) != w.next) {
		err = fmt.Errorf("the log of the snapshot has positions %d to before %d; want %d to before %d", rep.First, rep.Next, first, w.next)
	}
	return err
}

// eachRecord calls f for each record of the log from position first to before next.
func (s *Store) eachRecord(ctx context.Context, first, next uint64, f func(data []byte) error) error {
	at := first
	if at < next {
		for rec, err := range s.log.Records(ctx, first) {
			if err == nil {
				err = s.snapshotStep(ctx)
			}
			if err == nil && rec.Position != at {
				err = fmt.Errorf("the log has position %d where %d should be", rec.Position, at)
			}
			if err == nil {
				err = f(rec.Data)
			}
			if err != nil {
				return err
			}
			if at++; at == next {
				break
			}
		}
	}
	if at < next {
		return fmt.Errorf("the log ends before position %d; want %d", at, next)
	}
	return nil
}

// addRoster adds the roster of a snapshot: the segments that it has, and those that
// the store misses, of which there are missing. Its term is of the snapshot alone.
func (s *Store) addRoster(ctx context.Context, w *logWriter, segs *catalog.Snapshot) (missing int, err error) {
	if s.o.recordVersion == 1 {
		return 0, nil
	}
	held := segs.Holdings()
	var list []rosterEntry
	for _, h := range held {
		list = append(list, rosterEntry{Holding: h})
	}
	s.roster.mu.Lock()
	missed := without(s.roster.missing, held)
	s.roster.mu.Unlock()
	list = append(list, missed...)
	slices.SortFunc(list, func(a, b rosterEntry) int { return byPosition(a.Holding, b.Holding) })
	accepted := s.reading(s.o.now()).accepted
	for i, item := range rosterItems(list) {
		items := []stateItem{item}
		if i == 0 {
			items = append([]stateItem{newTerm().item(), item}, otherLogs(s.log.ID(), held)...)
		}
		if err := w.add(ctx, encodeState(accepted, items...)); err != nil {
			return 0, err
		}
	}
	return len(missed), nil
}

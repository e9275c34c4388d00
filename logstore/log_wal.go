package logstore

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/stele-go/stele/profile"
	"github.com/stele-go/stele/wal"
)

// A walLog is a log in a directory of the store.
type walLog struct {
	wal         *wal.Log
	segmentSize int64
}

// openLog opens the log in dir, or creates one. o is resolved. If the log is
// damaged, the error wraps a *wal.CorruptError and nothing was changed. What it
// gives up keep keeps.
func openLog(dir string, o *Options, p *profile.Profile, keep *logKeeper) (log, error) {
	l, err := wal.Open(dir, wal.Options{
		Level: o.Level, SyncEvery: o.SyncEvery, SegmentSize: o.logSegment(), Spares: logSpares, Profile: p,
		SaveTorn: keep.saveTorn, SetAside: keep.setAside,
	})
	if err != nil {
		return nil, walError(err)
	}
	return &walLog{wal: l, segmentSize: o.logSegment()}, nil
}

func (l *walLog) ID() [16]byte { return l.wal.ID() }

func (l *walLog) Append(ctx context.Context, rec []byte) (uint64, error) {
	pos, err := l.wal.Append(ctx, rec)
	return uint64(pos), walError(err)
}

func (l *walLog) Sync(context.Context) error { return walError(l.wal.Sync()) }

func (l *walLog) Bounds() (first, next uint64) {
	f, n := l.wal.Bounds()
	return uint64(f), uint64(n)
}

func (l *walLog) Records(ctx context.Context, from uint64) iter.Seq2[logRecord, error] {
	return func(yield func(logRecord, error) bool) {
		for rec, err := range l.wal.All(wal.Position(from)) {
			if gone := context.Cause(ctx); gone != nil {
				yield(logRecord{}, gone)
				return
			}
			if !yield(logRecord{uint64(rec.Position), rec.Data}, walError(err)) {
				return
			}
		}
	}
}

func (l *walLog) TruncateBefore(_ context.Context, pos uint64) error {
	return walError(l.wal.TruncateBefore(wal.Position(pos)))
}

func (l *walLog) Stats() logStats {
	s := l.wal.Stats()
	return logStats{
		Bytes:    int64(s.Segments+s.Prepared) * l.segmentSize,
		Prepared: int64(s.Prepared) * l.segmentSize,
		Sync:     s.Sync,
		Queued:   s.Queued,
		Groups:   s.FlushSizes,
	}
}

func (l *walLog) Close() error { return walError(l.wal.Close()) }

// walError turns an error of package wal into one of a log.
func walError(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, wal.ErrClosed) {
		return ErrClosed
	}
	if errors.Is(err, wal.ErrLocked) {
		return fmt.Errorf("%w: %w", ErrLocked, err)
	}
	if _, ok := errors.AsType[*wal.CorruptError](err); ok {
		return fmt.Errorf("%w; nothing was changed; stele repair tells what can be kept", err)
	}
	if errors.Is(err, wal.ErrPoisoned) {
		err = &logError{err, errLogFailed}
	}
	if errors.Is(err, wal.ErrUnsure) {
		err = &logError{err, errLogUnsure}
	}
	return err
}

// A logError is an error of the log with its meaning for the store.
type logError struct{ err, meaning error }

func (e *logError) Error() string   { return e.err.Error() }
func (e *logError) Unwrap() []error { return []error{e.err, e.meaning} }

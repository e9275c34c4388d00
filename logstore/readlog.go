package logstore

import (
	"context"
	"encoding/hex"
	"errors"
	"iter"

	"github.com/stele-go/stele/wal"
)

// A readLog is what is intact of the log of a store that is open for reading only.
type readLog struct {
	in          *wal.Inspection // nil: there is nothing to be read
	dir         string
	first, next uint64 // positions of the intact records: [first, next)
	bytes       int64  // of records
	damage      []error
}

// maxLogDamage is how many damaged places are listed.
const maxLogDamage = 100

// openReadLog reads the log in dir once, to find out what is intact.
func openReadLog(dir string) *readLog {
	l := &readLog{dir: dir}
	in, err := wal.Inspect(dir)
	if err != nil {
		l.damage = append(l.damage, walError(err))
		return l
	}
	l.in = in
	l.first, l.next = uint64(in.First), uint64(in.First)
	empty := true
	for rec, err := range in.Salvage(0) {
		switch {
		case err != nil && len(l.damage) < maxLogDamage:
			l.damage = append(l.damage, err)
		case err == nil && rec.Type == "data":
			if empty {
				l.first, empty = uint64(rec.Position), false
			}
			l.next = uint64(rec.Position) + 1
			l.bytes += int64(len(rec.Data))
		}
	}
	return l
}

// tell tells what is damaged.
func (l *readLog) tell(tell func(Event)) {
	for _, err := range l.damage {
		e := Event{Kind: EventLogDamage, File: l.dir, Reason: err.Error()}
		if c, ok := errors.AsType[*wal.CorruptError](err); ok {
			e.File, e.Offset, e.Reason = c.File, c.Offset, c.Reason
		}
		tell(e)
	}
}

// miss adds a damage, and tells it.
func (l *readLog) miss(tell func(Event), err error) {
	tell(Event{Kind: EventLogDamage, File: l.dir, Reason: err.Error()})
	if len(l.damage) < maxLogDamage {
		l.damage = append(l.damage, err)
	}
}

// ID is zero if nothing tells it.
func (l *readLog) ID() (id [16]byte) {
	if l.in != nil {
		if n, err := hex.Decode(id[:], []byte(l.in.ID)); err != nil || n != len(id) {
			return [16]byte{}
		}
	}
	return id
}

func (l *readLog) Bounds() (first, next uint64) { return l.first, l.next }

// Records iterates over the intact records.
func (l *readLog) Records(ctx context.Context, from uint64) iter.Seq2[logRecord, error] {
	return func(yield func(logRecord, error) bool) {
		if l.in == nil {
			return
		}
		for rec, err := range l.in.Salvage(wal.Position(from)) {
			if gone := context.Cause(ctx); gone != nil {
				yield(logRecord{}, gone)
				return
			}
			if err == nil && rec.Type == "data" && !yield(logRecord{uint64(rec.Position), rec.Data}, nil) {
				return
			}
		}
	}
}

func (l *readLog) Append(context.Context, []byte) (uint64, error) { return 0, ErrReadOnly }
func (l *readLog) Sync(context.Context) error                     { return nil }
func (l *readLog) TruncateBefore(context.Context, uint64) error   { return nil }
func (l *readLog) Stats() logStats                                { return logStats{Bytes: l.bytes} }
func (l *readLog) Close() error                                   { return nil }

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

	intact positionSet
	tail   int64 // dir is a file, the tail of one from this offset on; 0: it is a directory
	alone  bool  // it is read without the segments that it expects
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
	l.read()
	return l
}

// openReadTail reads a file that Open has cut from a log, from an offset on.
func openReadTail(file string, off int64) *readLog {
	l := &readLog{dir: file, tail: off}
	l.read()
	return l
}

// read finds out what is intact.
func (l *readLog) read() {
	empty := true
	for rec, err := range l.salvage(0) {
		switch {
		case err != nil && len(l.damage) < maxLogDamage:
			l.damage = append(l.damage, err)
		case err == nil && rec.Type == "data":
			if empty {
				l.first, empty = uint64(rec.Position), false
			}
			l.next = uint64(rec.Position) + 1
			l.intact.add(uint64(rec.Position))
			l.bytes += int64(len(rec.Data))
		}
	}
}

// salvage returns what can be read from a position on.
func (l *readLog) salvage(from uint64) iter.Seq2[wal.RecordInfo, error] {
	switch {
	case l.tail != 0:
		return wal.SalvageTail(l.dir, l.tail, wal.Position(from))
	case l.in != nil:
		return l.in.Salvage(wal.Position(from))
	}
	return func(func(wal.RecordInfo, error) bool) {}
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

// tellTorn tells which whole records of a torn tail are served though Open would cut
// them.
func (l *readLog) tellTorn(tell func(Event)) {
	if len(l.damage) == 0 {
		return // what has such records is listed as damage
	}
	rep, err := wal.Verify(l.dir)
	if err != nil {
		return // Open would refuse the log
	}
	if t := tornTailError(rep.Torn); t != nil {
		tell(Event{
			Kind: EventTornTail, File: t.File, Offset: t.Offset, Bytes: t.Bytes, Position: t.Position, Records: t.Records,
			Reason: "Open would cut it; here its whole records are served",
		})
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

// begin returns where the log begins, 0 if nothing tells it.
func (l *readLog) begin() uint64 {
	if l.in == nil || l.in.MetaErr != nil && l.first == l.next {
		return 0
	}
	return l.first
}

func (l *readLog) Bounds() (first, next uint64) { return l.first, l.next }

// Records iterates over the intact records.
func (l *readLog) Records(ctx context.Context, from uint64) iter.Seq2[logRecord, error] {
	return func(yield func(logRecord, error) bool) {
		for rec, err := range l.salvage(from) {
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

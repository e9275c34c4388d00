package logstore

import (
	"context"
	"errors"
	"iter"

	"github.com/stele-go/stele/latency"
)

// A log keeps the records of a store in the order of their positions, which
// grow by one from 1 on. Segments name the positions that they hold, so a record
// keeps its position for as long as the log or a segment has it.
//
// Its errors are ErrClosed after Close, one that wraps errLogFailed if nothing
// can be appended until the log is opened again, and else those of the place
// where it lies, ENOSPC among them. Its methods may be called by many
// goroutines at once.
//
// A method of a log that is far away ends with the error of its context once that is
// done, and Append with one that wraps errLogUnsure, unless the log does not have the
// record. One that is near may go on to its end.
type log interface {
	// ID identifies the log for as long as it exists. No other log has it.
	ID() [16]byte
	// Append returns the position of rec once it is durable at Options.Level. If
	// the error does not wrap errLogUnsure, the log does not have rec and never will.
	Append(ctx context.Context, rec []byte) (pos uint64, err error)
	// Sync makes all acknowledged records durable as at level Power.
	Sync(ctx context.Context) error
	// Bounds returns the positions of the first record and of the next one to be
	// appended.
	Bounds() (first, next uint64)
	// Records iterates over the records from position from on, also those that
	// are appended meanwhile. The Data of a record is valid until the next step.
	// An error ends the iteration.
	Records(ctx context.Context, from uint64) iter.Seq2[logRecord, error]
	// TruncateBefore discards the records before pos, once all others are durable as at
	// level Power.
	TruncateBefore(ctx context.Context, pos uint64) error
	Stats() logStats
	// Close makes all acknowledged records durable as at level Power, and ends
	// the other methods.
	Close() error
}

type logRecord struct {
	Position uint64
	Data     []byte
}

// logStats are the figures of a log since it was opened.
type logStats struct {
	Bytes    int64 // on disk
	Prepared int64 // of Bytes, those that no record has used yet
	Sync     latency.Snapshot
	Queued   int // appends that wait
	// Groups counts the writes by how many records they had: see Stats.Groups.
	Groups [LogGroups]uint64
}

var (
	// errLogFailed means that a log takes no more records until it is opened
	// again.
	errLogFailed = errors.New("the log takes no more records")
	// errLogUnsure means that a record may be in the log although Append failed.
	errLogUnsure = errors.New("the record may be in the log")
)

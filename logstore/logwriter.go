package logstore

import (
	"context"
	"fmt"

	"github.com/stele-go/stele/wal"
)

// A logWriter writes the records of a new log, many at once.
type logWriter struct {
	log  *wal.Log
	next uint64 // position of the next record

	batch [][]byte
	buf   []byte // of the records in batch
}

// logBatch is about how many bytes of records a logWriter appends at once.
const logBatch = 1 << 20

func (w *logWriter) add(ctx context.Context, rec []byte) error {
	if len(w.buf)+len(rec) > logBatch || len(w.batch) == logBatch/logHead {
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	from := len(w.buf)
	w.buf = append(w.buf, rec...)
	w.batch = append(w.batch, w.buf[from:len(w.buf):len(w.buf)])
	w.next++
	return nil
}

// flush appends the batch.
func (w *logWriter) flush(ctx context.Context) error {
	if len(w.batch) == 0 {
		return nil
	}
	first := w.next - uint64(len(w.batch))
	pos, err := w.log.AppendBatch(ctx, w.batch)
	if err == nil && uint64(pos) != first {
		err = fmt.Errorf("a record got position %d; want %d", pos, first)
	}
	w.batch, w.buf = w.batch[:0], w.buf[:0]
	return err
}

// newLogSegment is the size of the files of a new log, if the records are not larger.
const newLogSegment = 4 << 20

// newLogSegmentSize returns the size of the files of a new log: a record may have a
// quarter of a file. Open makes larger ones after them.
func newLogSegmentSize(largest int64) int64 {
	size := int64(newLogSegment)
	for size/4 < largest+1024 {
		size *= 2
	}
	return size
}

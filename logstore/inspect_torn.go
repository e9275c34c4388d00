package logstore

import (
	"fmt"

	"github.com/stele-go/stele/wal"
)

// A TornTailError reports a torn tail of the log that has whole records, behind one that
// is not: Open would cut them, and keep a copy in quarantine. What they hold was
// acknowledged if Options.Level was Kill, or if the disk has damaged what it had.
// OpenReadOnly and Import read them.
type TornTailError struct {
	File     string // of the log
	Offset   int64  // of the first byte that Open would cut
	Bytes    int64
	Records  int    // whole ones
	Position uint64 // the next one of the log, once Open has cut it
}

func (e *TornTailError) Error() string {
	return fmt.Sprintf("logstore: the log ends at offset %d of %s in a record that is not whole, with %d whole ones behind it: Open would cut them, from position %d on, and keep a copy in quarantine; OpenReadOnly and stele import read them",
		e.Offset, e.File, e.Records, e.Position)
}

// tornTailError returns the error for a torn tail, nil unless it has whole records.
func tornTailError(t *wal.TornTail) *TornTailError {
	if t == nil || t.Records == 0 {
		return nil
	}
	return &TornTailError{t.File, t.Offset, t.Bytes, t.Records, uint64(t.Position)}
}

// verifyLog verifies the log in dir, which may be open. A write under way may look torn,
// with whole records behind the place where the reader was: it is there no more when it
// is looked at again.
func verifyLog(dir string) (rep wal.Report, torn *TornTailError, err error) {
	seen := 0 // so often in a row
	for range 20 {
		if rep, err = wal.Verify(dir); err != nil {
			return rep, nil, err
		}
		now := tornTailError(rep.Torn)
		if now == nil {
			return rep, nil, nil
		}
		if torn == nil || *torn != *now {
			torn, seen = now, 0
		}
		if seen++; seen == 3 {
			return rep, torn, nil
		}
	}
	return rep, nil, nil // another one each time: the log is in use
}

package logstore

// For the tests of package logstore_test.

// DecodeLabels decodes labels as segments encode them.
func DecodeLabels(enc string) (Labels, error) { return parseLabels(enc) }

// LateRejection returns the rejection of an entry that is too old.
func LateRejection(stream, entry int, time int64) Rejection {
	return Rejection{Stream: stream, Entry: entry, Time: time, code: refusedLate}
}

// Tailed reports whether a Tail has begun.
func (s *Store) Tailed() bool { return s.reads.tails.any.Load() }

// MostLog returns the most that the log may take of the disk while memory is
// empty: the current file, preallocated files, files for reuse, and a few
// pages.
func MostLog(memory int64) int64 {
	o := Options{Memory: memory}
	return (1+2*logSpares)*o.logSegment() + 64<<10
}

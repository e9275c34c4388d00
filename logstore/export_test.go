package logstore

import "time"

// For the tests of package logstore_test.

// OpenAt is Open with another clock.
func OpenAt(dir string, o Options, now func() time.Time) (*Store, error) {
	o.now = now
	return Open(dir, o)
}

// ParseLabels takes the encoding of labels, as it is in segments, apart.
func ParseLabels(enc string) (Labels, error) { return parseLabels(enc) }

// Tailed reports whether a Tail has begun.
func (s *Store) Tailed() bool { return s.reads.tails.any.Load() }

// MostLog is what the log may take of the disk while nothing is in memory: the
// file that is written, those that are ready, those to be used again, and a few
// pages.
func MostLog(memory int64) int64 {
	o := Options{Memory: memory}
	return (1+2*logSpares)*o.logSegment() + 64<<10
}

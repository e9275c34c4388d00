package catalog

import (
	"fmt"

	"github.com/stele-go/stele/logstore/internal/segment"
)

// Names below the folder of a store. The layout is drawn in the package comment.
const (
	SegmentFolder    = "segments"
	QuarantineFolder = "quarantine"
	SegmentSuffix    = ".seg"
	ReportSuffix     = ".txt" // of what tells why a segment is in quarantine
	// tempSuffix ends the names of files that are being written. Whoever holds
	// the lock on the store knows that nobody writes them any more.
	tempSuffix = ".part"
)

// A positions is what the name of a segment says of it.
type positions struct {
	after, upto uint64 // (after, upto] of the WAL's positions
	generation  uint32
}

func (s positions) String() string {
	return fmt.Sprintf("%016x-%016x-%08x%s", s.after, s.upto, s.generation, SegmentSuffix)
}

// ParseName is what the name of a segment, without folders, says of it: After, Upto
// and Generation. ok is false for a name that none has.
func ParseName(name string) (info segment.Info, ok bool) {
	s, ok := parseName(name)
	return segment.Info{After: s.after, Upto: s.upto, Generation: s.generation}, ok
}

// parseName takes the name of a segment apart. ok is false for whatever String
// does not return.
func parseName(name string) (s positions, ok bool) {
	if _, err := fmt.Sscanf(name, "%16x-%16x-%8x"+SegmentSuffix, &s.after, &s.upto, &s.generation); err != nil {
		return positions{}, false
	}
	if s.String() != name || s.after >= s.upto {
		return positions{}, false
	}
	return s, true
}

// contains reports whether s has all positions of t.
func (s positions) contains(t positions) bool { return s.after <= t.after && t.upto <= s.upto }

// overlaps reports whether some position is in both.
func (s positions) overlaps(t positions) bool { return s.after < t.upto && t.after < s.upto }

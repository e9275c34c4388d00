package catalog

import (
	"fmt"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// Names below the directory of a store. The package comment draws the layout.
const (
	SegmentDir    = "segments"
	QuarantineDir = "quarantine"
	SegmentSuffix = ".seg"
	ReportSuffix  = ".txt" // of reports in quarantine
	// tempSuffix ends the names of files being written. The holder of the
	// store's lock knows that no other process writes them.
	tempSuffix = ".part"
)

// positions are the positions of the log that a segment holds, and its
// generation: what its name says.
type positions struct {
	after, upto uint64 // (after, upto] of the WAL's positions
	generation  uint32
}

func (s positions) String() string {
	return fmt.Sprintf("%016x-%016x-%08x%s", s.after, s.upto, s.generation, SegmentSuffix)
}

// ParseName returns After, Upto and Generation of a segment's file name. ok is
// false for any other name.
func ParseName(name string) (info segment2.Info, ok bool) {
	s, ok := parseName(name)
	return segment2.Info{After: s.after, Upto: s.upto, Generation: s.generation}, ok
}

// parseName parses the result of String. ok is false for any other string.
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

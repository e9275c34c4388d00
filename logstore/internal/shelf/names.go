package shelf

import "fmt"

// Names below the folder of the store. The layout is drawn in the package
// comment.
const (
	segmentsDir   = "segments"
	quarantineDir = "quarantine"
	suffix        = ".seg"
	reportSuffix  = ".txt"
	// tempSuffix ends the names of files that are being written. Whoever holds
	// the lock on the store knows that nobody writes them any more.
	tempSuffix = ".part"
)

// A span is what the name of a segment says of it.
type span struct {
	after, upto uint64 // (after, upto] of the WAL's positions
	generation  uint32
}

func (s span) String() string {
	return fmt.Sprintf("%016x-%016x-%08x%s", s.after, s.upto, s.generation, suffix)
}

// parseName takes the name of a segment apart. ok is false for whatever String
// does not return.
func parseName(name string) (s span, ok bool) {
	if _, err := fmt.Sscanf(name, "%16x-%16x-%8x.seg", &s.after, &s.upto, &s.generation); err != nil {
		return span{}, false
	}
	return s, s.String() == name && s.after < s.upto
}

// holds reports whether s has all positions of t.
func (s span) holds(t span) bool { return s.after <= t.after && t.upto <= s.upto }

// meets reports whether some position is in both.
func (s span) meets(t span) bool { return s.after < t.upto && t.after < s.upto }

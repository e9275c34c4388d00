package report

import (
	"fmt"
	"strings"

	"github.com/stele-go/stele/lab/run"
)

// Notes returns the remarks about the whole run, and names the directories that could
// not be removed.
func Notes(r *run.Run) []string {
	var notes []string
	for _, n := range r.Notes {
		notes = append(notes, clean(noteText(n)))
	}
	for _, l := range r.Left {
		notes = append(notes, clean(fmt.Sprintf("%s could not be removed: %s", l.Dir, l.Error)))
	}
	return notes
}

func noteText(n run.Note) string {
	switch n.Code {
	case run.NoteText:
		return n.Text
	case run.NoteShell:
		return fmt.Sprintf("Each run includes the start of sh, which takes %s here and is not subtracted; --no-shell starts the program itself.", duration(float64(n.N)))
	case run.NoteSyncProof:
		return "Power cuts, not times, show what each way to sync makes durable: go test ./proofs/filesystem -run TestSyncTable -v (as root, in Stele's repository)"
	case run.NoteBehind:
		return fmt.Sprintf("Job %s in %s does not keep up with its rate: it does %d of the %d operations a second that arrive. Its latency grows as long as a block lasts; take a lower rate.", n.Text, n.Place, n.N, n.Of)
	case run.NoteJitter:
		return jitterText(n)
	}
	return strings.TrimSpace(n.Code + " " + n.Text)
}

// jitterText names the rate at which the jitter of each variant jumps, and says what a
// jump is.
func jitterText(n run.Note) string {
	var ways []string
	for _, j := range n.Jumps {
		ways = append(ways, j.Variant+": "+JitterJump(j))
	}
	return fmt.Sprintf("sync/frequency, file=%s, in %s: %s. "+
		"Jitter is the standard deviation of the operations of a block. It jumps at the first rate from which on it is at least %d times what it is at every lower one, by its interval.",
		n.Text, n.Place, strings.Join(ways, "; "), n.N)
}

// JitterJump words the rate at which jitter jumps: "jump at 80 a second".
func JitterJump(j run.JitterJump) string {
	switch {
	case j.From == 0:
		return fmt.Sprintf("no jump up to %d a second", j.Most)
	case j.From == j.To:
		return fmt.Sprintf("jump at %d a second", j.From)
	case j.To == 0 && j.From == j.Most:
		return fmt.Sprintf("cannot tell: a jump at %d a second, or none", j.From)
	case j.To == 0:
		return fmt.Sprintf("cannot tell: a jump at %d a second or above, or none", j.From)
	}
	return fmt.Sprintf("jump between %d and %d a second", j.From, j.To)
}

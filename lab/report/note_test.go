package report

import (
	"slices"
	"testing"

	"github.com/stele-go/stele/lab/run"
)

func TestNotes(t *testing.T) {
	const rule = ". Jitter is the standard deviation of the operations of a block. It jumps at the first rate from which on it is at least 2 times what it is at every lower one, by its interval."
	for _, c := range []struct {
		note run.Note
		want string
	}{
		{run.Note{Code: run.NoteText, Text: "build\x1b 7"}, "build\uFFFD 7"},
		{run.Note{Code: run.NoteShell, N: 1_250_000}, "Each run includes the start of sh, which takes 1.25 ms here and is not subtracted; --no-shell starts the program itself."},
		{
			run.Note{Code: run.NoteBehind, Place: "here", Text: "reads", N: 800, Of: 1000},
			"Job reads in here does not keep up with its rate: it does 800 of the 1000 operations a second that arrive. Its latency grows as long as a block lasts; take a lower rate.",
		},
		{run.Note{Code: run.NoteSyncProof}, "Power cuts, not times, show what each way to sync makes durable: go test ./proofs/filesystem -run TestSyncTable -v (as root, in Stele's repository)"},
		{
			run.Note{Code: run.NoteJitter, Place: "here", Text: "append", N: 2, Jumps: []run.JitterJump{
				{Variant: "a", Most: 200}, {Variant: "b", From: 80, To: 80, Most: 200}, {Variant: "c", From: 200, Most: 200},
				{Variant: "d", From: 20, Most: 200}, {Variant: "e", From: 20, To: 80, Most: 200},
			}},
			"sync/frequency, file=append, in here: a: no jump up to 200 a second; b: jump at 80 a second; c: cannot tell: a jump at 200 a second, or none; " +
				"d: cannot tell: a jump at 20 a second or above, or none; e: jump between 20 and 80 a second" + rule,
		},
		{run.Note{Code: "of a newer Stele", Text: "x"}, "of a newer Stele x"},
	} {
		if got := Notes(&run.Run{Notes: []run.Note{c.note}}); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%+v: %q, want %q", c.note, got, c.want)
		}
	}
}

// evilNotes are of every kind, with a text in each value.
func evilNotes(evil string) []run.Note {
	var out []run.Note
	for _, code := range []string{run.NoteText, run.NoteShell, run.NoteSyncProof, run.NoteBehind, run.NoteJitter, evil} {
		out = append(out, run.Note{Code: code, Place: evil, Text: evil, Jumps: []run.JitterJump{{Variant: evil}}})
	}
	return out
}

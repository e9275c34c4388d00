package run

import "encoding/json"

// A Note is a remark about a whole run, as a code with values.
type Note struct {
	Code  string `json:"code"` // one of the Note constants
	Place string `json:"place,omitempty"`
	N     int64  `json:"n,omitempty"`
	Of    int64  `json:"of,omitempty"`
	Text  string `json:"text,omitempty"`
	// Jumps are those of NoteJitter, one a variant.
	Jumps []JitterJump `json:"jumps,omitempty"`
}

// Codes of a Note, with the values that each comes with.
const (
	NoteText      = "text"       // Text alone: words of the program that measured, or a sentence of an earlier version
	NoteShell     = "shell"      // each run of a command includes the start of a shell, which takes N ns
	NoteSyncProof = "sync-proof" // power cuts, not times, show what each way to sync makes durable
	NoteBehind    = "behind"     // in Place the job Text does N of the Of operations a second that arrive, and its queue grows
	NoteJitter    = "jitter"     // Jumps of the experiments sync/frequency with file Text in Place; a jump is at least N times
)

// A JitterJump is the rate at which the jitter of a variant jumps.
type JitterJump struct {
	Variant string `json:"variant"`
	// From and To are the lowest and the highest rate, in operations a second, at which
	// the jitter may jump by its intervals. To is 0 if it is not sure that it jumps, and
	// From is 0 if it surely does not.
	From int `json:"from,omitempty"`
	To   int `json:"to,omitempty"`
	Most int `json:"most"` // the highest rate that was measured
}

// UnmarshalJSON also reads a string, which earlier versions stored.
func (n *Note) UnmarshalJSON(data []byte) error {
	*n = Note{}
	if is, err := readSentence(data, &n.Text); is {
		n.Code = NoteText
		return err
	}
	type plain Note // without this method
	return json.Unmarshal(data, (*plain)(n))
}

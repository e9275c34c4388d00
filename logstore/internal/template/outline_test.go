package template

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestAppendOutline(t *testing.T) {
	var p Parser
	long := strings.Repeat("a word, ", 63) // 504 bytes
	for line, want := range map[string]string{
		"":                   "",
		"\tat a stack":       "\tat a stack",
		"took 12ms of 7.5 s": "took <_> of <_> s",
		"2025-01-15T08:00:00Z level=info msg=\"first\"": "<_> level=info msg=\"first\"",
		"12":                      "<_>",
		long + "an edge":          long + "an edge",
		long + "behind the edge":  long + "behind <_>",
		long + "12345678":         long + "<_>",
		long + "123456789":        long + "<_>",
		long + "1 2 3 4 5":        long + "<_> <_> <_> <_> <_>",
		strings.Repeat("é", 400):  "<_>",
		strings.Repeat("1 ", 400): "<_>", // more than MaxSlots
	} {
		if got := string(p.AppendOutline([]byte("x"), []byte(line), "<_>")); got != "x"+want {
			t.Errorf("%q: %q; want %q", line, got, want)
		}
	}
}

// A line of which there are enough has the pattern that is its outline, if no other line has
// other words.
func TestOutlineIsPattern(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 52))
	words := []string{"a", "word", "12", "7ms", "of", "-3", "1.5", "=", "/", " ", " ", ": ", "é", "2025-01-15T08:00:00Z"}
	for range 500 {
		var line []byte
		for range r.IntN(20) {
			line = append(line, words[r.IntN(len(words))]...)
		}
		var p Parser
		p.Reset(NewMiner())
		text := bytes.Repeat(line, minLines)
		for i := range minLines {
			p.Add(text, i*len(line), (i+1)*len(line))
		}
		p.Finish(text)
		k, _ := p.Row(0)
		of := p.Table()[k]
		want := strings.ReplaceAll(of.Template().String(), "<*><*>", "<*>")
		if got := string(p.AppendOutline(nil, line, "<*>")); got != want {
			t.Errorf("%q: %q; want %q", line, got, want)
		}
	}
}

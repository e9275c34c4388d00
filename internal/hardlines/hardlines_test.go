package hardlines_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/stele-go/stele/internal/hardlines"
)

// Lines are the same for a seed, fit into a file unless they are of many lines, and are as
// their kind says.
func TestLines(t *testing.T) {
	check := map[string]func(line []byte) bool{
		"random": func(line []byte) bool { return !utf8.Valid(line) },
		"base64": func(line []byte) bool { return len(line)%4 == 0 },
		"text":   utf8.Valid,
		"json":   json.Valid,
		"traces": func(line []byte) bool { return bytes.Count(line, []byte("\n")) > 5 },
	}
	for _, k := range hardlines.Kinds() {
		one, same, other := k.Lines(1), k.Lines(1), k.Lines(2)
		differ := 0
		for range 1000 {
			line := slices.Clone(one())
			if !bytes.Equal(same(), line) {
				t.Fatalf("%s: the same seed gave another line than %q", k.Name, line)
			}
			if !bytes.Equal(other(), line) {
				differ++
			}
			if !check[k.Name](line) || k.Name != "traces" && bytes.ContainsAny(line, "\n\r") {
				t.Fatalf("%s: %q", k.Name, line)
			}
		}
		if differ < 990 {
			t.Errorf("%s: %d lines of another seed differ", k.Name, differ)
		}
	}
}

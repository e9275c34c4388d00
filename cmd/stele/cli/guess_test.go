package cli

import (
	"strings"
	"testing"
)

func TestGuess(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"bnech"}, `no command "bnech" (did you mean bench?)`},
		{[]string{"xyzzy"}, `no command "xyzzy";`},
		{[]string{"bench", "mkdri"}, "(did you mean mkdir?)"},
		{[]string{"bench", "claim"}, "(did you mean claims?)"},
		{[]string{"bench", "cdm"}, "(did you mean cmd?)"},
		{[]string{"bench", "D55"}, "(did you mean D5?)"},
		{[]string{"bench", "--budgte", "3s"}, "(did you mean --budget?)"},
		{[]string{"bench", "--qqqqqqqq"}, "unknown flag: --qqqqqqqq\n"},
	} {
		code, _, diag := stele(t, c.args...)
		if code != exitUsage || !strings.Contains(diag, c.want) {
			t.Errorf("stele %s: exit code %d, %q; want %d and %q", strings.Join(c.args, " "), code, diag, exitUsage, c.want)
		}
	}
}

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"kitten", "sitting", 3}} {
		if got := edits(c.a, c.b); got != c.want {
			t.Errorf("edits(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestVersionFlag(t *testing.T) {
	_, want, _ := stele(t, "version")
	if code, got, _ := stele(t, "--version"); code != exitOK || got != want {
		t.Errorf("stele --version: exit code %d, %q; want 0, %q", code, got, want)
	}
}

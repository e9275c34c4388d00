package cli

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/header/notice"
)

func TestDiffOfAnEndlessLine(t *testing.T) {
	src := []byte(strings.Repeat("x", 100))
	c := notice.Change{Old: src[:0], New: []byte("// y\n\n")}
	if d := diff(c, "a.js", src, true); !strings.Contains(d, "+// y\n") || !strings.Contains(d, "No newline") {
		t.Errorf("all of it is there: %s", d)
	}
	if d := diff(c, "a.js", src, false); strings.Contains(d, "@@") {
		t.Errorf("its end is not known, and yet: %s", d)
	}
}

package cli

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/stele-go/stele/header/notice"
)

// diffContext is how many unchanged lines a diff shows on each side.
const diffContext = 3

// diff formats the change c of the file path as a patch for patch(1) and git
// apply. src is the beginning of the file, or all of it if whole is set. The
// patch has one hunk: a notice is in one place.
func diff(c notice.Change, path string, src []byte, whole bool) string {
	tail, n := src[len(c.Old):], 0
	for range diffContext + 1 { // the first may be the rest of a line
		n += lineLength(tail[n:])
	}
	if tail = tail[:n]; !whole && !bytes.HasSuffix(tail, []byte("\n")) {
		return fmt.Sprintf("# %s: a line at its head is too long to be shown\n", path)
	}
	a := diffLines(append(bytes.Clone(c.Old), tail...))
	b := diffLines(append(bytes.Clone(c.New), tail...))
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	end := 0
	for end < min(len(a), len(b))-same && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	from := max(0, same-diffContext)
	toA, toB := min(len(a), len(a)-end+diffContext), min(len(b), len(b)-end+diffContext)
	var out strings.Builder
	name := strings.TrimPrefix(filepath.ToSlash(path), "/")
	if strings.ContainsAny(name, " \t") {
		name += "\t" // ends a name with spaces, as git does
	}
	fmt.Fprintf(&out, "--- a/%s\n+++ b/%s\n@@ -%s +%s @@\n", name, name, hunkRange(from, toA), hunkRange(from, toB))
	diffSide(&out, ' ', a[from:same])
	diffSide(&out, '-', a[same:len(a)-end])
	diffSide(&out, '+', b[same:len(b)-end])
	diffSide(&out, ' ', a[len(a)-end:toA])
	return out.String()
}

// lineLength returns the length of the first line of text, its end included.
func lineLength(text []byte) int {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return i + 1
	}
	return len(text)
}

func diffLines(text []byte) []string {
	lines := strings.SplitAfter(string(text), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// hunkRange is "first,count"; an empty range has the number of the line before.
func hunkRange(from, to int) string {
	if from == to {
		return fmt.Sprintf("%d,0", from)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func diffSide(out *strings.Builder, mark byte, lines []string) {
	for _, l := range lines {
		out.WriteByte(mark)
		out.WriteString(l)
		if !strings.HasSuffix(l, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

package notice

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
)

// diffContext is how many unchanged lines a diff shows on each side.
const diffContext = 3

// Diff shows the change of the file path, which begins with src (and is src, if
// whole is true), in the form that patch and git apply read. There is one hunk:
// a change of a notice is in one place.
func (c Change) Diff(path string, src []byte, whole bool) string {
	tail, n := src[len(c.Old):], 0
	for range diffContext + 1 { // the first may be the rest of a line
		n += len(lineAt(tail[n:]))
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

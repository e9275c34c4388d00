package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/header/notice"
)

// A headerReport is what --json writes.
type headerReport struct {
	Schema string      `json:"schema"`
	Verb   notice.Verb `json:"verb"`
	Raw    bool        `json:"raw,omitempty"`
	DryRun bool        `json:"dry_run"`
	// Promise is that of each change. With --raw it stands with each file.
	Promise     *durability.Promise `json:"promise,omitempty"`
	Interrupted bool                `json:"interrupted"`
	Files       []outcome           `json:"files"`
	Summary     map[string]int      `json:"summary"` // files by state; "files" is all
}

const headerSchema = "stele.header/1"

func summarize(files []outcome) map[string]int {
	n := map[string]int{"files": len(files)}
	for _, f := range files {
		n[string(f.State)]++
	}
	return n
}

// reasons counts why files were skipped, most frequent first.
func reasons(files []outcome) (names []string, n map[string]int) {
	n = map[string]int{}
	for _, f := range files {
		if f.State == notice.Skipped {
			n[f.Reason]++
		}
	}
	names = slices.SortedFunc(maps.Keys(n), func(a, b string) int { return cmp.Or(n[b]-n[a], cmp.Compare(a, b)) })
	return names, n
}

// stateWords are the states in the order of the summary, in words for people;
// doing is what is said of a change that a dry run did not make.
var stateWords = []struct {
	state      notice.State
	did, would string
}{
	{notice.Inserted, "inserted", "would be inserted"},
	{notice.Replaced, "replaced", "would be replaced"},
	{notice.Removed, "removed", "would be removed"},
	{notice.Has, "with the header", "with the header"},
	{notice.Other, "with another notice", "with another notice"},
	{notice.Missing, "without", "without"},
	{stateFailed, "failed", "failed"},
	{stateNotBegun, "not begun", "not begun"},
}

// text prints the report for people: a line for each file that was changed or
// that somebody must look at (for all if verbose is set), and a summary.
func (r *headerReport) text(w io.Writer, verbose bool) error {
	var b strings.Builder
	for _, f := range r.Files {
		if !verbose && !r.worthALine(f.State) {
			continue
		}
		fmt.Fprintf(&b, "%-9s %s", f.State, f.Path)
		if f.Reason != "" {
			fmt.Fprintf(&b, "  (%s)", f.Reason)
		}
		b.WriteByte('\n')
	}
	var parts []string
	for _, s := range stateWords {
		n := r.Summary[string(s.state)]
		if n == 0 {
			continue
		}
		word := s.did
		if r.DryRun {
			word = s.would
		}
		parts = append(parts, fmt.Sprintf("%d %s", n, word))
	}
	if n := r.Summary[string(notice.Skipped)]; n > 0 {
		var why []string
		names, counts := reasons(r.Files)
		for _, name := range names {
			why = append(why, fmt.Sprintf("%d %s", counts[name], name))
		}
		parts = append(parts, fmt.Sprintf("%d left out (%s)", n, strings.Join(why, ", ")))
	}
	fmt.Fprint(&b, countFiles(r.Summary["files"]))
	if len(parts) > 0 {
		fmt.Fprintf(&b, ": %s", strings.Join(parts, ", "))
	}
	b.WriteByte('\n')
	if n := r.changed(); n > 0 && !r.DryRun && r.Promise != nil {
		fmt.Fprintf(&b, "What was written %s; a crash meanwhile leaves a file old or new.\n", r.Promise.Level.Survives())
	}
	if r.Summary[string(notice.Other)] > 0 && (r.Verb == notice.Replace || r.Verb == notice.Remove) {
		hint := "--marker WORD"
		if r.Verb == notice.Replace {
			hint = "--old TEXT or --marker WORD"
		}
		fmt.Fprintf(&b, "Files with another notice were left as they are; %s says which of them are meant.\n", hint)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// countFiles is n files in words.
func countFiles(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprint(n, " files")
}

// worthALine says whether files of this state are listed unasked.
func (r *headerReport) worthALine(state notice.State) bool {
	switch state {
	case notice.Has, notice.Skipped, stateNotBegun:
		return false
	case notice.Other:
		return r.Verb == notice.Replace || r.Verb == notice.Remove
	case notice.Missing:
		return r.Verb == notice.Check
	}
	return true
}

func (r *headerReport) changed() int {
	return r.Summary[string(notice.Inserted)] + r.Summary[string(notice.Replaced)] + r.Summary[string(notice.Removed)]
}

// newFileProgress shows on standard error how many files are done, in the
// modes of newProgress. end leaves the cursor at the start of an empty line.
func newFileProgress(mode string, stderr io.Writer) (tell func(done, of int, path string), end func(), err error) {
	if mode == "auto" {
		mode = "plain"
		if width(stderr) > 0 {
			mode = "line"
		}
	}
	every, last := 10*time.Second, time.Now() // what is done soon shows nothing
	show := func(done, of int, path string) { fmt.Fprintf(stderr, "[%d/%d] %s\n", done, of, path) }
	end = func() {}
	switch mode {
	case "line":
		every = 100 * time.Millisecond
		show = func(done, of int, path string) {
			line := []rune(fmt.Sprintf("[%d/%d] %s", done, of, path))
			if n := width(stderr); n > 0 && len(line) >= n {
				line = line[:n-1]
			}
			fmt.Fprintf(stderr, "\r\x1b[K%s", string(line))
		}
		end = func() { fmt.Fprint(stderr, "\r\x1b[K") }
	case "plain":
	case "json":
		every = time.Second
		enc := json.NewEncoder(stderr)
		show = func(done, of int, path string) {
			enc.Encode(struct {
				Done int    `json:"done"`
				Of   int    `json:"of"`
				Path string `json:"path"`
			}{done, of, path})
		}
	case "none":
		return func(int, int, string) {}, end, nil
	default:
		return nil, nil, fmt.Errorf("--progress=%s: want one of %s", mode, strings.Join(progressModes, ", "))
	}
	return func(done, of int, path string) {
		if time.Since(last) >= every {
			last = time.Now()
			show(done, of, path)
		}
	}, end, nil
}

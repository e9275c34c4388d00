package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/header/notice"
)

// A headerReport is the document that --json writes.
type headerReport struct {
	Schema string        `json:"schema"`
	Verb   notice.Action `json:"verb"`
	Raw    bool          `json:"raw,omitempty"`
	DryRun bool          `json:"dry_run"`
	// Promise holds for each change. With --raw each file has its own.
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

// reasons counts the reasons of skipped files, most frequent first.
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

// stateWords are the states in the order of the summary, in words for people:
// after a run, and after a dry run.
var stateWords = []struct {
	state      notice.State
	did, would string
}{
	{notice.Inserted, "inserted", "would be inserted"},
	{notice.Replaced, "replaced", "would be replaced"},
	{notice.Removed, "removed", "would be removed"},
	{notice.Present, "with the header", "with the header"},
	{notice.Other, "with another notice", "with another notice"},
	{notice.Missing, "without", "without"},
	{stateFailed, "failed", "failed"},
	{stateNotBegun, "not begun", "not begun"},
}

// text prints the report for people: a line for each file that was changed or
// needs attention (for every file if verbose is set), and a summary.
func (r *headerReport) text(w io.Writer, verbose bool) error {
	var b strings.Builder
	for _, f := range r.Files {
		if !verbose && !r.listed(f.State) {
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
		parts = append(parts, fmt.Sprintf("%d skipped (%s)", n, strings.Join(why, ", ")))
	}
	fmt.Fprint(&b, countFiles(r.Summary["files"]))
	if len(parts) > 0 {
		fmt.Fprintf(&b, ": %s", strings.Join(parts, ", "))
	}
	b.WriteByte('\n')
	if n := r.changed(); n > 0 && !r.DryRun && r.Promise != nil {
		fmt.Fprintf(&b, "Each change %s; a crash during it leaves the file old or new.\n", r.Promise.Level.Survives())
	}
	if r.Summary[string(notice.Other)] > 0 && (r.Verb == notice.Replace || r.Verb == notice.Remove) {
		hint := "--marker WORD"
		if r.Verb == notice.Replace {
			hint = "--old TEXT or --marker WORD"
		}
		fmt.Fprintf(&b, "Files with another notice were left as they are; %s selects those to change.\n", hint)
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

// listed reports whether files of this state are listed without -v.
func (r *headerReport) listed(state notice.State) bool {
	switch state {
	case notice.Present, notice.Skipped, stateNotBegun:
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

// showFiles returns a function that shows on m how many files are done. Short
// work shows nothing.
func showFiles(m *meter) func(done, of int, path string) {
	m.jsonEvery, m.last = time.Second, time.Now()
	return func(done, of int, path string) {
		event := struct {
			Done int    `json:"done"`
			Of   int    `json:"of"`
			Path string `json:"path"`
		}{done, of, path}
		m.show(false, event, func() string { return fmt.Sprintf("[%d/%d] %s", done, of, path) })
	}
}

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/stele-go/stele/lab"
)

// progressModes are the values of --progress.
var progressModes = []string{"auto", "line", "plain", "json", "none"}

func progressFlag(f *pflag.FlagSet, to *string) {
	f.StringVar(to, "progress", "auto", "progress on standard error: `MODE` is "+strings.Join(progressModes, ", "))
}

// A meter shows progress on standard error. In mode line it redraws one line,
// at most ten times a second. In mode plain it prints lines, one in ten seconds.
// In mode json it prints events, one in jsonEvery.
type meter struct {
	w         io.Writer
	mode      string
	jsonEvery time.Duration
	last      time.Time
}

func newMeter(mode string, stderr io.Writer) (*meter, error) {
	if mode == "auto" {
		mode = "plain"
		if width(stderr) > 0 {
			mode = "line"
		}
	}
	return &meter{w: stderr, mode: mode}, oneOf("--progress", mode, progressModes...)
}

// show shows an event, which line words, if the last one is long enough ago. now
// has mode plain show it in any case.
func (m *meter) show(now bool, event any, line func() string) {
	every := map[string]time.Duration{"line": 100 * time.Millisecond, "plain": 10 * time.Second, "json": m.jsonEvery}[m.mode]
	if m.mode == "none" || time.Since(m.last) < every && !(now && m.mode == "plain") {
		return
	}
	m.last = time.Now()
	switch m.mode {
	case "line":
		text := []rune(line())
		if n := width(m.w); n > 0 && len(text) >= n {
			text = text[:n-1]
		}
		fmt.Fprintf(m.w, "\r\x1b[K%s", string(text))
	case "plain":
		fmt.Fprintln(m.w, line())
	case "json":
		json.NewEncoder(m.w).Encode(event)
	}
}

// note shows an event on a line that stays.
func (m *meter) note(event any, line string) {
	switch m.mode {
	case "line":
		fmt.Fprintf(m.w, "\r\x1b[K%s\n", line)
	case "plain":
		fmt.Fprintln(m.w, line)
	case "json":
		json.NewEncoder(m.w).Encode(event)
	}
}

// warn prints a warning of a command. In mode json it is an event.
func (m *meter) warn(name string, err error) {
	if m.mode == "json" {
		json.NewEncoder(m.w).Encode(map[string]string{"event": "warning", "text": err.Error()})
		return
	}
	m.end()
	complain(m.w, name, err)
}

// end leaves the cursor at the start of an empty line.
func (m *meter) end() {
	if m.mode == "line" {
		fmt.Fprint(m.w, "\r\x1b[K")
	}
}

// width returns the width of the terminal w, or 0 if w is no terminal.
func width(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return n
}

// showRun returns a function that shows the events of a run on m. Events come
// between blocks only, so showing them disturbs no measurement.
func showRun(m *meter) func(lab.Event) {
	index := 0
	return func(e lab.Event) {
		if e.Kind == "forecast" || e.Kind == "piloted" {
			m.note(e, forecast(e))
			return
		}
		m.show(e.Index != index, e, func() string { return describe(e) })
		index = e.Index
	}
}

// forecast says how long the run will take: before its first block, and better once the
// pilots of all experiments are run.
func forecast(e lab.Event) string {
	left := time.Duration(e.Left).Round(time.Second)
	if e.Kind == "piloted" {
		return fmt.Sprintf("the pilots are run: about %v left", left)
	}
	noun := "experiments"
	if e.Of == 1 {
		noun = "experiment"
	}
	return fmt.Sprintf("%d %s, about %v; Ctrl-C ends sooner and keeps the measurements", e.Of, noun, left)
}

func describe(e lab.Event) string {
	var b strings.Builder
	if e.Kind == "done" {
		fmt.Fprintf(&b, "done in %v", time.Duration(e.Elapsed).Round(time.Second))
		return b.String()
	}
	fmt.Fprintf(&b, "[%d/%d] %s", e.Index, e.Of, e.Experiment)
	switch e.Kind {
	case "pilot":
		b.WriteString("  pilot")
	case "count":
		b.WriteString("  counting system calls")
	case "waits":
		b.WriteString("  watching goroutines")
	case "trace":
		b.WriteString("  timing system calls")
	default:
		fmt.Fprintf(&b, "  round %d/%d", e.Round, e.Rounds)
	}
	if e.Left > 0 {
		fmt.Fprintf(&b, "  %.0f %%, about %v left", 100*e.Share, time.Duration(e.Left).Round(time.Second))
	}
	fmt.Fprintf(&b, "  %s", e.Variant)
	return b.String()
}

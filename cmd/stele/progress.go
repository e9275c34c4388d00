package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/stele-go/stele/lab"
)

// progressModes are the values of --progress.
var progressModes = []string{"auto", "line", "plain", "json", "none"}

// A progress shows on standard error how far a run is. It is told between
// blocks only, so nothing it does falls into a measurement.
type progress struct {
	tell func(lab.Event)
	end  func() // leaves the cursor at the start of an empty line
}

func newProgress(mode string, stderr io.Writer) (progress, error) {
	if mode == "auto" {
		mode = "plain"
		if width(stderr) > 0 {
			mode = "line"
		}
	}
	switch mode {
	case "line":
		return redrawn(stderr), nil
	case "plain":
		return plain(stderr), nil
	case "json":
		enc := json.NewEncoder(stderr)
		return progress{tell: func(e lab.Event) { enc.Encode(e) }, end: func() {}}, nil
	case "none":
		return progress{tell: func(lab.Event) {}, end: func() {}}, nil
	}
	return progress{}, fmt.Errorf("--progress=%s: want one of %s", mode, strings.Join(progressModes, ", "))
}

// width of the terminal that w is, or 0 where it is none.
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

// redrawn is one line that is drawn over again, at most ten times a second.
func redrawn(w io.Writer) progress {
	var last time.Time
	return progress{
		tell: func(e lab.Event) {
			if time.Since(last) < 100*time.Millisecond {
				return
			}
			last = time.Now()
			line := []rune(describe(e))
			if n := width(w); n > 0 && len(line) >= n {
				line = line[:n-1]
			}
			fmt.Fprintf(w, "\r\x1b[K%s", string(line))
		},
		end: func() { fmt.Fprint(w, "\r\x1b[K") },
	}
}

// plain is a line for each experiment and after every ten seconds, for logs.
func plain(w io.Writer) progress {
	var last time.Time
	var lastIndex int
	return progress{
		tell: func(e lab.Event) {
			if e.Index == lastIndex && time.Since(last) < 10*time.Second {
				return
			}
			last, lastIndex = time.Now(), e.Index
			fmt.Fprintln(w, describe(e))
		},
		end: func() {},
	}
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

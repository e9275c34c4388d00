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

	"github.com/stele-go/stele/internal/units"
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

// showRun returns a function that shows the events of a run on m, by the claims that it
// tests if it tests some. Events come between blocks only, so showing them disturbs no
// measurement.
func showRun(m *meter, tested claimCount) func(lab.Event) {
	index := 0
	return func(e lab.Event) {
		s := tested.step(e)
		if e.Kind == "forecast" || e.Kind == "piloted" {
			m.note(s, s.forecast())
			return
		}
		m.show(e.Index != index, s, s.describe)
		index = e.Index
	}
}

// A claimCount has the claims that a run tests.
type claimCount struct {
	ids []string       // of the claims, in order
	of  map[string]int // by ID of an experiment: the number of the first claim that it tests, from 1
}

// countClaims counts the claims of which an experiment was chosen.
func (s selection) countClaims() claimCount {
	chosen := map[string]bool{}
	for i := range s.experiments {
		chosen[s.experiments[i].ID()] = true
	}
	c := claimCount{of: map[string]int{}}
	for _, claim := range s.claims {
		first := true
		for i := range claim.Experiments {
			id := claim.Experiments[i].ID()
			if !chosen[id] {
				continue
			}
			if first {
				c.ids = append(c.ids, claim.ID)
			}
			if first = false; c.of[id] == 0 {
				c.of[id] = len(c.ids)
			}
		}
	}
	return c
}

// A step is an event of a run with the claim that its experiment tests, if it tests one.
type step struct {
	lab.Event
	Claim      string `json:"claim,omitempty"`
	ClaimIndex int    `json:"claim_index,omitempty"` // from 1
	Claims     int    `json:"claims,omitempty"`      // of the whole run
}

func (c claimCount) step(e lab.Event) step {
	s := step{Event: e, Claims: len(c.ids)}
	if n := c.of[e.Experiment]; n > 0 {
		s.Claim, s.ClaimIndex = c.ids[n-1], n
	}
	return s
}

// forecast says how long the run will take: before its first block, and better once the
// pilots of all experiments are run.
func (s step) forecast() string {
	left := time.Duration(s.Left).Round(time.Second)
	if s.Kind == "piloted" {
		return fmt.Sprintf("the pilots are run: about %v left", left)
	}
	work := units.Count(s.Of, "experiment")
	if s.Claims > 0 {
		work = units.Count(s.Claims, "claim") + ", " + work
	}
	return fmt.Sprintf("%s, about %v; Ctrl-C ends sooner and keeps the measurements", work, left)
}

func (s step) describe() string {
	var b strings.Builder
	if s.Kind == "done" {
		fmt.Fprintf(&b, "done in %v", time.Duration(s.Elapsed).Round(time.Second))
		return b.String()
	}
	if s.Claim != "" {
		fmt.Fprintf(&b, "claim %d of %d, %s: %s", s.ClaimIndex, s.Claims, s.Claim, s.Experiment)
	} else {
		fmt.Fprintf(&b, "[%d/%d] %s", s.Index, s.Of, s.Experiment)
	}
	switch s.Kind {
	case "pilot":
		b.WriteString("  pilot")
	case "count":
		b.WriteString("  counting system calls")
	case "waits":
		b.WriteString("  watching goroutines")
	case "trace":
		b.WriteString("  timing system calls")
	default:
		fmt.Fprintf(&b, "  round %d/%d", s.Round, s.Rounds)
	}
	if s.Left > 0 {
		fmt.Fprintf(&b, "  %.0f %%, about %v left", 100*s.Share, time.Duration(s.Left).Round(time.Second))
	}
	fmt.Fprintf(&b, "  %s", s.Variant)
	return b.String()
}

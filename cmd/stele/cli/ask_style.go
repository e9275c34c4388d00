package cli

import (
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// A style says how an output shows what people read.
type style struct {
	on   bool // in colours
	tame bool // without control characters, as a terminal acts on them
}

const (
	sgrDim    = "2"
	sgrRed    = "31"
	sgrYellow = "33"
	sgrCyan   = "36"
)

func colorFlag(f *pflag.FlagSet) *string {
	return f.String("color", "auto", "colour the output: `WHEN` is auto (on a terminal, unless $NO_COLOR is set), always or never")
}

// newStyle returns the style of an output.
func newStyle(when string, w io.Writer) (style, error) {
	on := when == "always" || when == "auto" && width(w) > 0 && os.Getenv("NO_COLOR") == ""
	return style{on, on || isTerminal(w)}, oneOf("--color", when, "auto", "always", "never")
}

// plainStyle returns the style of an output without colours.
func plainStyle(w io.Writer) style { return style{tame: isTerminal(w)} }

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func (s style) color(sgr, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

// line returns a line of a log by its level, if one of its labels has one.
func (s style) line(text string, labels map[string]string) string {
	if !s.on {
		return text
	}
	level := labels["detected_level"]
	if level == "" {
		level = labels["level"]
	}
	switch strings.ToLower(level) {
	case "error", "err", "fatal", "critical", "crit", "panic":
		return s.color(sgrRed, text)
	case "warn", "warning":
		return s.color(sgrYellow, text)
	case "debug", "trace":
		return s.color(sgrDim, text)
	}
	return text
}

// labelText returns labels as a selector would have them.
func labelText(labels map[string]string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, name := range slices.Sorted(maps.Keys(labels)) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name)
		b.WriteByte('=')
		b.WriteString(strconv.Quote(labels[name]))
	}
	b.WriteByte('}')
	return b.String()
}

// timeText returns a time with as many digits as it needs, in UTC.
func timeText(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }

// plainText returns a text as the output may have it. A terminal gets no control characters,
// which might move its cursor or worse; a pipe without colours gets the text unchanged.
func (s style) plainText(text string) string {
	if !s.tame || !strings.ContainsFunc(text, isControl) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if isControl(r) {
			return '\uFFFD'
		}
		return r
	}, text)
}

// isControl reports whether a terminal acts on r otherwise than by a new line or a tab.
func isControl(r rune) bool { return r < ' ' && r != '\t' && r != '\n' || r >= 0x7f && r < 0xa0 }

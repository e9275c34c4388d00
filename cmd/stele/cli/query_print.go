package cli

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/stele-go/stele/cmd/stele/internal/lokiclient"
)

// printResult prints the result of a query.
func printResult(w io.Writer, r *lokiclient.Result, format string, look style) error {
	b := bufio.NewWriter(w)
	if r.Kind == "streams" {
		p, err := newEntryPrinter(b, format, look)
		if err != nil {
			return err
		}
		for _, e := range r.Entries {
			if err := p.print(e); err != nil {
				return err
			}
		}
		if err := p.flush(); err != nil {
			return err
		}
		return b.Flush()
	}
	if err := printSeries(b, r.Series, format, look); err != nil {
		return err
	}
	return b.Flush()
}

// An entryPrinter prints lines in one of the formats.
type entryPrinter struct {
	print func(lokiclient.Entry) error
	flush func() error
}

func newEntryPrinter(w io.Writer, format string, look style) (entryPrinter, error) {
	p := entryPrinter{flush: func() error { return nil }}
	switch format {
	case "raw":
		p.print = func(e lokiclient.Entry) error { return printLine(w, look.plainText(e.Line)) }
	case "json":
		enc := newJSONLines(w, look)
		p.print = func(e lokiclient.Entry) error { return enc.Encode(newEntryDoc(&e)) }
	case "csv":
		c := csv.NewWriter(w)
		err := c.Write([]string{"time", "labels", "metadata", "line"})
		p.flush = func() error { c.Flush(); return c.Error() }
		p.print = func(e lokiclient.Entry) error {
			return c.Write([]string{timeText(e.Time), labelText(e.Labels), metadataText(e.Metadata), look.plainText(e.Line)})
		}
		return p, err
	default:
		p.print = func(e lokiclient.Entry) error {
			_, err := fmt.Fprintf(w, "%s %s %s\n", look.color(sgrDim, timeText(e.Time)), look.color(sgrCyan, look.plainText(labelText(e.Labels))),
				look.line(look.plainText(e.Line), e.Labels))
			return err
		}
	}
	return p, nil
}

func printLine(w io.Writer, line string) error {
	if _, err := io.WriteString(w, line); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// metadataText returns metadata as labelText does, or "" if there is none.
func metadataText(m map[string]string) string {
	if len(m) == 0 {
		return ""
	}
	return labelText(m)
}

// newJSONLines returns an encoder that writes a line for each value.
func newJSONLines(w io.Writer, look style) *json.Encoder {
	if look.tame {
		w = tameWriter{w, look}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

// A tameWriter writes JSON to a terminal. Each call has whole runes.
type tameWriter struct {
	w    io.Writer
	look style
}

func (t tameWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(t.w, t.look.plainText(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// An entryDoc is a line as JSON.
type entryDoc struct {
	Time     string            `json:"time"`
	Labels   map[string]string `json:"labels"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Line     *string           `json:"line,omitempty"`
	Line64   []byte            `json:"line64,omitempty"` // if the line is not UTF-8, which JSON has to be
}

func newEntryDoc(e *lokiclient.Entry) entryDoc {
	doc := entryDoc{Time: timeText(e.Time), Labels: e.Labels, Metadata: e.Metadata}
	if utf8.ValidString(e.Line) {
		doc.Line = &e.Line
	} else {
		doc.Line64 = []byte(e.Line)
	}
	return doc
}

// A seriesDoc is a series as JSON.
type seriesDoc struct {
	Labels map[string]string `json:"labels"`
	Points []pointDoc        `json:"points"`
}

type pointDoc struct {
	Time string `json:"time"`
	// Value is text, as it may be NaN or +Inf.
	Value string `json:"value"`
}

// printSeries prints the result of a metric query: a row for each value.
func printSeries(w io.Writer, all []lokiclient.Series, format string, look style) error {
	switch format {
	case "json":
		enc := newJSONLines(w, look)
		for _, s := range all {
			doc := seriesDoc{Labels: s.Labels, Points: []pointDoc{}}
			if doc.Labels == nil {
				doc.Labels = map[string]string{}
			}
			for _, p := range s.Points {
				doc.Points = append(doc.Points, pointDoc{timeText(p.Time), p.Value})
			}
			if err := enc.Encode(doc); err != nil {
				return err
			}
		}
		return nil
	case "csv":
		c := csv.NewWriter(w)
		c.Write([]string{"time", "labels", "value"}) // Error has its error
		eachPoint(all, func(s lokiclient.Series, p lokiclient.Point) {
			c.Write([]string{timeText(p.Time), labelText(s.Labels), p.Value})
		})
		c.Flush()
		return c.Error()
	case "raw":
		var b strings.Builder
		eachPoint(all, func(_ lokiclient.Series, p lokiclient.Point) { fmt.Fprintln(&b, p.Value) })
		_, err := io.WriteString(w, b.String())
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	eachPoint(all, func(s lokiclient.Series, p lokiclient.Point) {
		fmt.Fprintf(t, "%s\t%s\t%s\n", look.color(sgrDim, timeText(p.Time)), p.Value, look.color(sgrCyan, look.plainText(labelText(s.Labels))))
	})
	return t.Flush()
}

func eachPoint(all []lokiclient.Series, f func(lokiclient.Series, lokiclient.Point)) {
	for _, s := range all {
		for _, p := range s.Points {
			f(s, p)
		}
	}
}

package logql

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

var update = flag.Bool("update", false, "write the answers of docs/logql.md anew")

// TestDocs runs each query of the page on the language and compares the last column of its row.
// With -update it writes that column.
func TestDocs(t *testing.T) {
	file := filepath.Join("..", "docs", "logql.md")
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	e := NewEngine(docsStore(t, string(page)), Options{})
	lines := strings.Split(string(page), "\n")
	rows, refused := 0, false
	for i, line := range lines {
		if strings.HasPrefix(line, "## ") {
			refused = line == "## What is refused"
		}
		query, want, ok := docsRow(line)
		if !ok {
			continue
		}
		rows++
		got := docsAnswer(e, query)
		if refused {
			if !strings.Contains(got, want) {
				t.Errorf("%s\n%s\nwant %s", query, got, want)
			}
			continue
		}
		if got != want {
			if !*update || strings.HasPrefix(got, "error") {
				t.Errorf("%s\n got %s\nwant %s", query, got, want)
				continue
			}
			lines[i] = strings.TrimSuffix(line, "| "+want+" |")
			lines[i] = strings.TrimSuffix(lines[i], "| |") + "| " + got + " |"
		}
	}
	if rows < 100 {
		t.Errorf("the page has %d queries", rows)
	}
	if text := []byte(strings.Join(lines, "\n")); *update && !bytes.Equal(text, page) {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// docsRow returns the query of a row of a table, and the text of its last column.
func docsRow(line string) (query, last string, ok bool) {
	const bar = "\x00"
	if !strings.HasPrefix(line, "|") {
		return "", "", false
	}
	cells := strings.Split(strings.ReplaceAll(line, `\|`, bar), "|")
	if len(cells) < 4 {
		return "", "", false
	}
	query, last = strings.TrimSpace(cells[len(cells)-3]), strings.TrimSpace(cells[len(cells)-2])
	if len(query) < 3 || query[0] != '`' || query[len(query)-1] != '`' {
		return "", "", false
	}
	return strings.ReplaceAll(query[1:len(query)-1], bar, "|"), strings.ReplaceAll(last, bar, "|"), true
}

// docsStore has the lines of the page.
func docsStore(t *testing.T, page string) *logstore.Store {
	_, block, _ := strings.Cut(page, "```lines\n")
	block, _, _ = strings.Cut(block, "\n```")
	s := openStore(t)
	for i, row := range strings.Split(block, "\n") {
		stream, line, _ := strings.Cut(row, "} ")
		entry := logstore.Entry{Time: second(10 * (i + 1))}
		if rest, ok := strings.CutPrefix(line, "+"); ok {
			var metadata string
			metadata, line, _ = strings.Cut(rest, "} ")
			entry.Metadata = docsLabels(t, metadata+"}")
		}
		if text, err := strconv.Unquote(line); err == nil {
			line = text
		}
		entry.Line = []byte(line)
		add(t, s, docsLabels(t, stream+"}"), entry)
	}
	return s
}

func docsLabels(t *testing.T, text string) logstore.Labels {
	l, err := logstore.ParseLabels(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// docsAnswer says what a query finds, as the page does.
func docsAnswer(e *Engine, query string) string {
	r := Request{Query: query, Start: base, End: second(300), Limit: 1000, Step: time.Minute}
	expr, err := syntax.Parse(query)
	if err != nil {
		return "error: " + err.Error()
	}
	_, log := expr.(*syntax.LogExpr)
	r.Instant = !log
	result, err := e.Run(context.Background(), r)
	if err != nil {
		return "error: " + err.Error()
	}
	if log && len(result.Lines) > 0 {
		if len(result.Lines) == 1 {
			return "1 line"
		}
		return fmt.Sprintf("%d lines", len(result.Lines))
	}
	var values []float64
	for _, s := range result.Series {
		values = append(values, s.Points[0].Value)
	}
	slices.SortFunc(values, func(a, b float64) int { return -cmpFloats(a, b) })
	var texts []string
	for _, v := range values {
		texts = append(texts, strconv.FormatFloat(v, 'g', 5, 64))
	}
	if texts == nil {
		return "-"
	}
	return strings.Join(texts, ", ")
}

func cmpFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

package report

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/lab/run"
)

func aHistory() *run.History {
	h := &run.History{}
	s := run.HistorySeries{Experiment: "s/job", Variant: "mine <b>", Baseline: "os", Changes: []run.HistoryChange{{Point: 6, Ratio: 1.2, P: 0.001}}}
	for i := range 12 {
		h.Runs = append(h.Runs, run.HistoryRun{Name: fmt.Sprintf("%d.json", i), Started: time.Date(2026, 3, 1+i, 0, 0, 0, 0, time.UTC), Build: &run.Build{Revision: fmt.Sprintf("%040x", 0xabc+i)}})
		m := 0.5
		if i >= 6 {
			m = 0.6
		}
		s.Points = append(s.Points, run.HistoryPoint{Run: i, Figure: run.Estimate{Median: m, Lo: m * .98, Hi: m * 1.02, N: 8, Confidence: .95}})
	}
	h.Runs[6].Build = nil
	h.Runs[9].Differs = []run.Difference{{Field: "kernel", Old: "7.0", New: "7.1", Matters: true}}
	h.Series = []run.HistorySeries{s}
	return h
}

func TestHistory(t *testing.T) {
	var text, md, svg strings.Builder
	if err := errors.Join(History(&text, aHistory()), HistoryMarkdown(&md, aHistory()), HistorySVG(&svg, aHistory())); err != nil {
		t.Fatal(err)
	}
	for name, out := range map[string]string{"text": text.String(), "Markdown": md.String(), "SVG": svg.String()} {
		for _, want := range []string{"1 change in 1 of 1 series", "1.20x at 6.json (2026-03-07)", "kernel: 7.0, now 7.1", "12 runs, from "} {
			if !strings.Contains(out, want) {
				t.Errorf("the %s lacks %q:\n%s", name, want, out)
			}
		}
		if name != "text" && strings.Contains(out, "<b>") {
			t.Errorf("the %s does not escape names", name)
		}
	}
	d := xml.NewDecoder(strings.NewReader(svg.String()))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("the SVG is no XML: %v", err)
		}
	}
	if n := strings.Count(svg.String(), "<circle"); n != 12 {
		t.Errorf("%d dots, want one for each of 12 runs", n)
	}
}

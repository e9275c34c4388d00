package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/run/runtest"
)

// heatRun has two surfaces: ring over depth and threads, of which a cell is
// missing and another failed, and pread over goroutines alone.
func heatRun(t *testing.T) *run.Run {
	t.Helper()
	r := runtest.Sample()
	res := &run.Result{
		ID: "rw/surface", Suite: "rw", Name: "surface", Question: "Where?", Op: "one read", Place: r.Places[0].Name,
	}
	add := func(surface, xName, yName string, x, y int, ns float64) {
		v := run.VariantResult{
			Name: fmt.Sprintf("%s %d x %d", surface, x, y), Doc: "a cell", Promise: run.Writes(durability.None, durability.Torn),
			Cell: &run.Cell{Surface: surface, XName: xName, YName: yName, X: x, Y: y, Latency: "request_p50_ns"},
		}
		res.Variants = append(res.Variants, v)
		for round := 1; round <= 8; round++ {
			b := run.Block{Variant: v.Name, Role: run.RoleTimed, Round: round, Ops: 100, Batch: 1, Wall: run.Nanos(100 * ns),
				Metrics: map[string]float64{"request_p50_ns": ns * float64(x*y)}, Latency: run.NewHistogram()}
			if ns == 0 {
				b.Error = "no ring here"
			}
			res.Blocks = append(res.Blocks, b)
		}
		if ns == 0 {
			res.Variants[len(res.Variants)-1].Error = "no ring here"
		}
	}
	add("ring", "depth", "threads", 1, 1, 100_000)
	add("ring", "depth", "threads", 8, 1, 20_000)
	add("ring", "depth", "threads", 64, 1, 4_900)
	add("ring", "depth", "threads", 8, 2, 5_000)
	add("ring", "depth", "threads", 64, 2, 0)
	add("pread", "goroutines", "", 1, 1, 90_000)
	add("pread", "goroutines", "", 16, 1, 6_000)
	r.Results = []*run.Result{res}
	r.Analyse()
	return r
}

func TestHeatsAreLaidOut(t *testing.T) {
	list := heats(heatRun(t).Results[0])
	if len(list) != 2 || fmt.Sprint(list[0].Xs) != "[1 8 64]" || len(list[0].Rows) != 2 || len(list[1].Rows) != 1 {
		t.Fatalf("laid out as %+v", list)
	}
	var texts []string
	for _, r := range list[0].Rows {
		for i := range r.Cells {
			texts = append(texts, r.Cells[i].text())
		}
	}
	want := "10.0k/s 100 us|50.0k/s 160 us|204k/s 314 us ▲||200k/s 80.0 us ◆|n/a"
	if got := strings.Join(texts, "|"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if heats(&run.Result{Variants: []run.VariantResult{{Name: "a"}}}) != nil {
		t.Error("a result without cells has a surface")
	}
}

func TestHeatInText(t *testing.T) {
	r := heatRun(t)
	for _, width := range []int{100, 44} { // the narrow one splits the tables
		var b bytes.Buffer
		if err := Text(&b, r, TextOptions{Width: width, Details: true}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"threads \\ depth", "200k/s 80.0 us ◆", "204k/s 314 us ▲", "10.0k/s 100 us", "goroutines", kneeMark + " knee"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("width %d: %q is not in the text:\n%s", width, want, b.String())
			}
		}
		flat := strings.Join(strings.Fields(b.String()), " ")
		if !strings.Contains(flat, "knee of ring: depth 8, threads 2 (200000/s)") {
			t.Errorf("width %d: the knee is not named:\n%s", width, b.String())
		}
	}
}

func TestHeatInMarkdown(t *testing.T) {
	var b bytes.Buffer
	if err := Markdown(&b, heatRun(t)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| threads \\\\ depth | 1 | 8 | 64 |", "| 2 |  | 200k/s 80.0 us ◆ | n/a |", "|  | 11.1k/s 90.0 us | 167k/s 96.0 us ▲◆ |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in the Markdown:\n%s", want, b.String())
		}
	}
}

func TestHeatPicture(t *testing.T) {
	r := heatRun(t)
	page := render(t, r)
	for _, want := range []string{
		`class="plot heat"`, `class="cell h0"`, `class="cell h2"`, `class="cell h9 knee"`, `class="cell unknown"`,
		"◆ 200k/s", "ring: throughput by threads", "no ring here",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in the page", want)
		}
	}
	if n := strings.Count(page, `class="cell `); n != 7 {
		t.Errorf("%d cells are drawn, want 7: the missing one is left out", n)
	}
	// Nothing of a run becomes markup, and a surface without figures is drawn.
	const evil = `<b>"x"`
	res := r.Results[0]
	for i := range res.Variants {
		res.Variants[i].Cell.Surface, res.Variants[i].Cell.XName, res.Variants[i].Cell.YName = evil, evil, evil
	}
	res.Blocks = nil
	r.Analyse()
	page = render(t, r)
	if strings.Contains(page, evil) || !strings.Contains(page, `class="cell unknown"`) || strings.Contains(page, "NaN") {
		t.Error("a surface without figures, or with markup in its names, is not drawn well")
	}
}

func TestShadesGrowWithTheRate(t *testing.T) {
	for _, c := range []struct {
		rate, best float64
		want       int
	}{{0, 100, 0}, {9, 100, 0}, {50, 100, 5}, {99, 100, 9}, {100, 100, 9}, {1, 0, 0}} {
		if got := shade(c.rate, c.best); got != c.want {
			t.Errorf("%v of %v is shade %d, want %d", c.rate, c.best, got, c.want)
		}
	}
	if got := rate(1_234_567); got != "1.23M/s" {
		t.Errorf("a rate is %s", got)
	}
}

package report

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/run/runtest"
)

// A run of several places has a table with the figures of each experiment in all of them.
func TestPlaceTable(t *testing.T) {
	r := runtest.Sample()
	_, table, found := strings.Cut(render(t, r), `<section id="places">`)
	if !found {
		t.Fatal("no table across places")
	}
	table, _, _ = strings.Cut(table, "</section>")
	if strings.Contains(table, "mkdir/batch") {
		t.Error("the table has an experiment that was measured in one place")
	}
	row := regexp.MustCompile(`<th scope="row">Maker.All</th>(.*?)</tr>`).FindStringSubmatch(table)
	if row == nil {
		t.Fatalf("no row of Maker.All in\n%s", table)
	}
	cells := strings.Split(strings.TrimSuffix(row[1], "</td>"), "</td>")
	if len(cells) != 2 || !strings.Contains(cells[0], "18.8 us") || !strings.Contains(cells[1], "3.86 us") || strings.Count(row[1], "▼") != 2 {
		t.Errorf("cells %q; want 18.8 us and 3.86 us, each with a ratio", cells)
	}
	if strings.Contains(table, "one after the other") {
		t.Error("the table says that places were not interleaved, and they are")
	}
}

// A p-value that cannot fall below 0.05 is not shown, not for the pointer either.
func TestNoIdleP(t *testing.T) {
	r := runtest.Sample()
	r.Results = r.Results[1:2]
	shown := regexp.MustCompile(`; Holm p [0-9&]|after Holm [0-9&]`)
	if len(shown.FindAllString(render(t, r), -1)) == 0 {
		t.Fatal("no p-value at all")
	}
	least := 0.125
	for i := range r.Results[0].Comparisons {
		r.Results[0].Comparisons[i].LeastPHolm = &least
	}
	for _, tip := range shown.FindAllString(render(t, r), -1) {
		t.Errorf("the page has %q", tip)
	}
}

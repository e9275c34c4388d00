package block

import (
	"math/rand/v2"
	"testing"

	"github.com/stele-go/stele/logstore/internal/template"
)

// TestCount counts the rows that have parts of lines.
func TestCount(t *testing.T) {
	var e Encoder
	var d Decoder
	r := rand.New(rand.NewPCG(9, 9))
	all := shapes()
	all["services"] = serviceRows(1000)
	counted := 0
	for name, rows := range all {
		if len(rows) > 10000 || name == "MaxRaw" || name == "MaxRaw, noise" {
			continue
		}
		p, dictionary := encode2(t, &e, rows)
		for range 40 {
			line := rows[r.IntN(len(rows))].line
			from := r.IntN(len(line) + 1)
			part := line[from : from+r.IntN(min(len(line)-from, 12)+1)]
			n := template.NewNeedle([]byte(part), template.NeedleKind(r.IntN(3)))
			test := template.Has(n)
			if r.IntN(3) == 0 {
				test = template.Not(test)
			}
			plan := template.NewPlan(template.NewQuery(test), dictionary)
			if err := d.Open(p, dictionary); err != nil {
				t.Fatal(err)
			}
			got, ok, err := d.Count(plan)
			if err != nil {
				t.Fatal(err)
			}
			m, _, err := d.Search(plan)
			if err != nil {
				t.Fatal(err)
			}
			sure, may := 0, 0
			for i := range rows {
				if hasBit(m.Sure, i) {
					sure++
				}
				if hasBit(m.May, i) {
					may++
				}
			}
			if ok != (sure == may) || ok && got != sure {
				t.Fatalf("%s: %q: %d, %v; want %d, of %d that may", name, part, got, ok, sure, may)
			}
			counted += got
		}
	}
	if counted == 0 {
		t.Error("nothing was counted")
	}
}

package block

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore/internal/column"
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

// TestCountOfSharedColumns counts rows of templates that have columns in common, and columns in
// several slots.
func TestCountOfSharedColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 10))
	var d Decoder
	counted, both := 0, 0
	for range 200 {
		p, dictionary, lines := sharedColumns(t, r)
		if err := d.Open(p, dictionary); err != nil {
			t.Fatal(err)
		}
		for range 8 {
			needle := strconv.Itoa(r.IntN(120))
			want := 0
			for _, line := range lines {
				if strings.Contains(line, needle) {
					want++
				}
			}
			n := template.Has(template.NewNeedle([]byte(needle), template.NeedleKind(r.IntN(2))))
			plan := template.NewPlan(template.NewQuery(template.All(n)), dictionary)
			got, ok, err := d.Count(plan)
			if got != want || !ok || err != nil {
				t.Fatalf("%q: %d, %v, %v; want %d", needle, got, ok, err, want)
			}
			counted += got
			variable, other := 0, 0
			for _, row := range d.version2.table {
				if plan.OnlyInVariable(row.ID) {
					variable++
				} else if plan.Verdict(row.ID) != template.Never {
					other++
				}
			}
			if _, in := plan.InVariable(); in && variable > 0 && other > 0 && got > 0 {
				both++
			}
		}
	}
	if counted == 0 || both == 0 {
		t.Errorf("%d rows were counted, and %d times of templates that differ in how they are; want some", counted, both)
	}
}

// sharedColumns returns a block of random templates, whose slots have some columns in common, and
// its lines.
func sharedColumns(t *testing.T, r *rand.Rand) (p []byte, dictionary *template.Dictionary, lines []string) {
	t.Helper()
	dictionary = new(template.Dictionary)
	columns, begin := make([][]string, 1+r.IntN(5)), []string(nil)
	var h handmade
	for k := range 1 + r.IntN(6) {
		slots := make([]uint32, 1+r.IntN(4))
		literals := [][]byte{{byte('a' + k)}}
		if r.IntN(3) == 0 { // a needle may be in it, or begin there
			literals[0] = append(literals[0], byte('0'+r.IntN(10)))
		}
		for i := range slots {
			slots[i] = uint32(r.IntN(len(columns)))
			literals = append(literals, []byte(" "))
		}
		begin = append(begin, string(literals[0]))
		dictionary.Add(template.New(literals...))
		h.slots, h.table = append(h.slots, slots), append(h.table, TemplateRows{ID: uint32(k)})
	}
	for i := range len(h.table) + r.IntN(200) {
		k := r.IntN(len(h.table))
		if i < len(h.table) { // each has a row
			k = i
		}
		h.rows, h.table[k].Rows = append(h.rows, byte(k)), h.table[k].Rows+1
		line := begin[k]
		for _, c := range h.slots[k] {
			value := strconv.Itoa(r.IntN(1000))
			if c == 0 {
				value = "none"
			}
			columns[c] = append(columns[c], value)
			line += value + " "
		}
		lines = append(lines, line)
	}
	for _, values := range columns {
		var e column.Encoder
		for _, v := range values {
			e.Add([]byte(v), 0)
		}
		packed, text := e.Append(nil, nil)
		h.columns = append(h.columns, rawColumn{string(packed), string(text)})
	}
	return h.append(), dictionary, lines
}

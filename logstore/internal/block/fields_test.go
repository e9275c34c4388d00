package block

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stele-go/stele/logstore/internal/column"
	"github.com/stele-go/stele/logstore/internal/template"
)

// slotFields returns a plan of n fields: the variables of a template, and the whole line as
// the last field. Some of the variables have texts around them, which lastOf takes off.
func slotFields(t template.Template, n int, rules []*column.Rule) *FieldPlan {
	p := &FieldPlan{Fields: make([]Field, n), Rules: rules}
	whole := &p.Fields[n-1]
	whole.AddText(t.Literal(0))
	for i := range n - 1 {
		f := &p.Fields[i]
		if i >= t.Slots() {
			f.Absent = true
			continue
		}
		if i%3 == 1 {
			f.AddText([]byte("<"))
		}
		f.AddSlot(i)
		if i%3 == 2 {
			f.AddText([]byte("a"))
			f.AddText([]byte(">"))
		}
		whole.AddSlot(i)
		whole.AddText(t.Literal(i + 1))
	}
	return p
}

// variableOf is the variable in field i of slotFields.
func variableOf(i int, value string) string {
	switch i % 3 {
	case 1:
		return value[1:]
	case 2:
		return value[:len(value)-2]
	}
	return value
}

// checkFields compares the fields of an open block with its rows.
func checkFields(t *testing.T, d *Decoder, dictionary *template.Dictionary, rows []row, r *rand.Rand, to *FieldRows) (known int) {
	t.Helper()
	quotes := new(column.Rule)
	quotes.Forbidden[0] = 1<<'1' | 1<<'"'
	n := 1
	var plans []*FieldPlan
	for _, one := range d.Table() {
		n = max(n, 1+dictionary.At(one.ID).Slots())
	}
	for _, one := range d.Table() {
		tmpl := dictionary.At(one.ID)
		var rules []*column.Rule
		for range tmpl.Slots() {
			rules = append(rules, []*column.Rule{nil, quotes, {Forbidden: [4]uint64{1 << '7'}}}[r.IntN(20)*r.IntN(2)%3])
		}
		plans = append(plans, slotFields(tmpl, n, rules))
		if r.IntN(5) == 0 {
			plans[len(plans)-1] = nil
		}
	}
	if err := d.Fields(to, plans, n); err != nil {
		t.Fatal(err)
	}
	if err := d.version2.openRows(); err != nil {
		t.Fatal(err)
	}
	for i := range n { // texts multiply no codes
		if i%3 != 0 && to.Values[i].Len() > len(rows)+1 {
			t.Fatalf("field %d has %d codes for %d rows", i, to.Values[i].Len(), len(rows))
		}
	}
	for i, one := range rows {
		k := d.version2.rowsOf[i]
		p := plans[k]
		if p == nil {
			if hasBit(to.Known, i) {
				t.Fatalf("row %d, %q, has no plan, and is known", i, one.line)
			}
			continue
		}
		tmpl := dictionary.At(d.Table()[k].ID)
		line, want := string(tmpl.Literal(0)), true
		for slot := range tmpl.Slots() {
			v := variableOf(slot, string(to.Values[slot].AppendValue(nil, to.Codes[slot][i])))
			want = want && (p.Rules[slot] == nil || p.Rules[slot].Holds([]byte(v)))
			line += v + string(tmpl.Literal(slot+1))
		}
		if hasBit(to.Known, i) != want {
			t.Fatalf("row %d, %q, of %v is known: %v; want %v", i, one.line, tmpl, !want, want)
		}
		whole := string(to.Values[n-1].AppendValue(nil, to.Codes[n-1][i]))
		if line != one.line || whole != one.line {
			t.Fatalf("the variables of row %d, %q, make %q, and its pieces %q", i, one.line, line, whole)
		}
		if want {
			known++
		}
	}
	checkFieldNumbers(t, to, n)
	return known
}

// checkFieldNumbers compares numbers with texts.
func checkFieldNumbers(t *testing.T, to *FieldRows, fields int) {
	t.Helper()
	parse := func(p []byte) float64 {
		x, err := strconv.ParseFloat(string(p), 64)
		if err != nil {
			return math.NaN()
		}
		return x
	}
	for i := range fields {
		v := &to.Values[i]
		numbers := v.AppendNumbers(nil, parse)
		if len(numbers) != v.Len() {
			t.Fatalf("%d numbers of %d codes", len(numbers), v.Len())
		}
		for code, x := range numbers {
			text := v.AppendValue(nil, uint32(code))
			if want := parse(text); x != want && !(math.IsNaN(x) && math.IsNaN(want)) {
				t.Fatalf("%q is %v; want %v", text, x, want)
			}
		}
	}
}

// The variables of the rows of a block, and their literals, are the lines.
func TestFields(t *testing.T) {
	var e Encoder
	var d Decoder
	var to FieldRows
	r := rand.New(rand.NewPCG(9, 9))
	all := shapes()
	all["services"] = serviceRows(1000)
	known := 0
	for name, rows := range all {
		if len(rows) > 10000 || name == "MaxRaw" || name == "MaxRaw, noise" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			p, dictionary := encode2(t, &e, rows)
			for range 5 {
				if err := d.Open(p, dictionary); err != nil {
					t.Fatal(err)
				}
				known += checkFields(t, &d, dictionary, rows, r, &to)
			}
		})
	}
	if known < 5000 {
		t.Errorf("the fields of %d rows are known", known)
	}
}

package block

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/template"
)

func hasBit(words []uint64, i int) bool { return words[i/64]>>(i%64)&1 != 0 }

// checkSearch searches an open block for a needle, and compares with all of its rows.
func checkSearch(t *testing.T, d *Decoder, dictionary *template.Dictionary, rows []row, needle string, kind template.NeedleKind) {
	t.Helper()
	n := template.NewNeedle([]byte(needle), kind)
	p := template.NewPlan(template.NewQuery(template.Has(n)), dictionary)
	m, ok, err := d.Search(p)
	if err != nil || !ok {
		t.Fatalf("%q: %v, %v", needle, ok, err)
	}
	if err := d.LinesOf(m.May); err != nil {
		t.Fatal(err)
	}
	for i, r := range rows {
		want := bytes.Contains([]byte(r.line), n.Text())
		switch kind {
		case template.Folded:
			want = filter.ContainsFold([]byte(r.line), n.Text())
		case template.Word:
			want = filter.HasWord([]byte(r.line), n.Text(), false)
		}
		may, sure := hasBit(m.May, i), hasBit(m.Sure, i)
		if want && !may || sure && !want || kind == template.Bytes && len(needle) < 20 && may != want {
			t.Fatalf("%q in row %d, %q: %v; want may %v, sure %v", needle, i, r.line, want, may, sure)
		}
		if line := string(d.Line(i)); may && line != r.line || !may && line != "" {
			t.Fatalf("row %d is %q; want %q", i, line, r.line)
		}
		if meta := string(d.Meta(i)); meta != r.meta {
			t.Fatalf("row %d has metadata %q; want %q", i, meta, r.meta)
		}
	}
}

func TestSearch(t *testing.T) {
	var e Encoder
	var d Decoder
	r := rand.New(rand.NewPCG(8, 8))
	all := shapes()
	all["services"] = serviceRows(1000)
	for name, rows := range all {
		if len(rows) > 10000 || name == "MaxRaw" || name == "MaxRaw, noise" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			p, dictionary := encode2(t, &e, rows)
			if err := d.Open(p, dictionary); err != nil {
				t.Fatal(err)
			}
			for range 30 {
				line := rows[r.IntN(len(rows))].line
				from := r.IntN(len(line) + 1)
				to := from + r.IntN(min(len(line)-from, 25)+1)
				kind := template.NeedleKind(r.IntN(3))
				checkSearch(t, &d, dictionary, rows, line[from:to], kind)
			}
			if err := d.Lines(); err != nil {
				t.Fatal(err)
			}
			for i, r := range rows {
				if string(d.Line(i)) != r.line {
					t.Fatalf("row %d is %q; want %q", i, d.Line(i), r.line)
				}
			}
		})
	}
}

func TestSearchVersion1(t *testing.T) {
	var e Encoder
	var d Decoder
	rows := serviceRows(10)
	p := encodeBy(t, &e, rows)
	var dictionary template.Dictionary
	if err := d.Open(p, nil); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := d.Search(template.NewPlan(template.NewQuery(template.All()), &dictionary)); ok || err != nil {
		t.Errorf("a block of version 1 is searched: %v", err)
	}
	if err := d.LinesOf(make([]uint64, 1)); err != nil || string(d.Line(9)) != rows[9].line {
		t.Errorf("a line is %q: %v", d.Line(9), err)
	}
}

func BenchmarkSearch(b *testing.B) {
	var e Encoder
	var d Decoder
	p, dictionary := encode2(b, &e, serviceRows(7000))
	for _, needle := range []string{"took", "absent", "4711", "10.0.3.17", "user\":\"bob"} {
		plan := template.NewPlan(template.NewQuery(template.Has(template.NewNeedle([]byte(needle), template.Bytes))), dictionary)
		b.Run(fmt.Sprintf("%q", needle), func(b *testing.B) {
			for b.Loop() {
				if err := d.Open(p, dictionary); err != nil {
					b.Fatal(err)
				}
				if _, _, err := d.Search(plan); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("all lines", func(b *testing.B) {
		for b.Loop() {
			if _, err := d.Decode(p, dictionary); err != nil {
				b.Fatal(err)
			}
		}
	})
}

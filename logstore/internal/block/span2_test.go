package block

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/logstore/internal/column"
	"github.com/stele-go/stele/logstore/internal/template"
)

// timedRows returns rows whose lines have their times.
func timedRows(from time.Time, n int) (rows []row) {
	for i := range n {
		at := from.Add(time.Duration(i*i) * time.Second)
		rows = append(rows, row{at.UnixNano(), fmt.Sprintf("at %s took %d", at.Format("2006-01-02T15:04:05.000Z"), i%7), ""})
	}
	return rows
}

// SetSpan changes nothing of what a block is found to have, and is forgotten with the block.
func TestSetSpan(t *testing.T) {
	e := Encoder{Miner: template.NewMiner()}
	var d Decoder
	type encoded struct {
		rows       []row
		block      []byte
		dictionary *template.Dictionary
	}
	var blocks []encoded
	for _, day := range []int{3, 20} {
		rows := timedRows(time.Date(2026, 5, day, 23, 0, 0, 0, time.UTC), 200) // until the next day
		p, dictionary := encode2(t, &e, rows)
		blocks = append(blocks, encoded{rows, p, dictionary})
	}
	found := 0
	for _, needle := range []string{"2026-05-03T2", "-05-04T", "05-20T23:5", "2026-05-21", "T09:", "05-03", "-19T", ":00."} {
		n := template.NewNeedle([]byte(needle), template.NeedleKind(0))
		for i, b := range blocks { // the first one with a span, the second one without
			plan := template.NewPlan(template.NewQuery(template.Has(n)), b.dictionary)
			want := 0
			for _, r := range b.rows {
				if strings.Contains(r.line, needle) {
					want++
				}
			}
			if err := d.OpenTimes(b.block); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				d.SetSpan(b.rows[0].time, b.rows[len(b.rows)-1].time)
			}
			if err := d.OpenLines(b.dictionary); err != nil {
				t.Fatal(err)
			}
			if err := d.version2.openPacked(); err != nil {
				t.Fatal(err)
			}
			times := 0
			for _, c := range d.version2.head.columns {
				if column.KindOf(d.version2.packed[c.packedAt:][:c.packed]) == column.Time {
					times++
				}
			}
			if times == 0 {
				t.Fatal("no column has times")
			}
			m, _, err := d.Search(plan)
			if err != nil {
				t.Fatal(err)
			}
			for j, r := range b.rows {
				if has := strings.Contains(r.line, needle); has && !hasBit(m.May, j) || !has && hasBit(m.Sure, j) {
					t.Fatalf("%q, block %d: %q may have it: %v, surely: %v", needle, i, r.line, hasBit(m.May, j), hasBit(m.Sure, j))
				}
			}
			if got, ok, err := d.Count(plan); err != nil || ok && got != want {
				t.Errorf("%q, block %d: %d lines, %v; want %d", needle, i, got, err, want)
			}
			found += want
		}
	}
	if found == 0 {
		t.Error("nothing was found")
	}
}

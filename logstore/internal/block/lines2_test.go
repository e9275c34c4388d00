package block

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore/internal/template"
)

// wideRows returns rows of so many templates, each with 40 slots. In those of several, a few slots
// share columns.
func wideRows(n, templates int, rng *rand.Rand) (rows []row) {
	const slots = 40
	for i := range n {
		var line strings.Builder
		word := ""
		if templates > 1 {
			word = string(rune('a' + rng.IntN(templates)))
			fmt.Fprintf(&line, "%s%s%s ", word, word, word)
		}
		for j := range slots {
			name := word
			if j%10 == 0 {
				name = ""
			}
			fmt.Fprintf(&line, "%sf%c=%d ", name, 'a'+j%26, rng.IntN(1000)+j*1000)
		}
		rows = append(rows, row{int64(i) * 1e6, line.String() + "end", ""})
	}
	return rows
}

// Some of the lines are the same as all of them have, be they few or many, however far apart, and
// whatever columns slots share; the others are empty.
func TestLinesOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 2))
	var d Decoder
	for _, templates := range []int{1, 3, 20} {
		e := Encoder{Miner: template.NewMiner()}
		const n = 1500
		rows := wideRows(n, templates, rng)
		p, dictionary := encode2(t, &e, rows)
		for _, wanted := range []int{1, 2, 5, 20, 300, 1000, n} {
			bits := make([]uint64, (n+63)/64)
			set := func(i int) { bits[i/64] |= 1 << (i % 64) }
			switch wanted {
			case 300: // behind many values of all columns that are drawn in vain
				for i := range 10 {
					set(i)
				}
				for i := n - 290; i < n; i++ {
					set(i)
				}
			default:
				for _, i := range rng.Perm(n)[:wanted] {
					set(i)
				}
			}
			if wanted == 20 {
				bits[1] |= 0xff // some behind each other
			}
			if err := d.Open(p, dictionary); err != nil {
				t.Fatal(err)
			}
			if err := d.LinesOf(bits); err != nil {
				t.Fatal(err)
			}
			if slots, columns := len(d.version2.head.slots), len(d.version2.head.columns); slots <= columns {
				t.Fatalf("%d slots have %d columns; some are to share one", slots, columns)
			}
			for i, r := range rows {
				want := ""
				if hasBit(bits, i) {
					want = r.line
				}
				if got := string(d.Line(i)); got != want {
					t.Fatalf("%d of the lines of %d templates: line %d is %q; want %q", wanted, templates, i, got, want)
				}
			}
		}
	}
}

func BenchmarkLinesOf(b *testing.B) {
	const n = 8_000
	for _, templates := range []int{1, 20} {
		e := Encoder{Miner: template.NewMiner()}
		rows := wideRows(n, templates, rand.New(rand.NewPCG(1, uint64(templates))))
		p, dictionary := encode2(b, &e, rows)
		for name, wanted := range map[string]func(i int) bool{
			"half of all": func(i int) bool { return i%2 == 0 },
			"5 apart":     func(i int) bool { return i%(n/5) == 7 },
			"the last 5":  func(i int) bool { return i >= n-5 },
		} {
			bits := make([]uint64, (n+63)/64)
			for i := range rows {
				if wanted(i) {
					bits[i/64] |= 1 << (i % 64)
				}
			}
			b.Run("templates="+strconv.Itoa(templates)+"/"+name, func(b *testing.B) {
				var d Decoder
				b.ReportAllocs()
				for b.Loop() {
					if err := d.Open(p, dictionary); err != nil {
						b.Fatal(err)
					}
					if err := d.LinesOf(bits); err != nil {
						b.Fatal(err)
					}
				}
				v := &d.version2
				b.ReportMetric(float64(len(v.table)), "templates")
				b.ReportMetric(float64(len(v.head.slots)), "slots")
				b.ReportMetric(float64(len(v.head.columns)), "columns")
			})
		}
	}
}

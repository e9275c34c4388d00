package template_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	. "github.com/stele-go/stele/logstore/internal/template"
)

// manyTemplates returns a dictionary of templates that have literals in common.
func manyTemplates(count int) *Dictionary {
	r := rand.New(rand.NewPCG(1, 1))
	word := func() string { return fmt.Sprintf("w%d", r.IntN(4000)) }
	d := &Dictionary{}
	for d.Len() < count {
		literals := [][]byte{[]byte("ts=")}
		for range 2 + r.IntN(10) {
			if r.IntN(2) == 0 {
				literals = append(literals, []byte(" "))
				continue
			}
			literals = append(literals, []byte(" "+word()+" "+word()+"="))
		}
		if _, ok := d.Add(New(literals...)); !ok {
			break
		}
	}
	return d
}

func BenchmarkPlan(b *testing.B) {
	for _, count := range []int{1000, 10000, MaxTemplates} {
		d := manyTemplates(count)
		b.Run(fmt.Sprintf("index/%d", d.Len()), func(b *testing.B) {
			for b.Loop() {
				NewPlan(NewQuery(All()), d.Clone())
			}
		})
		for _, n := range []*Needle{
			NewNeedle([]byte("error"), Bytes), NewNeedle([]byte("ERROR"), Folded), NewNeedle([]byte("w12=4711 w"), Bytes),
			NewNeedle([]byte("47"), Bytes),
		} {
			q := NewQuery(Has(n))
			b.Run(fmt.Sprintf("%d/%d:%s", d.Len(), n.Kind(), n.Text()), func(b *testing.B) {
				for b.Loop() {
					p := NewPlan(q, d)
					for id := range uint32(d.Len()) {
						p.Verdict(id)
					}
				}
			})
		}
	}
}

package block

import (
	"bytes"
	"regexp"
	"runtime"
	"testing"
	"weak"

	"github.com/stele-go/stele/logstore/internal/column"
	"github.com/stele-go/stele/logstore/internal/template"
)

// readAll reads a copy of a block in all ways, and returns pointers to what the Decoder
// must not keep: the block, its dictionary, an expression and a rule.
//
//go:noinline
func readAll(t *testing.T, d *Decoder, p []byte) (block weak.Pointer[byte], others []func() bool) {
	t.Helper()
	p = bytes.Clone(p)
	e := Encoder{Miner: template.NewMiner()}
	_, dictionary := encode2(t, &e, hostileRows())
	re := regexp.MustCompile(`[0-9]{3}|\.7`)
	rule := new(column.Rule)
	rule.Forbidden[0] = 1 << '7'
	if err := d.Open(p, dictionary); err != nil {
		t.Fatal(err)
	}
	for _, test := range []*template.Expr{template.Regexp(nil, re), template.Has(template.NewNeedle([]byte("10.0."), template.Folded))} {
		if _, _, err := d.Search(template.NewPlan(template.NewQuery(test), dictionary)); err != nil {
			t.Fatal(err)
		}
	}
	var plans []*FieldPlan
	for _, one := range d.Table() {
		of := dictionary.At(one.ID)
		plan := slotFields(of, 20, nil)
		for range of.Slots() {
			plan.Rules = append(plan.Rules, rule)
		}
		plans = append(plans, plan)
	}
	if err := d.Fields(new(FieldRows), plans, 20); err != nil {
		t.Fatal(err)
	}
	if err := d.Lines(); err != nil {
		t.Fatal(err)
	}
	of, by, with := weak.Make(dictionary), weak.Make(re), weak.Make(rule)
	return weak.Make(&p[0]), []func() bool{
		func() bool { return of.Value() == nil }, func() bool { return by.Value() == nil }, func() bool { return with.Value() == nil },
	}
}

// A Decoder that was released keeps nothing of the block.
func TestRelease(t *testing.T) {
	e := Encoder{Miner: template.NewMiner()}
	good, dictionary := encode2(t, &e, hostileRows())
	var d Decoder
	block, others := readAll(t, &d, good)
	d.Release()
	runtime.GC()
	runtime.GC()
	if block.Value() != nil {
		t.Error("the block is kept")
	}
	for i, gone := range others {
		if !gone() {
			t.Errorf("%s is kept", [...]string{"the dictionary", "the expression", "the rule"}[i])
		}
	}
	got, err := decodeWith(&d, good, dictionary)
	if err == nil {
		err = same(got, hostileRows())
	}
	if err != nil {
		t.Errorf("the next block: %v", err)
	}
}

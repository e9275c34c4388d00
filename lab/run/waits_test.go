package run

import (
	"bytes"
	"testing"
)

// A cause that a block did not have took no time there.
func TestWaitsOfSeveralBlocks(t *testing.T) {
	block := func(causes map[string]Nanos, missing string) *Block {
		b := &Block{Ops: 10, Wall: 100, Waits: &Waits{Window: 100, Total: 100, Missing: map[string]Reason{}}}
		for cause, t := range causes {
			b.Waits.Series = append(b.Waits.Series, Wait{Where: WaitKernel, Cause: cause, Time: []Nanos{t}})
		}
		if missing != "" {
			b.Waits.Missing["kernel"] = Reason{Code: ReasonText, Text: missing}
		}
		return b
	}
	if waitsOf(nil) != nil {
		t.Error("waits of no block")
	}
	blocks := []*Block{
		block(map[string]Nanos{"a": 100}, ""), block(map[string]Nanos{"a": 100}, ""), block(map[string]Nanos{"a": 60, "b": 40}, ""),
		block(map[string]Nanos{CauseSyscall: 100}, "too short"),
		{Ops: 1, Wall: 1, Error: "failed"},
		{Ops: 10, Wall: 100, Waits: &Waits{Window: 100, Missing: map[string]Reason{"trace": {Code: ReasonTraceCut}}}},
	}
	w := waitsOf(blocks)
	if w.Blocks != 3 || w.Goroutines != 1 || len(w.Missing) != 0 {
		t.Errorf("got %+v", w)
	}
	if a, b := w.Cause("a"), w.Cause("b"); a.Share.Median != 1 || b.Share.Median != 0 || b.Share.N != 3 || a.PerOp.Median != 10 {
		t.Errorf("got %+v and %+v", a, b)
	}
	if w := waitsOf(blocks[5:]); w == nil || len(w.Causes) != 0 || w.Missing["trace"].Code != ReasonTraceCut {
		t.Errorf("without a trace: %+v", w)
	}
	if w := waitsOf(blocks[3:5]); w.Blocks != 1 || w.Missing["kernel"].Text != "too short" || w.Cause(CauseSyscall) == nil {
		t.Errorf("nothing was sampled: %+v", w)
	}
}

func TestReadRefusesBadWaits(t *testing.T) {
	for _, w := range []*Waits{{Window: -1}, {Series: []Wait{{Time: []Nanos{-1}}}}, {Series: []Wait{{Time: make([]Nanos, 1000)}}}} {
		r := exactRun(2, named(killPrefix, "a"), map[string]float64{"a": 1})
		r.Results[0].Blocks[0].Waits = w
		var b bytes.Buffer
		if err := r.Write(&b); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(&b); err == nil {
			t.Errorf("%+v was read", w)
		}
	}
}

package run

import (
	"encoding/json"
	"testing"

	"github.com/stele-go/stele/durability"
)

func TestPromiseMustBeStated(t *testing.T) {
	if err := (Promise{}).Validate(); err == nil {
		t.Error("the zero promise is accepted")
	}
	if err := (Promise{Level: durability.Power}).Validate(); err == nil {
		t.Error("a promise that no function made is accepted")
	}
	if err := Writes(9, durability.Torn).Validate(); err == nil {
		t.Error("level 9 is accepted")
	}
	for _, p := range []Promise{Writes(durability.Power, durability.OldOrNew), WritesNothing()} {
		if err := p.Validate(); err != nil {
			t.Errorf("%v: %v", p, err)
		}
	}
	if Writes(durability.None, durability.Torn) == WritesNothing() {
		t.Error("a write that is lost is taken for a read")
	}
}

func TestPromiseJSON(t *testing.T) {
	for _, c := range []struct {
		promise Promise
		text    string
	}{
		{Writes(durability.Power, durability.OldOrNew), `{"level":"power","after_crash":"old-or-new"}`},
		{Writes(durability.None, durability.Torn), `{"level":"none","after_crash":"torn"}`},
		{WritesNothing(), `{"level":"not applicable"}`},
		{Promise{}, `null`},
	} {
		data, err := json.Marshal(c.promise)
		if err != nil || string(data) != c.text {
			t.Errorf("%v is written as %s (%v), want %s", c.promise, data, err, c.text)
		}
		got := Writes(durability.Kill, durability.Prefix)
		if err := json.Unmarshal([]byte(c.text), &got); err != nil || got != c.promise {
			t.Errorf("%s is read as %v (%v), want %v", c.text, got, err, c.promise)
		}
	}
	for _, text := range []string{`{"level":"power"}`, `{"level":"mostly","after_crash":"torn"}`, `{"level":"not applicable","after_crash":"torn"}`, `"power"`} {
		var p Promise
		if err := json.Unmarshal([]byte(text), &p); err == nil {
			t.Errorf("%s is read as %v", text, p)
		}
	}
}

// A run of before WritesNothing has reads of level none. Its comparison with a run of
// today must not stop at that.
func TestCompareTakesReadsOfOldRuns(t *testing.T) {
	promising := func(p Promise) *Run {
		r := simulated(1, 6, newDisk(1, 0.01), 1)
		for i := range r.Results[0].Variants {
			r.Results[0].Variants[i].Promise = p
		}
		r.Analyse()
		return r
	}
	none := Writes(durability.None, durability.Torn)
	if c := compareTwo(promising(none), promising(WritesNothing()), CompareOptions{}); len(c.Problems) > 0 {
		t.Errorf("an old read and a new one: %+v", c.Problems)
	}
	if c := compareTwo(promising(WritesNothing()), promising(none), CompareOptions{}); len(c.Problems) == 0 {
		t.Error("a way that wrote nothing and now loses what it writes is not refused")
	}
}

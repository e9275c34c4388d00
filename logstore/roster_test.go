package logstore

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

func rosterOf(ranges ...uint64) (list []rosterEntry) {
	for i := 0; i < len(ranges); i += 2 {
		list = append(list, rosterEntry{Holding: catalog.Holding{
			After: ranges[i], Upto: ranges[i+1], Generation: uint32(i), Rows: 10, MinTime: 5, MaxTime: math.MaxInt64 - 1,
		}})
	}
	return list
}

func holdings(ranges ...uint64) (list []catalog.Holding) {
	for _, e := range rosterOf(ranges...) {
		list = append(list, e.Holding)
	}
	return list
}

// What is appended is decoded, a part of it never as something else, and what cannot
// be is refused.
func TestRosterItems(t *testing.T) {
	want := rosterOf(0, 3, 3, 4, 7, 1<<40)
	want[1].missing = 1_800_000_000
	var v logContents
	if err := v.apply(5, stateItem{stateRosterChange, []byte{0}}); err != nil || v.whole != 0 {
		t.Errorf("a change without a roster: %+v, %v", v, err)
	}
	data := appendEntries(nil, want)
	if err := v.apply(7, stateItem{stateRoster, data}); err != nil || v.whole != 7 || !slices.Equal(v.expected, want) {
		t.Errorf("%+v, %v; want %+v", v, err, want)
	}
	whole := 0
	for i := range data {
		if v.apply(7, stateItem{stateRoster, data[:i]}) == nil {
			whole++
		}
	}
	if whole != len(want) { // without the last ones
		t.Errorf("%d parts of a roster are one, want %d", whole, len(want))
	}
	v.expected = want
	if err := v.apply(9, changeItem(holdings(1, 2, 7, 1<<40), rosterOf(1<<41, 1<<42))); err != nil || v.whole != 7 {
		t.Errorf("%+v, %v", v, err)
	}
	want = append(slices.Concat(rosterOf(0, 1, 2, 3), want[1:2]), rosterOf(1<<41, 1<<42)...)
	want[0].Rows, want[1].Rows, want[1].Generation = 0, 0, 0
	if !slices.Equal(v.expected, want) {
		t.Errorf("%+v; want %+v", v.expected, want)
	}
	for what, data := range map[string][]byte{
		"an empty range":       appendEntries(nil, rosterOf(3, 3)),
		"a cut change":         {1, 5},
		"a change without end": {255},
		"a negative length":    appendEntries(nil, []rosterEntry{{Holding: catalog.Holding{After: 1, Upto: 0}}}),
		"times out of range":   {0, 1, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 127, 1, 0},
	} {
		typ := uint64(stateRoster)
		if strings.Contains(what, "change") {
			typ = stateRosterChange
		}
		if err := v.apply(9, stateItem{typ, data}); !errors.Is(err, errRecord) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// without is a subtraction of sets of positions.
func TestWithout(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		var list []rosterEntry
		has := map[uint64]bool{}
		for at := uint64(0); at < 40; {
			at += rng.Uint64N(4)
			upto := at + 1 + rng.Uint64N(8)
			list = append(list, rosterOf(at, upto)...)
			for p := at + 1; p <= upto; p++ {
				has[p] = true
			}
			at = upto
		}
		var others []catalog.Holding
		for range rng.IntN(6) {
			at := rng.Uint64N(50)
			others = append(others, holdings(at, at+1+rng.Uint64N(20))...)
		}
		for _, o := range others {
			for p := o.After + 1; p <= o.Upto; p++ {
				delete(has, p)
			}
		}
		upto := uint64(0)
		for _, e := range without(list, others) {
			if e.After < upto || e.Upto <= e.After {
				t.Fatalf("%+v less %+v: %+v", list, others, e)
			}
			upto = e.Upto
			whole := slices.ContainsFunc(list, func(o rosterEntry) bool { return o == e })
			if !whole && e.Rows != 0 {
				t.Fatalf("a part with %d entries", e.Rows)
			}
			for p := e.After + 1; p <= e.Upto; p++ {
				if !has[p] {
					t.Fatalf("%+v less %+v has %d", list, others, p)
				}
				delete(has, p)
			}
		}
		if len(has) > 0 {
			t.Fatalf("%+v less %+v: %v are not there", list, others, has)
		}
	}
}

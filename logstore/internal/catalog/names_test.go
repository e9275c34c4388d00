package catalog

import (
	"math"
	"testing"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

func TestNames(t *testing.T) {
	for _, sp := range []positions{{0, 1, 0}, {10, 20, 3}, {math.MaxUint64 - 1, math.MaxUint64, math.MaxUint32}} {
		if got, ok := parseName(sp.String()); !ok || got != sp {
			t.Errorf("%s is read as %v, %v", sp, got, ok)
		}
		if got, ok := ParseName(sp.String()); !ok || positionsOf(got) != sp {
			t.Errorf("%s says %+v, %v", sp, got, ok)
		}
	}
	const good = "0000000000000001-000000000000000a-00000002.seg"
	if sp, ok := parseName(good); !ok || sp != (positions{1, 10, 2}) {
		t.Errorf("%s is read as %v, %v", good, sp, ok)
	}
	for _, name := range []string{
		"", "x.seg", good + "x", "x" + good, good[1:],
		"0000000000000001-000000000000000A-00000002.seg",            // as no name is written
		"000000000000000a-0000000000000001-00000002.seg",            // ends before it begins
		"000000000000000a-000000000000000a-00000002.seg",            // empty
		"0000000000000001-000000000000000a-00000002.seg.7.abc.part", // not yet one
		"+000000000000001-000000000000000a-00000002.seg",
	} {
		if sp, ok := parseName(name); ok {
			t.Errorf("%q is read as %v", name, sp)
		}
		if info, ok := ParseName(name); ok || info != (segment2.Info{}) {
			t.Errorf("%q says %+v", name, info)
		}
	}
}

func TestSpans(t *testing.T) {
	a := positions{after: 10, upto: 20}
	for _, c := range []struct {
		b            positions
		holds, meets bool
	}{
		{positions{after: 10, upto: 20}, true, true},
		{positions{after: 12, upto: 20}, true, true},
		{positions{after: 9, upto: 20}, false, true},
		{positions{after: 20, upto: 30}, false, false},
		{positions{after: 0, upto: 10}, false, false},
		{positions{after: 19, upto: 21}, false, true},
	} {
		if a.contains(c.b) != c.holds || a.overlaps(c.b) != c.meets {
			t.Errorf("%v holds %v: %v, meets it: %v", a, c.b, a.contains(c.b), a.overlaps(c.b))
		}
	}
}

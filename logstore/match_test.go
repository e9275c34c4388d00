package logstore

import (
	"fmt"
	"testing"
)

// A matchedLeaf is a fakeLeaf whose picks are matched.
type matchedLeaf struct {
	fakeLeaf
	picks []pick
}

func (l *matchedLeaf) stream(_ *reading, span int32) (string, uint32, error) {
	if _, _, err := l.fakeLeaf.stream(nil, span); err != nil {
		return "", 0, &CorruptError{"segment", int64(span), "its labels are damaged"}
	}
	return MustLabels("n", fmt.Sprint(span)).enc, 0, nil
}

func (l *matchedLeaf) pick(r *reading, _ int64, _ pickMode) (leaf, error) {
	r.reset(nil)
	r.picks = append(r.picks, l.picks...)
	return nil, r.match(l)
}

// A labelMatcher tells which labels it was asked about.
type labelMatcher struct{ asked []string }

func (m *labelMatcher) Stream(labels Labels) bool {
	m.asked = append(m.asked, labels.String())
	return labels.Get("n") == "0"
}

func (m *labelMatcher) Match(int64, []byte, Labels) bool { return true }

// Where labels cannot be read, a filter by entries is not asked, and the damage is told
// once for each stream, whatever the filter would say.
func TestEntryFilterDamage(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	r, encoded := new(reading), encodedRows(t, 6)
	m := new(labelMatcher)
	x := &search{ctx: t.Context(), store: s}
	x.filter = EntryFilter(func() EntryMatcher { return m }).compiled()
	w := newScan(x, entriesTask{})
	l := &matchedLeaf{fakeLeaf: fakeLeaf{lost: []int32{1}, asked: map[int32]int{}}}
	for i := range int32(6) {
		l.picks = append(l.picks, pick{int64(i), i % 3, i})
	}
	r.x = x
	if err := r.block.Open(encoded, nil); err != nil {
		t.Fatal(err)
	}
	if err := r.block.Lines(); err != nil {
		t.Fatal(err)
	}
	out := w.read(r, entriesTask{}, l, maxKey, allotment{bytes: 1 << 20})
	if out.err != nil || len(out.damage) != 1 || out.results == nil || len(out.results.rows) != 2 {
		t.Errorf("error %v, damage %v, results %+v; want the damage of one stream, and two rows", out.err, out.damage, out.results)
	}
	if got, want := fmt.Sprint(m.asked), `[{n="0"} {n="2"} {n="0"} {n="2"}]`; got != want {
		t.Errorf("the matcher was asked about %s; want %s", got, want)
	}
}

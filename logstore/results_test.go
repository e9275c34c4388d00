package logstore

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stele-go/stele/logstore/internal/block"
)

// fakeLeaf is a leaf of the spans s0, s1 and so on, of which some have lost their
// labels.
type fakeLeaf struct {
	leaf
	lost  []int32
	asked map[int32]int
}

var errLost = errors.New("the labels are damaged")

func (f *fakeLeaf) rank() uint64 { return 7 }

func (f *fakeLeaf) stream(_ *reading, span int32) (string, uint32, error) {
	f.asked[span]++
	if slices.Contains(f.lost, span) {
		return "", 0, errLost
	}
	return fmt.Sprint("s", span), uint32(10 + span), nil
}

func (f *fakeLeaf) corrupt(err error) error { return fmt.Errorf("in the fake leaf: %w", err) }

// encodedRows returns a block of n rows with the times from 0 on.
func encodedRows(t *testing.T, n int) []byte {
	t.Helper()
	var rows block.Encoder
	for i := range n {
		rows.Add(int64(i), fmt.Append(nil, "line ", i), nil)
	}
	stored, err := rows.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

// Picks are copied with their streams. A stream whose labels cannot be read loses
// its own entries, and its error is reported once.
func TestCopyPicks(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	r := &reading{x: &search{store: s}}
	var picks []pick
	for i := range 30 {
		picks = append(picks, pick{int64(i), int32(i * 7 % 5), int32(i)})
	}
	if err := r.block.Open(encodedRows(t, 30), nil); err != nil {
		t.Fatal(err)
	}
	if err := r.block.Lines(); err != nil {
		t.Fatal(err)
	}
	for _, lost := range [][]int32{nil, {2}, {0, 4}, {0, 1, 2, 3, 4}} {
		l := &fakeLeaf{lost: lost, asked: map[int32]int{}}
		var damage []error
		f, n := copyPicks(r, l, picks, allotment{bytes: 1 << 20}, func(err error) { damage = append(damage, err) })
		if n != len(picks) {
			t.Fatalf("%d of %d picks fit", n, len(picks))
		}
		if len(damage) != len(lost) {
			t.Errorf("%d errors; want one for each of %v", len(damage), lost)
		}
		for span, n := range l.asked {
			if n != 1 {
				t.Errorf("the labels of span %d were asked for %d times", span, n)
			}
		}
		var want []pick
		for _, p := range picks {
			if !slices.Contains(lost, p.span) {
				want = append(want, p)
			}
		}
		if f == nil {
			if len(want) > 0 {
				t.Errorf("nothing was copied without %v", lost)
			}
			continue
		}
		if len(f.rows) != len(want) || f.rank != 7 {
			t.Fatalf("%d rows of rank %d; want %d of rank 7", len(f.rows), f.rank, len(want))
		}
		for i, p := range want {
			row := f.rows[i]
			got := fmt.Sprint(row.time, f.labels(&row), row.pos, row.row, string(f.data[row.off:][:row.line]))
			if w := fmt.Sprint(p.time, fmt.Sprint("s", p.span), 10+p.span, p.row, fmt.Sprint("line ", p.row)); got != w {
				t.Errorf("row %d is %s; want %s", i, got, w)
			}
		}
		s.reads.results.put(f)
	}
}

// Metadata that cannot be parsed lose their entry, and the error names the leaf.
func TestDamagedMetadata(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	var got []string
	var damage []error
	c := newConsumer(newScan(&search{ctx: t.Context(), store: s}, entriesTask{}), func(f Result, err error) bool {
		if err != nil {
			damage = append(damage, err)
		} else {
			got = append(got, string(f.Line))
		}
		return true
	})
	f := &results{streams: []resultStream{{left: 3}}, data: []byte("a\xffbc"), leaf: &fakeLeaf{}}
	f.rows = []resultRow{{time: 1, line: 1, meta: 1}, {time: 2, off: 2, line: 1}, {time: 3, off: 3, line: 1}}
	c.batch = new(resultBatch)
	if n := c.batch.add(s.names, f, len(f.rows)); n != len(f.rows) {
		t.Fatalf("%d rows were copied", n)
	}
	if err := c.yieldBatch(); err != nil || c.lost != 1 {
		t.Fatalf("%v, and %d entries are lost", err, c.lost)
	}
	if !slices.Equal(got, []string{"b", "c"}) || len(damage) != 1 || !errors.Is(damage[0], ErrLabels) {
		t.Errorf("lines %q, errors %v", got, damage)
	}
}

// A visit keeps what fits, at least one entry, and all of the first key if the
// consumer waits for that, up to a limit.
func TestFit(t *testing.T) {
	const long = 1 << 20
	r := &reading{x: &search{}}
	var rows block.Encoder
	var picks []pick
	for i, time := range []int64{1, 1, 1, 2, 2} {
		rows.Add(time, []byte("line"), nil)
		picks = append(picks, pick{time, 0, int32(i)})
	}
	for i := range 2 * maxCopied / long {
		rows.Add(3, make([]byte, long), nil)
		picks = append(picks, pick{3, 0, int32(5 + i)})
	}
	stored, err := rows.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.block.Open(stored, nil); err != nil {
		t.Fatal(err)
	}
	if err := r.block.Lines(); err != nil {
		t.Fatal(err)
	}
	none := int64(math.MinInt64)
	for _, c := range []struct {
		picks []pick
		of    allotment
		n     int
	}{
		{picks, allotment{0, none}, 1},
		{picks, allotment{2 * (4 + resultRowBytes), none}, 2},
		{picks, allotment{0, 0}, 1},
		{picks, allotment{0, 1}, 3},
		{picks, allotment{4 * (4 + resultRowBytes), 1}, 4},
		{picks, allotment{0, maxKey}, 3},
		{picks[3:], allotment{0, 1}, 1},
		{picks[3:], allotment{0, 2}, 2},
		{picks[5:], allotment{0, 3}, maxCopied/long - 1},
		{picks[5:], allotment{4 * maxCopied, 0}, 2 * maxCopied / long},
	} {
		if n, _ := fit(r, c.picks, c.of); n != c.n {
			t.Errorf("%d picks from time %d, allotted %+v: %d; want %d", len(c.picks), c.picks[0].time, c.of, n, c.n)
		}
	}
}

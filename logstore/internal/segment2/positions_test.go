package segment2

import (
	"bytes"
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stele-go/stele/internal/filetest"
)

func encodePositions(t testing.TB, runs []FrameRun, ids []ID) []byte {
	t.Helper()
	var e positionsEncoder
	p, err := e.append([]byte("x"), new(zipper), runs, ids)
	if err != nil || p[0] != 'x' {
		t.Fatal(err)
	}
	return p[1:]
}

// runsOf returns runs of so many rows.
func runsOf(rows ...int) (runs []FrameRun) {
	first := uint32(0)
	for i, n := range rows {
		runs = append(runs, FrameRun{Ordinal: uint32(i), First: first, Rows: uint32(n)})
		first += uint32(n)
	}
	return runs
}

func TestPositions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name string
		runs []FrameRun
		id   func(i int) ID
	}{
		{"one row", runsOf(1), func(int) ID { return ID{5, 6} }},
		{"the limits", runsOf(1, 2, 2), func(i int) ID {
			return []ID{{math.MaxUint64, math.MaxUint32}, {0, 0}, {math.MaxUint64, math.MaxUint32}, {math.MaxUint64, 0}, {0, 1}}[i]
		}},
		{"one record", runsOf(1000), func(i int) ID { return ID{77, uint32(i)} }},
		{"records of one row", runsOf(1000), func(i int) ID { return ID{77 + uint64(i), 0} }},
		{"anything", runsOf(100, 1, 1, 3000), func(int) ID { return ID{r.Uint64(), r.Uint32()} }},
		{"one stream a row", runsOf(slices.Repeat([]int{1}, 3000)...), func(i int) ID { return ID{uint64(r.IntN(5000)), 0} }},
	} {
		last := c.runs[len(c.runs)-1]
		ids := make([]ID, last.First+last.Rows)
		for i := range ids {
			ids[i] = c.id(i)
		}
		p := encodePositions(t, c.runs, ids)
		got, err := parsePositions([]ID{{1, 1}}, p, c.runs)
		if err != nil || !slices.Equal(got[1:], ids) {
			t.Errorf("%s: %v", c.name, err)
		}
		t.Logf("%s: %d bytes for %d rows", c.name, len(p), len(ids))
		more := append(slices.Clone(c.runs), FrameRun{First: last.First + last.Rows, Rows: 9})
		for name, runs := range map[string][]FrameRun{"fewer rows": c.runs[:len(c.runs)-1], "more rows": more} {
			if got, err := parsePositions([]ID{{1, 1}}, p, runs); err == nil || len(got) != 1 {
				t.Errorf("%s: %s: %d IDs, %v", c.name, name, len(got), err)
			}
		}
	}
}

// TestPositionsSize prints what the positions of a row take: 400 streams, a few
// of which have most rows, appended in batches of several sizes, in blocks of
// 1,800 rows by time.
func TestPositionsSize(t *testing.T) {
	const streams, rows, perBlock = 400, 400_000, 1800
	for _, batch := range []int{1, 100, 1000} {
		r := rand.New(rand.NewPCG(3, 4))
		byStream := make([][]ID, streams)
		places := map[int]uint32{}
		for i := range rows {
			if i%batch == 0 {
				clear(places)
			}
			s := int(streams * r.Float64() * r.Float64() * r.Float64())
			byStream[s] = append(byStream[s], ID{uint64(i / batch), places[s]})
			places[s]++
		}
		size, plain := 0, 0
		var e positionsEncoder
		var z zipper
		var runs []FrameRun
		var ids []ID
		flush := func() {
			if len(ids) > 0 {
				p, err := e.append(nil, &z, runs, ids)
				if err != nil {
					t.Fatal(err)
				}
				size += len(p)
				plain += len(e.all)
			}
			runs, ids = nil, nil
		}
		for s, list := range byStream {
			for part := range slices.Chunk(list, perBlock) {
				runs = append(runs, FrameRun{Ordinal: uint32(s), First: uint32(len(ids)), Rows: uint32(len(part))})
				if ids = append(ids, part...); len(ids) >= perBlock/2 {
					flush()
				}
			}
		}
		flush()
		each := float64(size) / rows
		t.Logf("batches of %d: %.3f bytes a row, %.3f without zstd", batch, each, float64(plain)/rows)
		if most := map[int]float64{1: 1.4, 100: 0.5, 1000: 0.16}[batch]; each > most {
			t.Errorf("batches of %d: %.3f bytes a row; want at most %.2f", batch, each, most)
		}
	}
}

func FuzzPositions(f *testing.F) {
	for _, rows := range []int{1, 3, 200} {
		ids := make([]ID, rows)
		for i := range ids {
			ids[i] = ID{uint64(i * i % 7), uint32(i)}
		}
		slices.SortFunc(ids, func(a, b ID) int { return cmp.Compare(a.Position, b.Position) })
		f.Add(encodePositions(f, runsOf(rows), ids), uint32(rows), uint32(0))
	}
	f.Fuzz(func(t *testing.T, p []byte, one, two uint32) {
		runs := []FrameRun{{Rows: max(one, 1) % math.MaxInt32}}
		if two > 0 {
			runs = append(runs, FrameRun{First: runs[0].Rows, Rows: two % math.MaxInt32})
		}
		var ids []ID
		var err error
		took := filetest.Allocated(func() { ids, err = parsePositions(nil, p, runs) })
		if most := uint64(2<<20 + 10*8*16*maxUnzipped(len(p))); took > most {
			t.Fatalf("%d bytes of memory for %d", took, len(p))
		}
		if err != nil {
			return
		}
		again, err := parsePositions(nil, encodePositions(t, runs, ids), runs)
		if err != nil || !slices.Equal(again, ids) {
			t.Fatalf("%v: %v, and was %v", err, again, ids)
		}
		if got, _ := parsePositions(nil, bytes.Clone(p), runs); !slices.Equal(got, ids) {
			t.Fatal("not the same twice")
		}
	})
}

package segment

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// readVersion2 returns the rows of a segment of version 2.
func readVersion2(t testing.TB, p []byte) map[string][]entry {
	t.Helper()
	ctx, src := t.Context(), inMemory(p)
	card, err := segment2.OpenCard(src, int64(len(p)))
	if err != nil {
		t.Fatal(err)
	}
	type part struct {
		seq  uint64
		rows []entry
	}
	parts := map[uint32][]part{}
	x := card.Index(src, nil)
	zones, err := x.Zones(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var f segment2.Frame
	var d block.Decoder
	for i := range zones {
		g, err := x.Group(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		for n := g.First; n < g.First+len(g.Blocks); n++ {
			if err := x.ReadFrame(ctx, &f, g, n); err != nil {
				t.Fatal(err)
			}
			times, err := d.Decode(f.Block, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range f.Runs {
				one := part{seq: r.Seq}
				for row := int(r.First); row < int(r.First+r.Rows); row++ {
					one.rows = append(one.rows, entry{time: times[row], line: string(d.Line(row)), meta: string(d.Meta(row))})
				}
				parts[r.Ordinal] = append(parts[r.Ordinal], one)
			}
		}
	}
	all := map[string][]entry{}
	for ordinal, list := range parts {
		chunk, err := x.ChunkOf(ctx, ordinal)
		if err != nil {
			t.Fatal(err)
		}
		c, err := x.Labels(ctx, chunk)
		if err != nil {
			t.Fatal(err)
		}
		labels := c.Of(ordinal)
		slices.SortFunc(list, func(a, b part) int { return cmp.Compare(a.seq, b.seq) })
		for _, one := range list {
			for _, e := range one.rows {
				e.labels = labels
				all[labels] = append(all[labels], e)
			}
		}
		slices.SortStableFunc(all[labels], func(a, b entry) int { return cmp.Compare(a.time, b.time) })
	}
	return all
}

package segment

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// converted writes the content of a segment in version 2.
func converted(t *testing.T, s *Segment) segment2.Index {
	t.Helper()
	ctx, x := t.Context(), s.Index(nil)
	var labels []string
	for i := range s.Info().Streams {
		labels = append(labels, must(s.Stream(i)).Labels)
	}
	var out bytes.Buffer
	i := s.Info()
	w := segment2.NewWriter(&out, segment2.Info{After: i.After, Upto: i.Upto, Generation: i.Generation, Created: i.Created})
	if err := w.AddStreams("", slices.Values(labels)); err != nil {
		t.Fatal(err)
	}
	var filters [][]byte
	for n := range must(x.Zones(ctx)) {
		g, runs := must(x.Group(ctx, n)), must(x.Runs(ctx, n))
		for b := g.First; b < g.First+len(g.Blocks); b++ {
			var f segment2.Frame
			if err := x.ReadFrame(ctx, &f, g, b); err != nil {
				t.Fatal(err)
			}
			ids := must(x.IDs(ctx, nil, &f))
			if err := w.AddBlock(segment2.EncodedBlock{Codec: f.Codec, Block: f.Block, Runs: runs.Of(b), IDs: ids}); err != nil {
				t.Fatal(err)
			}
			var buf buffer
			filters = append(filters, slices.Clone(must(s.readFilter(&buf, must(s.load()), b))))
		}
	}
	for _, p := range filters {
		if err := w.AddFilter(p); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	c, err := segment2.OpenCard(inMemory(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return c.Index(inMemory(out.Bytes()), nil)
}

// TestSameAnswers compares the answers of both versions about the same rows.
func TestSameAnswers(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	merged, _ := specimen(t)
	many := make([]entry, 5_000)
	for i := range many {
		many[i] = entry{labels: labelsOf(i % 990), time: r.Int64N(1000), line: fmt.Sprint("line", i)}
	}
	for name, p := range map[string][]byte{
		"small groups": pack(t, someEntries(r, 3000, 40), segment2.Info{Upto: 7, Generation: 1, Created: 3}, 128, 6),
		"large blocks": pack(t, someEntries(r, 3000, 400), segment2.Info{Upto: 7}, 20_000, 600),
		"many streams": pack(t, many, segment2.Info{Upto: 7}, 2000, 1),
		"merged":       merged,
		"empty":        pack(t, nil, segment2.Info{Upto: 1}, 1, 1),
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, p)
			a, b := s.Index(nil), converted(t, s)
			ia, ib := a.Info(), b.Info()
			ia.Version, ia.Size, ib.Version, ib.Size = 0, 0, 0, 0
			if ia != ib {
				t.Fatalf("info %+v and %+v", ia, ib)
			}
			sameStreams(t, s, a, b)
			sameGroups(t, a, b)
		})
	}
}

func sameStreams(t *testing.T, s *Segment, a, b segment2.Index) {
	t.Helper()
	ctx := t.Context()
	of := map[uint32]segment2.StreamTotals{} // of the runs
	for n := range must(b.Zones(ctx)) {
		for _, r := range must(b.Runs(ctx, n)) {
			of[r.Ordinal] = segment2.StreamTotals{Rows: int64(r.Rows), Raw: r.Raw, MinTime: r.MinTime, MaxTime: r.MaxTime, Seqs: r.Seq + 1}
		}
	}
	for i := range s.Info().Streams {
		n, part := uint32(i), i/segment2.PartStreams
		ta, tb := must(a.Streams(ctx, part)), must(b.Streams(ctx, part))
		x, y := ta.Streams[n-ta.First], tb.Streams[n-tb.First]
		if y.Rows == 0 {
			y = of[n]
		}
		if x != y {
			t.Fatalf("stream %d: totals %+v and %+v", n, x, y)
		}
		la := must(a.Labels(ctx, must(a.ChunkOf(ctx, n)))).Of(n)
		if lb := must(b.Labels(ctx, must(b.ChunkOf(ctx, n)))).Of(n); la != lb {
			t.Fatalf("stream %d: labels %q and %q", n, la, lb)
		}
		if m, ok, err := b.Find(ctx, "", la); m != n || !ok || err != nil {
			t.Fatalf("Find(%q) = %d, %v, %v; want %d", la, m, ok, err, n)
		}
	}
	for i := range 60 {
		for _, c := range [][]segment2.Condition{
			{{Name: "host", Values: []string{fmt.Sprintf("h-%03d", i)}}},
			{{Name: "app", Values: []string{"apia", "apib"}, Not: i%2 == 0}, {Name: "host", Match: func(v string) bool { return len(v) > 0 && int(v[len(v)-1]) == '0'+i%10 }}},
			{{Name: "absent", Values: []string{"", "x"}[i%2:][:1]}},
		} {
			x, y := must(a.Select(ctx, "", c)), must(b.Select(ctx, "", c))
			if (x == nil) != (y == nil) || x != nil && !x.Equals(y) {
				t.Fatalf("Select(%+v) = %v and %v", c, x, y)
			}
		}
	}
}

func sameGroups(t *testing.T, a, b segment2.Index) {
	t.Helper()
	ctx := t.Context()
	zones := must(a.Zones(ctx))
	if z := must(b.Zones(ctx)); !slices.Equal(z, zones) {
		t.Fatalf("zones %+v and %+v", zones, z)
	}
	var fa, fb segment2.Frame
	for i := range zones {
		ga, gb := must(a.Group(ctx, i)), must(b.Group(ctx, i))
		if ra, rb := must(a.Runs(ctx, i)), must(b.Runs(ctx, i)); !slices.Equal(ra, rb) {
			t.Fatalf("group %d: other runs", i)
		}
		ta, tb := must(a.Filters(ctx, ga)), must(b.Filters(ctx, gb))
		for n := ga.First; n < ga.First+len(ga.Blocks); n++ {
			if err := errors.Join(a.ReadFrame(ctx, &fa, ga, n), b.ReadFrame(ctx, &fb, gb, n)); err != nil {
				t.Fatal(err)
			}
			if fa.Number != fb.Number || fa.Codec != fb.Codec || !bytes.Equal(fa.Block, fb.Block) || !slices.Equal(fa.Runs, fb.Runs) {
				t.Fatalf("block %d: other content", n)
			}
			// Version 2 keeps the identities that version 1 makes.
			if ia, ib := must(a.IDs(ctx, nil, &fa)), must(b.IDs(ctx, nil, &fb)); !slices.Equal(ia, ib) {
				t.Fatalf("block %d: IDs %v and %v", n, ia, ib)
			}
			for _, word := range []string{"word", "absent", fmt.Sprint("line", n)} {
				needle := filter.Word([]byte(word))
				if x, y := must(ta.May(ga, n, needle)), must(tb.May(gb, n, needle)); x != y {
					t.Fatalf("block %d: May of %q: %v and %v", n, word, x, y)
				}
			}
		}
		ta.Release()
		tb.Release()
	}
}

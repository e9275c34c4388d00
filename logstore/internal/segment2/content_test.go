package segment2

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Chunks with the same streams have the same content in any segment, whatever
// their lines; others have another one, and so have damaged ones.
func TestContent(t *testing.T) {
	labels := podLabels(rand.New(rand.NewPCG(1, 2)), 3000)
	segment := func(tenant string, labels []string, time int64) *packed {
		var rows []row
		for i, l := range labels {
			rows = append(rows, row{streamKey: streamKey{tenant, l}, time: time, line: "a line", id: ID{uint64(i), 0}})
		}
		return pack(t, rows, Info{Upto: 9000}, 500, 100)
	}
	// What a chunk has decides its content.
	kept := map[uint64][]string{}
	check := func(x *index2, tenant string) (known int) {
		for ordinal := 0; ordinal < x.Info().Streams; {
			c, err := x.Content(t.Context(), uint32(ordinal))
			if err != nil || int(c.First) != ordinal || c.Streams == 0 || c.Hash == 0 {
				t.Fatalf("stream %d: %+v, %v", ordinal, c, err)
			}
			if inside, err := x.Content(t.Context(), c.First+c.Streams-1); inside != c || err != nil {
				t.Fatalf("its last stream: %+v, %v; want %+v", inside, err, c)
			}
			chunk := must(x.Labels(t.Context(), must(x.ChunkOf(t.Context(), c.First))))
			text := append([]string{tenant}, chunk.Labels...)
			if was, ok := kept[c.Hash]; !ok {
				kept[c.Hash] = text
			} else if known++; !slices.Equal(was, text) {
				t.Fatalf("stream %d: a chunk with the content of another has other labels", ordinal)
			}
			ordinal += len(chunk.Labels)
		}
		return known
	}
	first := segment("", labels, 1)
	if n := check(first.open(t, false), ""); n != 0 {
		t.Errorf("%d chunks of one segment have the same content", n)
	}
	all := len(kept)
	if n := check(segment("", labels, 2).open(t, true), ""); n != all {
		t.Errorf("%d of %d chunks with the same streams have the same content", n, all)
	}
	if n := check(segment("", labels[:len(labels)-1], 2).open(t, true), ""); n != all-1 {
		t.Errorf("%d of %d chunks, of which the last has other streams, have the same content", n, all)
	}
	if n := check(segment("blue", labels, 2).open(t, false), "blue"); n != 0 {
		t.Errorf("%d chunks of another tenant have the same content", n)
	}
	x := first.open(t, false)
	d := must(x.directory(t.Context()))
	first.p[d[1].off+labelHeaderSize+5] ^= 1
	if c, err := x.Content(t.Context(), d[1].first); kept[c.Hash] != nil || err != nil {
		t.Errorf("a damaged chunk: %+v, %v; want another content", c, err)
	}
}

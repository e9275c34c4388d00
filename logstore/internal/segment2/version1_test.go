package segment2_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/segment"
	"github.com/stele-go/stele/logstore/internal/segment/segmenttest"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

func init() { segment2.PackVersion1 = pack1 }

// memory1 is a file in memory.
type memory1 struct{ *bytes.Reader }

func (memory1) Name() string { return "one.seg" }

// pack1 makes a segment of version 1, and write1 its bytes, as a store did: a stream has runs of at
// most maxRows rows, and a block at least maxRaw bytes.
func pack1(t testing.TB, entries []segment2.Entry1, info segment2.Info, maxRaw, maxRows int) (segment2.MergeSource, segment2.Index) {
	t.Helper()
	p := write1(t, entries, info, maxRaw, maxRows)
	s, err := segment.Open(memory1{bytes.NewReader(p)}, int64(len(p)))
	if err != nil {
		t.Fatal(err)
	}
	return s.MergeSource(), s.Index(nil)
}

func write1(t testing.TB, entries []segment2.Entry1, info segment2.Info, maxRaw, maxRows int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := segmenttest.NewWriter(&out)
	var e block.Encoder
	var f filter.Builder
	var runs []segmenttest.Run
	flush := func() {
		if e.Rows() == 0 {
			return
		}
		p, err := e.Append(nil)
		if err == nil {
			err = w.AddBlock(p, f.Append(nil), runs)
		}
		if err != nil {
			t.Fatal(err)
		}
		e.Reset()
		f.Reset()
		runs = nil
	}
	streams := map[string][]segment2.Entry1{}
	for _, one := range entries {
		streams[one.Labels] = append(streams[one.Labels], one)
	}
	for _, labels := range slices.Sorted(maps.Keys(streams)) {
		rows := streams[labels]
		slices.SortStableFunc(rows, func(a, b segment2.Entry1) int { return cmp.Compare(a.Time, b.Time) })
		for part := range slices.Chunk(rows, maxRows) {
			if len(runs) > 0 && (e.Raw() >= maxRaw || runs[len(runs)-1].Labels == labels) {
				flush()
			}
			raw := e.Raw()
			for _, one := range part {
				e.Add(one.Time, []byte(one.Line), []byte(one.Meta))
				f.Add([]byte(one.Line))
			}
			runs = append(runs, segmenttest.Run{
				Labels: labels, Rows: len(part), MinTime: part[0].Time, MaxTime: part[len(part)-1].Time, Raw: int64(e.Raw() - raw),
			})
		}
	}
	flush()
	if _, err := w.Finish(info); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Merges of 8 segments of 400 streams, whose blocks are copied, or small and
// merged.
func BenchmarkMerge(b *testing.B) {
	const sources, streams, rows = 8, 400, 20_000
	for _, size := range []struct {
		name string
		raw  int
	}{{"copied", 16 << 10}, {"merged", 256 << 10}} {
		var as1, as2 []segment2.MergeSource
		bytesOfLines := int64(0)
		for i := range sources {
			info := segment2.Info{After: uint64(i), Upto: uint64(i + 1)}
			var entries []segment2.Entry1
			for n := range rows {
				s := n % streams * (n % streams) / streams
				entries = append(entries, segment2.Entry1{
					Labels: fmt.Sprintf("\x03app\x06app-%02d\x04host\x07host-%02d", s/20, s%20), Time: int64(n) * 1000,
					Line: fmt.Sprintf("GET /some/path/%d 200 in %d ms", n%1000, n%77),
				})
				bytesOfLines += int64(len(entries[n].Line))
			}
			p := write1(b, entries, info, 16<<10, 1<<20)
			s, err := segment.Open(memory1{bytes.NewReader(p)}, int64(len(p)))
			if err != nil {
				b.Fatal(err)
			}
			source := s.MergeSource()
			var out bytes.Buffer
			if _, err := segment2.Merge(b.Context(), &out, []segment2.MergeSource{source}, segment2.MergeOptions{BlockRaw: 1}); err != nil {
				b.Fatal(err)
			}
			src := memory1{bytes.NewReader(out.Bytes())}
			card, err := segment2.OpenCard(src, int64(out.Len()))
			if err != nil {
				b.Fatal(err)
			}
			as1, as2 = append(as1, source), append(as2, card.MergeSource(src))
		}
		run := func(name string, merge func() error) {
			b.Run("blocks="+size.name+"/"+name, func(b *testing.B) {
				b.SetBytes(bytesOfLines)
				for b.Loop() {
					if err := merge(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		for _, v := range []struct {
			name    string
			sources []segment2.MergeSource
		}{{"from=1", as1}, {"from=2", as2}} {
			run(v.name, func() error {
				_, err := segment2.Merge(b.Context(), io.Discard, v.sources, segment2.MergeOptions{BlockRaw: size.raw})
				return err
			})
		}
	}
}

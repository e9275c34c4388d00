package segment

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/segment/segmenttest"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// plain makes a segment with made-up blocks and filters.
func plain(t testing.TB, streams, blocks int) []byte {
	var out bytes.Buffer
	w := segmenttest.NewWriter(&out)
	var b filter.Builder
	for i := range 1500 {
		b.Add(fmt.Appendf(nil, "word%d", i))
	}
	f := b.Append(nil)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range max(blocks, streams) {
		run := segmenttest.Run{Labels: labelsOf(i * streams / max(blocks, streams)), Rows: 1800, MinTime: r.Int64(), Raw: 250 << 10}
		run.MaxTime = run.MinTime
		if err := w.AddBlock(make([]byte, 1000), f, []segmenttest.Run{run}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Finish(segment2.Info{Upto: 1}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func BenchmarkOpen(b *testing.B) {
	for _, c := range [][2]int{{400, 1000}, {400, 10000}, {20000, 20000}} {
		b.Run(fmt.Sprintf("streams=%d/blocks=%d", c[0], c[1]), func(b *testing.B) {
			p := plain(b, c[0], c[1])
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Open(inMemory(p), int64(len(p))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkMay(b *testing.B) {
	p := plain(b, 400, 10000)
	for _, src := range []segment2.Source{inMemory(p), inView(p)} {
		b.Run(fmt.Sprintf("source=%T", src), func(b *testing.B) {
			s, err := Open(src, int64(len(p)))
			if err != nil {
				b.Fatal(err)
			}
			needles := []filter.Needle{filter.Word([]byte("nowhere"))}
			i := 0
			for b.Loop() {
				if _, err := s.May(i%s.Info().Blocks, needles...); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

func BenchmarkRuns(b *testing.B) {
	p := plain(b, 400, 10000)
	s, err := Open(inView(p), int64(len(p)))
	if err != nil {
		b.Fatal(err)
	}
	i := 0
	for b.Loop() {
		if _, err := s.Runs(i % s.Info().Streams); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

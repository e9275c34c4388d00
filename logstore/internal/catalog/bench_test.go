package catalog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// manySegments makes a directory with segments of that many streams each, with
// one block of 4 rows of each stream, or of one.
func manySegments(b testing.TB, segments, streams int) string {
	b.Helper()
	dir := b.TempDir()
	if err := os.Mkdir(filepath.Join(dir, SegmentDir), 0o755); err != nil {
		b.Fatal(err)
	}
	rows := 4
	if streams > 10_000 {
		rows = 1 // a block has no more
	}
	var enc block.Encoder
	var words filter.Builder
	for i := range segments {
		at := int64(1e18) + int64(i)*1e9
		enc.Reset()
		words.Reset()
		var runs segment2.Runs
		for n := range streams {
			before := enc.Raw()
			for k := range rows {
				line := fmt.Appendf(nil, "stream %d, line %d: request %d was answered in %d ms", n, k, i*n, n%100)
				enc.Add(at+int64(k), line, nil)
				words.Add(line)
			}
			runs = append(runs, segment2.Run{Ordinal: uint32(n), Rows: uint32(rows), MinTime: at, MaxTime: at + int64(rows) - 1, Raw: int64(enc.Raw() - before)})
		}
		sp := positions{after: uint64(i), upto: uint64(i) + 1}
		f, err := os.Create(filepath.Join(dir, SegmentDir, sp.String()))
		if err != nil {
			b.Fatal(err)
		}
		w := segment2.NewWriter(f, segment2.Info{After: sp.after, Upto: sp.upto})
		err = w.AddStreams("", func(yield func(string) bool) {
			for n := range streams {
				if !yield(labelsOf(fmt.Sprintf("app-%06d host-%02d", n/20, n%20))) {
					return
				}
			}
		})
		bytes, bad := enc.Append(nil)
		if err = errors.Join(err, bad); err == nil {
			err = w.AddBlock(segment2.EncodedBlock{Block: bytes, Codec: 1, Runs: runs})
		}
		if err == nil {
			err = w.AddFilter(words.Append(nil))
		}
		if err == nil {
			_, err = w.Finish()
		}
		if err != nil {
			b.Fatal(err)
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

func BenchmarkOpen(b *testing.B) {
	for _, c := range []struct{ segments, streams int }{{100, 400}, {1000, 400}, {20, 100_000}} {
		b.Run(fmt.Sprintf("segments=%d/streams=%d", c.segments, c.streams), func(b *testing.B) {
			dir := manySegments(b, c.segments, c.streams)
			o, _ := testOptions()
			o.Files = 512
			for b.Loop() {
				s := open(b, dir, o)
				b.StopTimer()
				if st := s.Stats(); st.Segments != int64(c.segments) || st.Streams != int64(c.segments*c.streams) {
					b.Fatalf("stats: %+v", st)
				}
				s.Close()
				b.StartTimer()
			}
		})
	}
}

func BenchmarkSnapshot(b *testing.B) {
	o, _ := testOptions()
	s := open(b, b.TempDir(), o)
	publish(b, s, 1, rowsOf(1e18, 3, "a"))
	b.Run("goroutines=1", func(b *testing.B) {
		for b.Loop() {
			s.Snapshot().Release()
		}
	})
	b.Run("goroutines=many", func(b *testing.B) {
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				s.Snapshot().Release()
			}
		})
	})
}

// BenchmarkMay measures a filter test, a block, over 1,000 open segments.
func BenchmarkMay(b *testing.B) {
	dir := manySegments(b, 1000, 400)
	o, _ := testOptions()
	o.Files = 4000
	s := open(b, dir, o)
	n := s.Snapshot()
	defer n.Release()
	needle := filter.Word([]byte("nowherefound"))
	for b.Loop() {
		for seg := range n.Segments() {
			if may, err := mayHave(seg, 0, needle); may || err != nil {
				b.Fatal(may, err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(n.v.order)), "ns/block")
}

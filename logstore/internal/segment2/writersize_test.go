package segment2

import (
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"testing"
)

// liveHeap returns the bytes of all objects in use.
func liveHeap() int64 {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// A heapWriter notes the most live heap that it sees, and keeps the end of the
// file.
type heapWriter struct {
	most int64
	tail []byte
}

func (w *heapWriter) Write(p []byte) (int, error) {
	w.most = max(w.most, liveHeap())
	w.tail = append(w.tail[:max(0, len(w.tail)-writeSize)], p...)
	return len(p), nil
}

// oneRowEach adds blocks of 1,600 streams of one row: beside the block, a row
// has a time within the hour, one of ten sizes, and a position of its own.
func oneRowEach(t testing.TB, r *rand.Rand, w *Writer, streams int) {
	t.Helper()
	var b EncodedBlock
	b.Block, b.Codec = []byte("block"), 1
	for i := range streams {
		time := 1_767_600_000_000 + r.Int64N(3_600_000)
		b.Runs = append(b.Runs, Run{Ordinal: uint32(i), Rows: 1, MinTime: time, MaxTime: time, Raw: 100 + r.Int64N(10)})
		b.IDs = append(b.IDs, ID{Position: uint64(i / 1000), Place: 0})
		if len(b.Runs) == 1600 || i == streams-1 {
			if err := w.AddBlock(b); err != nil {
				t.Fatal(err)
			}
			b.Runs, b.IDs = b.Runs[:0], b.IDs[:0]
		}
	}
	for range w.groups.blocks {
		if err := w.AddFilter(nil); err != nil {
			t.Fatal(err)
		}
	}
}

// A segment with one row a stream takes at most 40 bytes a row beside blocks
// and filters, and its Writer at most 32 MB, with 1,000,000 streams.
func TestOneRowAStream(t *testing.T) {
	streams, most := 50_000, int64(16<<20)
	if os.Getenv("STELE_LONG") == "1" {
		streams, most = 1_000_000, 32_000_000
	}
	r := rand.New(rand.NewPCG(1, 2))
	labels := podLabels(r, streams)
	streams = len(labels)
	out := &heapWriter{tail: make([]byte, 0, 2*writeSize)}
	start := liveHeap()
	w := NewWriter(out, Info{Upto: 5000})
	if err := w.AddStreams("", slices.Values(labels)); err != nil {
		t.Fatal(err)
	}
	afterStreams := liveHeap() - start
	oneRowEach(t, r, w, streams)
	afterBlocks := liveHeap() - start
	blocks := len(w.groups.blocks)
	info, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d streams: %d bytes of memory with all streams, %d with all blocks, at most %d", streams, afterStreams, afterBlocks, out.most-start)
	if got := max(out.most-start, afterStreams, afterBlocks); got > most {
		t.Errorf("%d bytes of memory for %d streams; want at most %d", got, streams, most)
	}
	each := float64(info.Size-int64(blocks*len("block"))) / float64(streams)
	t.Logf("%.2f bytes a row beside blocks and filters", each)
	if each > 40 {
		t.Errorf("%.2f bytes a row beside blocks and filters; want at most 40", each)
	}
	f, _, ok := parseFooter(out.tail[len(out.tail)-footerSize:])
	if !ok {
		t.Fatal("no footer")
	}
	sections, err := parseSections(out.tail[len(out.tail)-footerSize-int(f.tableBytes):len(out.tail)-footerSize], f.table)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.2f frames and labels", float64(sections[0].off)/float64(streams))
	for _, s := range sections {
		t.Logf("%.2f section %d", float64(s.bytes)/float64(streams), s.kind)
	}
	runtime.KeepAlive(labels)
}

func BenchmarkAddStreams(b *testing.B) {
	labels := podLabels(rand.New(rand.NewPCG(1, 2)), 50_000)
	b.ReportAllocs()
	for b.Loop() {
		w := NewWriter(io.Discard, Info{})
		if err := w.AddStreams("", slices.Values(labels)); err != nil {
			b.Fatal(err)
		}
		if _, err := w.Finish(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(labels)), "ns/stream")
}

package segment2_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stele-go/stele/logstore/internal/segment/segmenttest"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// With few streams a segment of this version has at most 0.3 bytes a row more
// than one of version 1, positions included.
func TestFewStreams(t *testing.T) {
	const rows, streams, perBlock = 1_000_000, 400, 1800
	r := rand.New(rand.NewPCG(3, 4))
	labels := make([]string, streams)
	for i := range labels {
		labels[i] = fmt.Sprintf("\x03app\x06app-%02d\x04host\x07host-%02d", i/20, i%20)
	}
	type row struct {
		time int64
		id   segment2.ID
	}
	byStream := make([][]row, len(labels))
	places := map[int]uint32{}
	for i := range rows {
		if i%1000 == 0 {
			clear(places)
		}
		s := int(float64(len(labels)) * r.Float64() * r.Float64() * r.Float64())
		byStream[s] = append(byStream[s], row{1_767_600_000_000_000_000 + int64(i)*131_000, segment2.ID{uint64(i / 1000), places[s]}})
		places[s]++
	}
	var blocks []segment2.EncodedBlock
	next := segment2.EncodedBlock{Codec: 1, Block: []byte("block")}
	for s, list := range byStream {
		seq := uint64(0)
		for part := range slices.Chunk(list, perBlock) {
			next.Runs = append(next.Runs, segment2.Run{Ordinal: uint32(s), Rows: uint32(len(part)), Seq: seq, MinTime: part[0].time, MaxTime: part[len(part)-1].time, Raw: 140 * int64(len(part))})
			seq++
			for _, one := range part {
				next.IDs = append(next.IDs, one.id)
			}
			if len(next.IDs) >= perBlock/2 {
				blocks = append(blocks, next)
				next = segment2.EncodedBlock{Codec: 1, Block: []byte("block")}
			}
		}
	}
	if len(next.Runs) > 0 {
		blocks = append(blocks, next)
	}
	one, two := segmenttest.NewWriter(io.Discard), segment2.NewWriter(io.Discard, segment2.Info{Upto: 1000})
	two.AddStreams("", slices.Values(labels))
	for _, b := range blocks {
		var runs []segmenttest.Run
		for _, r := range b.Runs {
			runs = append(runs, segmenttest.Run{Labels: labels[r.Ordinal], Rows: int(r.Rows), MinTime: r.MinTime, MaxTime: r.MaxTime, Raw: r.Raw})
		}
		if err := one.AddBlock(b.Block, []byte("filter"), runs); err != nil {
			t.Fatal(err)
		}
		if err := two.AddBlock(b); err != nil {
			t.Fatal(err)
		}
	}
	for range blocks {
		two.AddFilter([]byte("filter"))
	}
	was, err := one.Finish(segment2.Info{Upto: 1000})
	is, err2 := two.Finish()
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	each := func(n int64) string { return fmt.Sprintf("%.3f", float64(n)/rows) }
	t.Logf("bytes a row beside blocks: version 1 %s, now %s", each(was.Size), each(is.Size))
	if more := float64(is.Size-was.Size) / rows; more > 0.3 {
		t.Errorf("%.3f bytes a row more than version 1; want at most 0.3", more)
	}
}

// Blocks of one stream, as most are: the time is that of all but the content.
func BenchmarkAddBlock(b *testing.B) {
	const rows = 1800
	content := make([]byte, 25_000)
	r := rand.New(rand.NewPCG(1, 2))
	ids := make([]segment2.ID, rows)
	for i := 1; i < rows; i++ {
		if ids[i] = ids[i-1]; r.IntN(10) > 0 {
			ids[i].Place++
		} else {
			ids[i] = segment2.ID{Position: ids[i].Position + uint64(r.IntN(3))}
		}
	}
	w := segment2.NewWriter(io.Discard, segment2.Info{})
	w.AddStreams("", slices.Values([]string{"\x03app\x03api"}))
	block := segment2.EncodedBlock{Block: content, Codec: 1, IDs: ids, Runs: segment2.Runs{{Rows: rows, MaxTime: 5, Raw: 250_000}}}
	for b.Loop() {
		if err := w.AddBlock(block); err != nil {
			b.Fatal(err)
		}
		block.Runs[0].Seq++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
}

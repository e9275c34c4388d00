package segment2

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
)

// manyStreams is a segment with one row of each of many streams, as small
// blocks have them.
func manyStreams(b *testing.B, streams int) *packed {
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([]row, streams)
	for i := range rows {
		labels := labelsOf("app", fmt.Sprintf("app-%d", i%40), "host", fmt.Sprintf("host-%06d", i/20), "pod", fmt.Sprintf("%012x", r.Uint64()>>16))
		rows[i] = row{
			streamKey: streamKey{"", labels}, time: 1_700_000_000_000 + r.Int64N(1e6), id: ID{uint64(i), 0},
			line: fmt.Sprintf("level=info msg=%q duration=%dms status=%d", "request served", r.IntN(1000), 200+r.IntN(4)*100),
		}
	}
	return pack(b, rows, Info{Upto: uint64(streams)}, 160<<10, 1)
}

// BenchmarkIndex2 measures what a query asks of a segment, each part decoded
// again.
func BenchmarkIndex2(b *testing.B) {
	const streams = 100_000
	k := manyStreams(b, streams)
	x, ctx := k.open(b, true), context.Background()
	middle := k.streams[streams/2]
	g := must(x.Group(ctx, 0))
	var f Frame
	var ids []ID
	for _, c := range []struct {
		name string
		f    func() error
	}{
		{"open", func() error { _, err := OpenCard(x.src, int64(len(k.p))); return err }},
		{"group", func() error { _, err := x.Group(ctx, 0); return err }},
		{"runs", func() error { _, err := x.Runs(ctx, 0); return err }},
		{"labels", func() error { _, err := x.Labels(ctx, 100); return err }},
		{"streams", func() error { _, err := x.Streams(ctx, 100); return err }},
		{"find", func() error { _, _, err := x.Find(ctx, "", middle.labels); return err }},
		{"select-app", func() error {
			_, err := x.Select(ctx, "", []Condition{{Name: "app", Values: []string{"app-7"}}})
			return err
		}},
		{"select-pod", func() error {
			for name, value := range allLabels(middle.labels) {
				if name == "pod" {
					_, err := x.Select(ctx, "", []Condition{{Name: name, Values: []string{value}}})
					return err
				}
			}
			return nil
		}},
		{"frame", func() error { return x.ReadFrame(ctx, &f, g, 0) }},
		{"ids", func() (err error) {
			if err = x.ReadFrame(ctx, &f, g, 0); err == nil {
				ids, err = x.IDs(ctx, ids[:0], &f)
			}
			return err
		}},
	} {
		for _, cached := range []bool{false, true} {
			x.cache = nil
			if cached {
				x.cache = mapCache{}
			}
			b.Run(fmt.Sprintf("streams=%d/part=%s/cached=%v", streams, c.name, cached), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := c.f(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

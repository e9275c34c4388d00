package segment2

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"
)

// manyPods is a segment of version 2 with so many streams of two rows each.
func manyPods(t testing.TB, number, streams int) mergeable {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(number), 1))
	var rows []row
	for i, labels := range podLabels(r, streams) {
		for n := range 2 {
			e := row{streamKey: streamKey{labels: labels}, time: r.Int64N(1000), line: fmt.Sprintf("line%d of many", i), id: ID{uint64(n), 0}}
			rows = append(rows, e)
		}
	}
	k := pack(t, rows, Info{After: uint64(number), Upto: uint64(number + 1)}, 64<<10, 1<<20)
	return mergeable2(t, k.p, nil)
}

// A merge holds about 30 bytes a stream beside the postings, and no labels.
func TestMergeMemory(t *testing.T) {
	const sources, streams = 4, 20_000
	var list []MergeSource
	for i := range sources {
		list = append(list, manyPods(t, i, streams).MergeSource)
	}
	live := func() int64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
	before, most, steps := live(), int64(0), 0
	o := MergeOptions{BlockRaw: 64 << 10, Throttle: func(context.Context, int) error {
		if steps++; steps%32 == 0 {
			most = max(most, live())
		}
		return nil
	}}
	info, err := Merge(t.Context(), io.Discard, list, o)
	if err != nil || info.Streams < sources*streams*9/10 || steps < 320 {
		t.Fatalf("%+v, %v, %d steps", info, err, steps)
	}
	runtime.KeepAlive(list)
	each := float64(most-before-postingsMemory) / float64(info.Streams)
	t.Logf("%d streams: %.1f MiB, %.0f bytes a stream", info.Streams, float64(most-before)/(1<<20), each)
	if limit := int64(postingsMemory + 3<<20 + 24*info.Streams); most-before > limit {
		t.Errorf("%d bytes; want at most %d", most-before, limit)
	}
}

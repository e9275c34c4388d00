package logstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stele-go/stele/internal/semaphore"
	"github.com/stele-go/stele/internal/testseed"
)

func TestLowestOf(t *testing.T) {
	r := rand.New(rand.NewPCG(testseed.Of(t), 1))
	for range 2000 {
		keys := make([]int64, 1+r.IntN(200))
		for i := range keys {
			keys[i] = r.Int64N(int64(1+r.IntN(300))) - 100
		}
		if r.IntN(4) == 0 {
			slices.Sort(keys)
		}
		n := 1 + r.IntN(len(keys))
		want := slices.Sorted(slices.Values(keys))[n-1]
		before := slices.Clone(keys)
		if got := lowestOf(keys, n); got != want {
			t.Fatalf("number %d of %v is %d; want %d", n, before, got, want)
		}
	}
}

// Blocks of which the memory of a query has no space for all lines are read several times. Each
// line is found once, and not made each time.
func TestLinesOfSharesAreMadeOnce(t *testing.T) {
	const streams, each, least = 20, 200, 16 << 10
	r := rand.New(rand.NewPCG(testseed.Of(t), 1))
	for _, codec := range []Codec{CodecLines, CodecColumns} {
		o := anyTime()
		o.Codec = codec
		a := &archive{Store: openTest(t, t.TempDir(), o)}
		a.add(t, interleaved(r, streams, each))
		if err := a.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		a.reads.minBytes, a.reads.maxBytes, a.reads.reserve = least, least, 0
		a.reads.memory = semaphore.New(least)
		for _, q := range []Query{{}, {Order: Backward}, {From: 100, To: 1500}, {Limit: streams * each / 2}} {
			var stats QueryStats
			q.Stats = &stats
			what := fmt.Sprintf("%v, order %d, limit %d", codec, q.Order, q.Limit)
			sameFound(t, what, query(t, a.Store, q), a.find(q))
			if q.Limit > 0 {
				continue
			}
			if stats.Rereads < 3 {
				t.Fatalf("%s: %d rereads: this tests nothing", what, stats.Rereads)
			}
			if stats.Lines > 4*streams*each {
				t.Errorf("%s: %d lines were looked at; want at most four for each of %d", what, stats.Lines, streams*each)
			}
		}
	}
}

// interleaved returns entries of streams that have the same times, some of them equal, with
// lines from 20 to 200 bytes.
func interleaved(r *rand.Rand, streams, each int) (b Batch) {
	for i := range streams {
		st := Stream{Labels: MustLabels("n", fmt.Sprint(i))}
		at := int64(1)
		for j := range each {
			at += r.Int64N(20)
			st.Entries = append(st.Entries, Entry{Time: at, Line: fmt.Appendf(nil, "%d took %d ms %0*d", i, r.IntN(1000), 10+r.IntN(170), j)})
		}
		b = append(b, st)
	}
	return b
}

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
// line is found once, and in columns it is not made each time.
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
		for _, q := range []Query{{}, {Order: Backward}, {From: 100, To: 1500}, {Limit: streams * each / 2}, {Filter: Contains("took 77 ms")}} {
			var stats QueryStats
			q.Stats = &stats
			what := fmt.Sprintf("%v, order %d, limit %d", codec, q.Order, q.Limit)
			sameFound(t, what, query(t, a.Store, q), a.find(q))
			if q.Limit > 0 || q.Filter != nil {
				continue
			}
			if stats.Rereads < 3 {
				t.Fatalf("%s: %d rereads: this tests nothing", what, stats.Rereads)
			}
			if made := stats.Columns.Rebuilt; codec == CodecColumns && made > 2*streams*each {
				t.Errorf("%s: %d lines were made; want at most two for each of %d", what, made, streams*each)
			}
		}
	}
}

// A stream whose lines are shorter than most of its block, or longer, is found, and the short ones in
// few reads: how many lines are made for a share is not told by the block alone.
func TestReadsOfUnevenBlocks(t *testing.T) {
	for _, codec := range []Codec{CodecLines, CodecColumns} {
		for _, lengths := range [][2]int{{10, 4000}, {4000, 10}} {
			o := anyTime()
			o.Codec = codec
			a := &archive{Store: openTest(t, t.TempDir(), o)}
			var b Batch
			for i := range 40 {
				st := Stream{Labels: MustLabels("n", fmt.Sprint(i))}
				count, length := 5, lengths[1]
				if i == 20 {
					count, length = 100_000/(lengths[0]+90), lengths[0]
				}
				for j := range count {
					st.Entries = append(st.Entries, Entry{Time: int64(j), Line: fmt.Appendf(nil, "%d %0*d", i, length, j)})
				}
				b = append(b, st)
			}
			a.add(t, b)
			if err := a.Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
			var stats QueryStats
			q := Query{Selector: Selector{{Name: "n", Value: "20"}}, Stats: &stats}
			sameFound(t, fmt.Sprint(codec, lengths), query(t, a.Store, q), a.find(q))
			if lengths[0] < lengths[1] && stats.Rereads > 4 {
				t.Errorf("%v: a block was read %d times again for %d short lines; want at most 4", codec, stats.Rereads, stats.Matched)
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

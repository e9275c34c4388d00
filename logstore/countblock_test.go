package logstore

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/testseed"
)

// Blocks whose lines take most of their bytes are counted by their times alone, of which a
// query reads no more, with the same sums as a look at each entry.
func TestCountByTimes(t *testing.T) {
	seed := testseed.Of(t)
	rnd := rand.New(rand.NewPCG(seed, 4))
	s := openTest(t, t.TempDir(), anyTime())
	const streams, each, size = 3, 2000, 120
	times := map[string][]int64{}
	for n := range streams {
		st := Stream{Labels: MustLabels("n", fmt.Sprint(n))}
		at := int64(1e12)
		for range each {
			at += rnd.Int64N(1e9)
			line := make([]byte, size) // noise, which does not compress
			for i := range line {
				line[i] = byte(rnd.Uint32())
			}
			st.Entries = append(st.Entries, Entry{Time: at, Line: line})
			times[st.Labels.enc] = append(times[st.Labels.enc], at)
		}
		mustAppend(t, s, Batch{st})
	}
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		from, step := int64(1e12)+rnd.Int64N(1e12), int64(1+rnd.Int64N(1e11))
		to := from + 1 + rnd.Int64N(1e12)
		var stats QueryStats
		groups, err := s.Count(t.Context(), Query{From: from, To: to, Stats: &stats}, time.Duration(step))
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			want, got := map[int64]int64{}, map[int64]int64{}
			for _, at := range times[g.Labels.enc] {
				if from <= at && at < to {
					want[at/step*step]++
				}
			}
			for _, b := range g.Buckets {
				got[b.Start] = b.Entries
				if b.Bytes != b.Entries*size {
					t.Errorf("%d entries have %d bytes; want %d each", b.Entries, b.Bytes, size)
				}
			}
			if !maps.Equal(got, want) {
				t.Errorf("from %d to %d by %d: %v; want %v", from, to, step, got, want)
			}
		}
		if read := stats.StoredBytes; stats.Blocks.Read > 0 && (read == 0 || read > streams*each*size/4) || stats.RawBytes != 0 {
			t.Errorf("%d bytes of %d blocks were read, and %d of lines", read, stats.Blocks.Read, stats.RawBytes)
		}
	}
}

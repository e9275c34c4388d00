package catalog

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// listOf makes adjacent segments. A word is a size; "5@3" spans 3 hours, "|" is
// a gap, and "!" after a size excludes it. "a" or "b" is the log of those that
// follow, and "t" says that they have tables of 10 streams. Each begins an hour
// after the one before.
func listOf(t *testing.T, words string) (list []candidate) {
	t.Helper()
	next := uint64(0)
	var log [16]byte
	tables := 0
	for i, w := range strings.Fields(words) {
		switch w {
		case "|":
			next++
			continue
		case "a", "b":
			log[0] = w[0]
			continue
		case "t":
			tables = 10
			continue
		}
		c := candidate{positions: positions{after: next, upto: next + 1}, excluded: strings.HasSuffix(w, "!"), log: log, tables: tables}
		next++
		hours := int64(0)
		w = strings.TrimSuffix(w, "!")
		if strings.Contains(w, "@") {
			if _, err := fmt.Sscanf(w, "%d@%d", &c.size, &hours); err != nil {
				t.Fatal(err)
			}
		} else if _, err := fmt.Sscanf(w, "%d", &c.size); err != nil {
			t.Fatal(err)
		}
		c.min = int64(i) * int64(time.Hour)
		c.max = c.min + hours*int64(time.Hour)
		list = append(list, c)
	}
	return list
}

func TestPick(t *testing.T) {
	l := limits{size: 256, span: 24 * time.Hour, count: 8}
	for _, c := range []struct {
		name, list string
		from, to   int // 0, 0: none
	}{
		{"nothing", "", 0, 0},
		{"one", "1", 0, 0},
		{"too few of a size", "1 1 1", 0, 0},
		{"four of a size", "1 1 1 1", 0, 4},
		{"a small one behind a large one waits", "64 1", 0, 0},
		{"the tail is merged by itself", "64 1 1 1 1", 1, 5},
		{"a cascade in one step", "16 16 16 4 4 4 1 1 1 1", 3, 10},
		{"a longer cascade", "16 16 8 8 4 4 4 4", 0, 8},
		{"never more than the limit", "100 100 100 100", 0, 2},
		{"a full one is left alone", "200 20 20", 0, 0},
		{"half and half is full", "130 127", 0, 0},
		{"the next is too much", "60 60 60 60 60 60 60", 0, 4},
		{"not across a gap", "1 1 | 1 1", 0, 0},
		{"not across a gap, but beside it", "1 1 | 1 1 1 1", 2, 6},
		{"not what is to be left alone", "1 1 1! 1 1", 0, 0},
		{"not more than may be open", "1 1 1 1 1 1 1 1 1 1", 0, 8},
		{"not longer than the limit", "1@23 1@23 1@23 1@23", 0, 0},
		{"a long one is no longer for a short one within", "1@99 1@3 1@3 1@3", 0, 4},
		{"the next would be too long", "1 1 1 | 9@2 1 1@20 1@9", 0, 0},
		{"the next would be too long, and this is long", "9@2 1@11 1 1@29", 0, 3},
	} {
		list := listOf(t, c.list)
		w, ok := pick(list, l)
		if ok != (c.to > 0) || ok && (w.from != c.from || w.to != c.to) {
			t.Errorf("%s (%s): [%d, %d) %v, want [%d, %d)", c.name, c.list, w.from, w.to, ok, c.from, c.to)
		}
	}
}

// Small results may span more: segments of many days join.
func TestPickSmall(t *testing.T) {
	l := limits{size: 256, span: time.Hour, small: 64 * time.Hour, count: 64}
	for _, c := range []struct {
		name, list string
		from, to   int // 0, 0: none
	}{
		{"small ones of a size", "1@1 1@1 1@1 1@1", 0, 4},
		{"too few", "1@1 1@1 1@1", 0, 0},
		{"large ones", "20@1 20@1 20@1 20@1", 0, 0},
		{"small ones behind a large one", "20@1 1@1 1@1 1@1 1@1", 1, 5},
		{"a small result, and no small one", "7@1 7@1 7@1", 0, 2},
		{"the next is no small one, and they are few", "1@1 1@1 30@1", 0, 0},
		{"small ones that span much already", "5@40 5@40 5@40 5@40", 0, 3},
		{"the next would be too long", "2@1 1@20 1@31 1@63", 0, 3},
	} {
		list := listOf(t, c.list)
		w, ok := pick(list, l)
		if ok != (c.to > 0) || ok && (w.from != c.from || w.to != c.to) {
			t.Errorf("%s (%s): [%d, %d) %v, want [%d, %d)", c.name, c.list, w.from, w.to, ok, c.from, c.to)
		}
	}
}

func TestPack(t *testing.T) {
	l := limits{size: 256, span: 24 * time.Hour, count: 8, tables: 25}
	for _, c := range []struct {
		name, list string
		from, to   int
	}{
		{"nothing", "", 0, 0},
		{"one", "1", 0, 0},
		{"of two logs", "1 a 1 1 b 1 1", 0, 3},
		{"of two logs, one of each", "a 1 b 1", 0, 0},
		{"tables of a version", "1 t 1 1 1 1", 0, 3},
		{"two", "64 1", 0, 2},
		{"as many as fit", "200 56 1 1", 0, 2},
		{"not across a gap", "1 | 1 | 2 3", 2, 4},
		{"none left", "200 100 | 1 | 2!", 0, 0},
	} {
		w, ok := pack(listOf(t, c.list), l)
		if ok != (c.to > 0) || ok && (w.from != c.from || w.to != c.to) {
			t.Errorf("%s (%s): [%d, %d) %v, want [%d, %d)", c.name, c.list, w.from, w.to, ok, c.from, c.to)
		}
	}
}

// The bounds that policy.go states hold over thousands of publications: how
// often a byte is rewritten, and how many segments there are.
func TestPolicyOverTime(t *testing.T) {
	const kib, mib = 1 << 10, 1 << 20
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name string
		size func(i int) int64
		step time.Duration // between publications
		late func(i int) time.Duration
		most int // segments
	}{
		{name: "full load", size: func(int) int64 { return 6 * mib }, step: time.Second},
		{name: "all sizes", size: func(int) int64 { return 1 + r.Int64N(20*mib) }, step: time.Minute},
		{name: "idle", size: func(int) int64 { return 10 * kib }, step: 5 * time.Minute},
		{name: "now and then much", size: func(i int) int64 {
			if i%100 == 0 {
				return 40 * mib
			}
			return 20 * kib
		}, step: time.Minute},
		{name: "ever smaller", size: func(i int) int64 { return max(kib, int64(200*mib)>>(i%18)) }, step: time.Minute},
		{name: "ever larger", size: func(i int) int64 { return kib << (i % 17) }, step: time.Minute},
		{name: "late entries", size: func(int) int64 { return 100 * kib }, step: time.Minute, late: func(i int) time.Duration { return time.Duration(r.Int64N(int64(time.Hour))) }},
		{name: "one a day, of few lines", size: func(int) int64 { return 10 * kib }, step: 24 * time.Hour},
		{name: "one a day, of a megabyte", size: func(int) int64 { return mib }, step: 24 * time.Hour},
		{name: "all of a month in each", size: func(int) int64 { return 100 * kib }, step: 0, late: func(int) time.Duration { return 30 * 24 * time.Hour }},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := limits{size: 256 * mib, span: 24 * time.Hour, small: 64 * 24 * time.Hour, count: maxSources}
			var list []candidate
			var published, written, smallest int64
			smallest = math.MaxInt64
			var worstWritten float64
			rewritten := map[uint64]int{} // by the first position of what was published
			most, now := 0, int64(1e18)
			const n = 5000
			for i := range n {
				size := c.size(i)
				published += size
				smallest = min(smallest, size)
				now += int64(c.step)
				first := now - int64(c.step)
				if c.late != nil {
					first -= int64(c.late(i))
				}
				list = append(list, candidate{positions: positions{after: uint64(i), upto: uint64(i) + 1}, size: size, min: first, max: now})
				for {
					w, ok := pick(list, l)
					if !ok {
						break
					}
					if w.size > l.size || w.to-w.from < 2 || w.to-w.from > l.count {
						t.Fatalf("a merge of %d into %d bytes", w.to-w.from, w.size)
					}
					if d := length(w.min, w.max); d > max(l.spanOf(w.size), w.longest) {
						t.Fatalf("a merge spans %v", time.Duration(d))
					}
					merged := candidate{positions: positions{after: list[w.from].positions.after, upto: list[w.to-1].positions.upto}, size: w.size, min: w.min, max: w.max}
					for p := merged.positions.after; p < merged.positions.upto; p++ {
						rewritten[p]++
					}
					written += w.size
					list = append(append(list[:w.from:w.from], merged), list[w.to:]...)
				}
				most = max(most, len(list))
			}
			tiers := math.Log(float64(l.size)/float64(smallest)) / math.Log(growth)
			for p, k := range rewritten {
				if float64(k) > math.Ceil(tiers)+3 {
					t.Errorf("what was published at %d was written again %d times, the bound is %.0f", p, k, math.Ceil(tiers)+3)
				}
				worstWritten = max(worstWritten, float64(k))
			}
			days := time.Duration(n)*c.step/l.span + 1
			// Of each tier and day fewer than growth, and the full ones, which would
			// exceed the limit with the next. Where a day has little, the small results
			// that are full, or would span too much with the next.
			small := 2*float64(published)/float64(l.smallSize()) + 2*(float64(n)*float64(c.step)/float64(l.small)+1)
			bound := float64(growth-1)*(tiers+1) + min(float64(days)*2, small) + 2*float64(published)/float64(l.size)
			if float64(most) > bound {
				t.Errorf("%d segments at once, the bound is %.0f", most, bound)
			}
			t.Logf("%d published: at most %d segments (bound %.0f), at the end %d; each byte written again %.2f times, at most %.0f (bound %.0f)",
				n, most, bound, len(list), float64(written)/float64(published), worstWritten, math.Ceil(tiers)+3)
		})
	}
}

// What a merge takes for streams bounds its sources, but for a few.
func TestPickMemory(t *testing.T) {
	var list []candidate
	for i := range uint64(20) {
		list = append(list, candidate{positions: positions{after: i, upto: i + 1}, size: 1, streams: 1000})
	}
	for _, c := range []struct {
		memory int64
		want   int
	}{
		{0, 20},
		{1, fewMerged},
		{8*(segment2.MergeSourceBytes+1000*segment2.MergeStreamBytes) + 1000*segment2.MergedStreamBytes, 8},
		{1 << 40, 20},
	} {
		l := limits{size: 256, span: time.Hour, count: 64, memory: c.memory}
		if w, ok := pick(list, l); !ok || w.to-w.from != c.want {
			t.Errorf("with %d bytes: %d segments, %v; want %d", c.memory, w.to-w.from, ok, c.want)
		}
	}
}

package claims

import (
	"container/heap"
	"container/list"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/metacache"
	"github.com/stele-go/stele/suites/job"
)

// The variants of L9.
const (
	l9ByRecency = "LRU of 6,000"
	l9ByCount   = "LFU of 6,000"
	l9Coded     = "two levels, 1,000 and 5,000"
	l9Own       = "package metacache, 6,000"
)

// The sizes of L9 in values, as coded, and what it leaves open.
const (
	l9Level1  = 1000
	l9Level2  = 5000
	l9Size    = l9Level1 + l9Level2
	l9Value   = 64                    // bytes
	l9Miss    = 20 * time.Microsecond // what a miss costs
	l9Queries = 20_000                // of a block
	l9WarmUp  = 100_000               // queries before the timer starts
	l9Scan    = 2000                  // keys of a scan
)

// An l9Load has keys by Zipf's law. Shares of the queries go to scans, keys in a row that are
// asked for once, and to keys that do not exist.
type l9Load struct {
	skew           float64
	keys           int
	scans, missing float64
}

func (l l9Load) String() string {
	text := fmt.Sprintf("skew %.1f, %d keys", l.skew, l.keys)
	if l.scans > 0 {
		text += fmt.Sprintf(", %.0f %% scans", 100*l.scans)
	}
	if l.missing > 0 {
		text += fmt.Sprintf(", %.0f %% do not exist", 100*l.missing)
	}
	return text
}

var l9Loads = []l9Load{
	{skew: 1.2, keys: 10_000}, {skew: 1.0, keys: 60_000}, {skew: 0.8, keys: 600_000},
	{skew: 1.0, keys: 60_000, scans: 0.1}, {skew: 1.0, keys: 60_000, missing: 0.1},
}

// l9Requests returns a function that returns the next key. Keys from l.keys on do not exist.
func l9Requests(l l9Load, rng *rand.Rand) func() int {
	sums, sum := make([]float64, l.keys), 0.0
	for i := range sums {
		sum += math.Pow(float64(i+1), -l.skew)
		sums[i] = sum
	}
	rank := rng.Perm(l.keys)
	scanning, next, absent := 0, 0, l.keys
	return func() int {
		if scanning == 0 && l.scans > 0 && rng.Float64() < l.scans/(1-l.scans)/l9Scan {
			scanning, next = l9Scan, rng.IntN(l.keys)
		}
		if scanning > 0 {
			scanning--
			next = (next + 1) % l.keys
			return next
		}
		if rng.Float64() < l.missing {
			absent++
			return absent
		}
		return rank[min(l.keys-1, sort.SearchFloat64s(sums, rng.Float64()*sum))]
	}
}

func l9(load l9Load) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "L9", Params: run.Params{
			"skew": fmt.Sprintf("%.1f", load.skew), "keys": strconv.Itoa(load.keys),
			"scans": fmt.Sprintf("%.1f", load.scans), "missing": fmt.Sprintf("%.1f", load.missing),
		},
		Question: "Which cache of metadata misses least?",
		Op:       fmt.Sprintf("a query of a cache of 6,000 values, one after the other (%s); a miss takes %v", load, l9Miss),
		Ops:      l9Queries, MaxRounds: 8, Stateless: true,
	}
	variant := func(name, doc string, open func() l9Cache) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) (err error) {
			cache := open()
			defer cache.close()
			return runL9(b, cache, load)
		}}
	}
	e.Variants = firstIsBaseline(
		variant(l9ByRecency, "A: evicts the value whose last query is the longest ago", func() l9Cache { return newL9LRU(l9Size) }),
		variant(l9ByCount, "B: evicts the value with the fewest queries, which never fade", func() l9Cache { return newL9LFU(l9Size) }),
		variant(l9Coded, "C as coded: an LFU of 1,000 that admits keys from their third query on, before an LRU of 5,000", newL9Hybrid),
		variant(l9Own, "package metacache: W-TinyLFU before an LRU, and the one with more hits gets more of the bytes", func() l9Cache { return newL9Levels(l9Size) }))
	return e
}

var errL9Absent = errors.New("there is no such key")

// runL9 fills the cache first, at no cost.
func runL9(b *lab.B, cache l9Cache, load l9Load) error {
	next, value := l9Requests(load, b.Rand), make([]byte, l9Value)
	seen := make(map[int]bool, load.keys)
	firsts, firstMisses, misses := 0, 0, 0
	cost := time.Duration(0)
	look := func(key int) ([]byte, error) {
		misses++
		for begun := time.Now(); time.Since(begun) < cost; {
		}
		if key >= load.keys {
			return nil, errL9Absent
		}
		return value, nil
	}
	query := func() error {
		key, before := next(), misses
		if _, err := cache.get(key, look); err != nil && !errors.Is(err, errL9Absent) {
			return err
		}
		if !seen[key] {
			seen[key] = true
			firsts++
			firstMisses += misses - before
		}
		return nil
	}
	for range l9WarmUp {
		if err := query(); err != nil {
			return err
		}
	}
	firsts, firstMisses, misses, cost = 0, 0, 0, l9Miss
	took := job.NewTimer()
	for b.Loop() {
		begun := time.Now()
		if err := query(); err != nil {
			return err
		}
		took.Since(begun)
	}
	b.Report("miss_share", float64(misses)/float64(b.N))
	b.Report("query_mean_ns", took.Hist.Mean())
	if firsts > 0 {
		b.Report("first_miss_share", float64(firstMisses)/float64(firsts))
	}
	return nil
}

func claimL9() Claim {
	return Claim{
		ID: "L9",
		Source: reportL.source("4.4",
			"A cache of two levels, by frequency and by recency, lets 3.1 % of queries through, LRU 18.7 % and LFU 12.3 %."),
		Statement:   "metadata cache at 10k queries a second: LRU, LFU, both in two levels",
		Claimed:     "misses 18.7, 12.3, 3.1 %; 42, 38, 21 ms",
		Promise:     noneText,
		Experiments: experiments(l9, l9Loads...),
		judge:       judgeL9,
	}
}

func judgeL9(ev *evidence) judgement {
	const misses, time = 3.1, 21.
	var parts []part
	for _, load := range l9Loads {
		id := idOf(l9(load))
		for _, c := range []struct {
			what, name     string
			misses, faster float64
		}{{"LRU", l9ByRecency, 18.7 / misses, 42 / time}, {"LFU", l9ByCount, 12.3 / misses, 38 / time}} {
			parts = append(parts,
				claimed("misses, "+c.what+" against two levels", ev.ratioOf(id, "miss_share", c.name, l9Coded), c.misses).under(load.String()),
				claimed("mean, "+c.what+" against two levels", ev.ratioOf(id, "query_mean_ns", c.name, l9Coded), c.faster).under(load.String()))
		}
		shares := ""
		for _, v := range []string{l9ByRecency, l9ByCount, l9Coded, l9Own} {
			if share := ev.metric(id, v, "miss_share"); !math.IsNaN(share.Median) {
				shares += fmt.Sprintf(", %s %.1f %%", v, 100*share.Median)
			}
		}
		parts = append(parts, figureOf("misses, "+load.String(), strings.TrimPrefix(shares, ", ")))
		if e, why := ev.known(id, l9Coded, "first_miss_share"); why == "" {
			parts = append(parts, figureOf("first queries of a key that two levels miss, "+load.String(), shareText(e)))
		}
	}
	return ruling(fmt.Sprintf("The sizes are those of the code; the report tells neither its keys nor its load. A miss costs %v, so the mean follows the misses; no single cost of a miss fits all three published means.", l9Miss), parts...)
}

// An l9Cache keeps values. get returns one, and calls load on a miss.
type l9Cache interface {
	get(piece int, load func(piece int) ([]byte, error)) ([]byte, error)
	close()
}

// An l9LRU evicts the piece whose last request is the longest ago.
type l9LRU struct {
	most  int
	at    map[int]*list.Element
	order list.List // of l9Entry, the latest in front
}

type l9Entry struct {
	piece int
	data  []byte
}

func newL9LRU(most int) l9Cache { return &l9LRU{most: most, at: map[int]*list.Element{}} }

func (c *l9LRU) get(piece int, load func(int) ([]byte, error)) ([]byte, error) {
	if e := c.at[piece]; e != nil {
		c.order.MoveToFront(e)
		return e.Value.(l9Entry).data, nil
	}
	data, err := load(piece)
	if err != nil {
		return nil, err
	}
	c.at[piece] = c.order.PushFront(l9Entry{piece, data})
	if len(c.at) > c.most {
		delete(c.at, c.order.Remove(c.order.Back()).(l9Entry).piece)
	}
	return data, nil
}

func (c *l9LRU) close() {}

// An l9LFU evicts the piece with the fewest requests since it was loaded; of several, the
// one whose last request is the longest ago. It is the plain LFU: counts do not fade.
type l9LFU struct {
	most int
	now  int64
	at   map[int]*l9Counted
	heap l9Heap
}

type l9Counted struct {
	l9Entry
	count, last int64
	place       int // in the heap
}

func newL9LFU(most int) l9Cache { return &l9LFU{most: most, at: map[int]*l9Counted{}} }

func (c *l9LFU) get(piece int, load func(int) ([]byte, error)) ([]byte, error) {
	c.now++
	if e := c.at[piece]; e != nil {
		e.count, e.last = e.count+1, c.now
		heap.Fix(&c.heap, e.place)
		return e.data, nil
	}
	data, err := load(piece)
	if err != nil {
		return nil, err
	}
	c.put(piece, data, 1)
	return data, nil
}

// put adds a value that has been asked for count times.
func (c *l9LFU) put(piece int, data []byte, count int64) {
	if len(c.at) >= c.most {
		delete(c.at, heap.Pop(&c.heap).(*l9Counted).piece)
	}
	e := &l9Counted{l9Entry: l9Entry{piece, data}, count: count, last: c.now}
	c.at[piece] = e
	heap.Push(&c.heap, e)
}

func (c *l9LFU) close() {}

type l9Heap []*l9Counted

func (h l9Heap) Len() int { return len(h) }

func (h l9Heap) Less(i, j int) bool {
	if h[i].count != h[j].count {
		return h[i].count < h[j].count
	}
	return h[i].last < h[j].last
}

func (h l9Heap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *l9Heap) Push(x any) {
	e := x.(*l9Counted)
	e.place = len(*h)
	*h = append(*h, e)
}

func (h *l9Heap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return e
}

// An l9Hybrid is the published HybridCache. Level 1 is an LFU that admits a key from its
// third query on, level 2 an LRU. A hit in level 2 counts for the key and copies the value
// into level 1; a miss fills level 2 and, after the answer, level 1.
type l9Hybrid struct {
	level1 *l9LFU
	level2 *l9LRU
	asked  map[int]int64
}

// l9Admit is the number of queries from which level 1 takes a key.
const l9Admit = 3

func newL9Hybrid() l9Cache {
	return &l9Hybrid{
		&l9LFU{most: l9Level1, at: map[int]*l9Counted{}}, &l9LRU{most: l9Level2, at: map[int]*list.Element{}}, map[int]int64{},
	}
}

func (c *l9Hybrid) get(key int, load func(int) ([]byte, error)) ([]byte, error) {
	c.asked[key]++
	if e := c.level1.at[key]; e != nil {
		return c.level1.get(key, load)
	}
	data, err := c.level2.get(key, load)
	if err == nil && c.asked[key] >= l9Admit {
		c.level1.put(key, data, c.asked[key])
	}
	return data, err
}

func (c *l9Hybrid) close() {}

// An l9Levels is frequency and recency in two levels: package metacache.
type l9Levels struct {
	c *metacache.Cache[[]byte]
}

func newL9Levels(most int) l9Cache {
	// The cache's own overhead comes on top of the values' bytes.
	return l9Levels{metacache.New(int64(most)*(l9Value+metacache.Overhead), func(data []byte) int { return len(data) })}
}

func (c l9Levels) get(piece int, load func(int) ([]byte, error)) ([]byte, error) {
	return c.c.Get(metacache.Key{Segment: uint64(piece)}, 1, func() ([]byte, error) { return load(piece) })
}

func (c l9Levels) close() { c.c.Close() }

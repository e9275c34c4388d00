package claims

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/trees"
	"github.com/stele-go/stele/suites/job"
)

const (
	variantRWMutex = "map + RWMutex"
	variantSyncMap = "sync.Map"
)

const (
	d6Processors = 16     // of the report's machine
	knownPaths   = 10_000 // in the cache when the timer starts
	d6Window     = 2 * time.Millisecond
	d6Windows    = 100 // of a block
	d6Timed      = 16  // one operation in so many is timed
)

// A routeNode is the value that the report's cache keeps for a path.
type routeNode struct{ path string }

type pathCache interface {
	load(path string) (*routeNode, bool)
	store(path string, n *routeNode)
}

type rwMutexCache struct {
	mu sync.RWMutex
	m  map[string]*routeNode
}

func (c *rwMutexCache) load(path string) (*routeNode, bool) {
	c.mu.RLock()
	n, ok := c.m[path]
	c.mu.RUnlock()
	return n, ok
}

func (c *rwMutexCache) store(path string, n *routeNode) {
	c.mu.Lock()
	c.m[path] = n
	c.mu.Unlock()
}

type syncMapCache struct{ m sync.Map }

func (c *syncMapCache) load(path string) (*routeNode, bool) {
	v, ok := c.m.Load(path)
	if !ok {
		return nil, false
	}
	n, ok := v.(*routeNode)
	return n, ok
}

func (c *syncMapCache) store(path string, n *routeNode) { c.m.Store(path, n) }

// A d6Mix is a load: of so many goroutines a share only reads, and the others only write.
type d6Mix struct {
	goroutines, reads int // reads in percent of the goroutines
	fresh             bool
}

func (m d6Mix) String() string {
	keys := "known"
	if m.fresh {
		keys = "new"
	}
	return fmt.Sprintf("%d goroutines, %d %% reads, %s keys", m.goroutines, m.reads, keys)
}

// readers returns how many goroutines read; at least one writes.
func (m d6Mix) readers() int { return min(m.goroutines*m.reads/100, m.goroutines-1) }

var d6Mixes = []d6Mix{{16, 90, false}, {16, 90, true}, {64, 95, false}, {1000, 90, false}, {1000, 99, false}, {1000, 99, true}}

// A d6User is one goroutine's part of a block.
type d6User struct {
	done int64
	took []int64  // of timed operations, nanoseconds
	_    [64]byte // no other's counter is on its cache line
}

// runD6 lets the goroutines use the cache for a time, and reports the rate of each kind of
// them. Readers and writers do not wait for each other, so that their rates may differ
// by different factors.
func runD6(b *lab.B, m d6Mix, c pathCache) error {
	old := trees.CheckoutPaths(knownPaths)
	for _, p := range old {
		c.store(p, &routeNode{p})
	}
	users := make([]d6User, m.goroutines)
	var stop, begin atomic.Bool
	var lost atomic.Int64
	var ready, end sync.WaitGroup
	for id := range users {
		u := &users[id]
		rng := rand.New(rand.NewPCG(b.Rand.Uint64(), uint64(id)))
		ready.Add(1)
		end.Go(func() {
			ready.Done()
			for !begin.Load() {
				time.Sleep(d6Window / 20)
			}
			u.use(m, id, c, old, rng, &stop, &lost)
		})
	}
	ready.Wait()
	begin.Store(true)
	start := time.Now()
	for b.Loop() {
		time.Sleep(d6Window)
	}
	took := time.Since(start).Seconds()
	stop.Store(true)
	end.Wait()
	if n := lost.Load(); n > 0 {
		return fmt.Errorf("the cache has lost %d paths", n)
	}
	all, reads, writes := job.NewTimer(), int64(0), int64(0)
	for id := range users {
		if id < m.readers() {
			reads += users[id].done
		} else {
			writes += users[id].done
		}
		for _, ns := range users[id].took {
			all.Hist.Record(max(1, ns))
		}
	}
	b.Report("reads_per_second", float64(reads)/took)
	b.Report("writes_per_second", float64(writes)/took)
	all.Report(b, "op")
	return nil
}

func (u *d6User) use(m d6Mix, id int, c pathCache, old []string, rng *rand.Rand, stop *atomic.Bool, lost *atomic.Int64) {
	reads := id < m.readers()
	node := &routeNode{}
	for i := 0; !stop.Load(); i++ {
		key := old[rng.IntN(len(old))]
		if !reads && m.fresh {
			key = "new-" + strconv.Itoa(id) + "-" + strconv.Itoa(i)
		}
		var begun time.Time
		timed := i%d6Timed == 0
		if timed {
			begun = time.Now()
		}
		if reads {
			if n, ok := c.load(key); !ok || n == nil {
				lost.Add(1)
			}
		} else {
			c.store(key, node)
		}
		if timed {
			u.took = append(u.took, int64(time.Since(begun)))
		}
		u.done++
	}
}

func d6(m d6Mix) lab.Experiment {
	variant := func(name, doc string, make func() pathCache) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) error { return runD6(b, m, make()) }}
	}
	keys := "known"
	if m.fresh {
		keys = "new"
	}
	return lab.Experiment{
		Suite: "claims", Name: "D6", Params: run.Params{"goroutines": strconv.Itoa(m.goroutines), "reads": strconv.Itoa(m.reads), "keys": keys},
		Question: "Which path cache is faster under many goroutines?",
		Op:       fmt.Sprintf("%v in which %d goroutines use the cache, %d %% of them for reads", d6Window, m.goroutines, m.reads),
		Ops:      d6Windows, MaxRounds: 10,
		Variants: firstIsBaseline(
			variant(variantRWMutex, "A: a map of pointers under a reader-writer lock",
				func() pathCache { return &rwMutexCache{m: map[string]*routeNode{}} }),
			variant(variantSyncMap, "B: the standard library's concurrent map, of pointers, with a type assertion",
				func() pathCache { return &syncMapCache{} })),
	}
}

func claimD6() Claim {
	mixes := experiments(d6, d6Mixes...)
	return Claim{
		ID: "D6",
		Source: reportD.source("3.2",
			"On 16 cores a path cache in a sync.Map serves 96,700 reads/s and 21,500 writes/s with a p99 of 0.6 ms, a map under an RWMutex 42,100, 8,300 and 1.8 ms."),
		Statement:   "a path cache under many goroutines, many reads and few writes: map+RWMutex (A), sync.Map (B)",
		Claimed:     "reads 42.1k and 96.7k/s, writes 8.3k and 21.5k/s, p99 1.8 and 0.6 ms",
		Promise:     noneText,
		Experiments: mixes,
		judge:       func(ev *evidence) judgement { return judgeD6(ev, mixes) },
	}
}

func judgeD6(ev *evidence, mixes []lab.Experiment) judgement {
	lack := ev.processors(d6Processors)
	var parts []part
	for i, m := range d6Mixes {
		id := mixes[i].ID()
		faster := func(metric string) run.Estimate { return ev.ratioOf(id, metric, variantSyncMap, variantRWMutex) }
		parts = append(parts,
			claimed("rate of reads, B against A", faster("reads_per_second"), 96.7/42.1).under(m.String()).needs(lack),
			claimed("rate of writes, B against A", faster("writes_per_second"), 21.5/8.3).under(m.String()).needs(lack),
			claimed("p99, A against B", ev.ratioOf(id, "op_p99_ns", variantRWMutex, variantSyncMap), 3).under(m.String()).needs(lack))
	}
	return ruling(fmt.Sprintf("Some goroutines only read and the others only write, all without a pause. One operation in %d was timed by itself.", d6Timed), parts...)
}

package run

import (
	"cmp"
	"maps"
	"slices"

	"github.com/stele-go/stele/lab/stats"
)

// Where goroutines spend their time: Wait.Where.
const (
	WaitRunning = "running" // on a processor of the Go runtime, or on a CPU in the kernel
	WaitRuntime = "runtime" // waiting for something of the Go runtime: a processor, a lock, a channel
	WaitKernel  = "kernel"  // blocked in the kernel, by a system call or a page fault
)

// WaitWindows is how many pieces of equal time a watched block is cut into.
const WaitWindows = 32

// Waits say where the goroutines of one block were while its timer ran, from
// an execution trace that the process took of itself and from samples of its
// threads that the runner took from outside. Goroutines of the runtime and of
// the lab are not in it. The times of all series add up to the goroutine time
// of the block: its goroutines, each as long as it lived.
type Waits struct {
	Begun  int64  `json:"begun_unix_ns"` // wall clock when the timer started
	Window Nanos  `json:"window_ns"`     // length of the windows of the series
	Total  Nanos  `json:"total_ns"`      // goroutine time
	Series []Wait `json:"series"`
	// Contention comes from the block and the mutex profile, the longest first. Its
	// time is part of the series, not in addition.
	Contention []Contention `json:"contention,omitempty"`
	// Chains of waits, the one with most time first, where they were asked for
	// (Chained). Followed is the time of all waits that were followed, those of
	// chains too short to be listed included.
	Chained  bool    `json:"chained,omitempty"`
	Chains   []Chain `json:"chains,omitempty"`
	Followed Nanos   `json:"followed_ns,omitempty"`
	// Kernel is the time that samples found threads blocked in each system
	// call, by cause.
	Kernel map[string]map[string]Nanos `json:"kernel_by_call,omitempty"`
	// Samples is how often the runner looked at the threads. Threads is how many it
	// saw each time, on average, and Parked how many of them were idle threads of the
	// Go runtime: such a thread is no waiting goroutine and is in no series.
	Samples int     `json:"samples"`
	Threads float64 `json:"threads"`
	Parked  float64 `json:"parked_threads"`
	// Missing says why a source is missing: "trace", "kernel", "block" or
	// "mutex". "stack" is missing where the kernel was sampled by wchan, which
	// names one function and not the path to it.
	Missing map[string]Reason `json:"missing,omitempty"`
}

// A Wait is one cause and how much goroutine time it took.
type Wait struct {
	Where string `json:"where"` // WaitRunning, WaitRuntime or WaitKernel
	Cause string `json:"cause"` // a code, see the Cause constants
	// Symbols are the functions behind the cause, each with its time: of the
	// kernel, or of the Go program.
	Symbols map[string]Nanos `json:"symbols,omitempty"`
	Time    []Nanos          `json:"time_ns"` // in each window
}

// Total returns the goroutine time of all windows.
func (w *Wait) Total() (sum Nanos) {
	for _, t := range w.Time {
		sum += t
	}
	return sum
}

// symbol is the function that most of the time belongs to.
func (w *Wait) symbol() string {
	best := ""
	for _, s := range slices.Sorted(maps.Keys(w.Symbols)) {
		if best == "" || w.Symbols[s] > w.Symbols[best] {
			best = s
		}
	}
	return best
}

// A Contention is a place in the program where goroutines waited for each other. In
// the block profile it is where they waited, in the mutex profile where the
// goroutine that held the lock released it.
type Contention struct {
	Profile string `json:"profile"` // "block" or "mutex"
	Call    string `json:"call"`    // "sync.(*Mutex).Lock"
	In      string `json:"in"`      // the function that called it
	Count   int64  `json:"count"`
	Time    Nanos  `json:"time_ns"`
}

// VariantWaits are the Waits of all blocks of a variant.
type VariantWaits struct {
	Blocks     int     `json:"blocks"`
	Goroutines float64 `json:"goroutines"` // alive at a time, on average
	Samples    int     `json:"samples"`    // looks at the threads, all blocks
	Threads    float64 `json:"threads"`
	Parked     float64 `json:"parked_threads"`
	// Causes, the one that took most first.
	Causes []WaitCause `json:"causes"`
	// Contention of all blocks, the longest first.
	Contention []Contention      `json:"contention,omitempty"`
	Missing    map[string]Reason `json:"missing,omitempty"`
}

// A WaitCause is a cause over all blocks of a variant.
type WaitCause struct {
	Where  string   `json:"where"`
	Cause  string   `json:"cause"`            // a code, see the Cause constants
	Symbol string   `json:"symbol,omitempty"` // the function most of it belongs to
	Share  Estimate `json:"share"`            // of the goroutine time, one datum a block
	PerOp  Estimate `json:"per_op_ns"`        // goroutine time an operation, one datum a block
	// Over is how many goroutines were in it, on average over the blocks, in
	// equal slices of the timed part.
	Over []float64 `json:"over"`
}

// Cause returns the cause of that code, or nil where no block had it.
func (v *VariantWaits) Cause(code string) *WaitCause {
	for i := range v.Causes {
		if v.Causes[i].Cause == code {
			return &v.Causes[i]
		}
	}
	return nil
}

// A causeKey identifies a cause among the series of several blocks.
type causeKey struct{ where, cause string }

func (k causeKey) compare(o causeKey) int {
	return cmp.Or(cmp.Compare(k.where, o.where), cmp.Compare(k.cause, o.cause))
}

// waitsOf puts the watched blocks of a variant together. It returns nil for a
// variant without any.
func waitsOf(blocks []*Block) *VariantWaits {
	v := &VariantWaits{Causes: []WaitCause{}, Missing: map[string]Reason{}}
	sums := map[causeKey]*waitSum{}
	contention := map[Contention]Contention{}
	blocks = slices.DeleteFunc(slices.Clone(blocks), func(b *Block) bool {
		return b.Waits == nil || b.Error != "" || b.Ops <= 0 || b.Wall <= 0
	})
	// A block without its trace says nothing about goroutines: it is no block in
	// which they never waited.
	blocks = withSource(blocks, "trace")
	// A short block may end between two looks at its threads.
	blocks = withSource(blocks, "kernel")
	for _, b := range blocks {
		w := b.Waits
		for name, why := range w.Missing {
			v.Missing[name] = why
		}
		v.Blocks++
		v.Samples += w.Samples
		v.Threads += w.Threads
		v.Parked += w.Parked
		v.Goroutines += float64(w.Total) / float64(b.Wall)
		for i := range w.Series {
			s := &w.Series[i]
			k := causeKey{s.Where, s.Cause}
			if sums[k] == nil {
				sums[k] = &waitSum{symbols: Wait{Symbols: map[string]Nanos{}}, over: make([]float64, WaitWindows)}
			}
			sums[k].add(s, w, b)
		}
		for _, c := range w.Contention {
			k := Contention{Profile: c.Profile, Call: c.Call, In: c.In}
			sum := contention[k]
			k.Count, k.Time = sum.Count+c.Count, sum.Time+c.Time
			contention[Contention{Profile: c.Profile, Call: c.Call, In: c.In}] = k
		}
	}
	if v.Blocks == 0 {
		return nil
	}
	n := float64(v.Blocks)
	v.Goroutines, v.Threads, v.Parked = v.Goroutines/n, v.Threads/n, v.Parked/n
	for _, k := range slices.SortedFunc(maps.Keys(sums), causeKey.compare) {
		v.Causes = append(v.Causes, sums[k].cause(k, v.Blocks))
	}
	slices.SortStableFunc(v.Causes, func(a, b WaitCause) int { return cmp.Compare(b.mean(), a.mean()) })
	v.Contention = TopContention(slices.Collect(maps.Values(contention)))
	return v
}

// withSource leaves out the blocks that lack a source of waits, where others
// have it.
func withSource(blocks []*Block, name string) []*Block {
	lacks := func(b *Block) bool { return b.Waits.Missing[name] != (Reason{}) }
	if !slices.ContainsFunc(blocks, func(b *Block) bool { return !lacks(b) }) {
		return blocks
	}
	return slices.DeleteFunc(blocks, lacks)
}

// waitSum gathers one cause over blocks.
type waitSum struct {
	share, perOp []float64 // of the blocks that had it
	symbols      Wait
	over         []float64
}

func (s *waitSum) add(w *Wait, all *Waits, b *Block) {
	t := float64(w.Total())
	s.share = append(s.share, t/max(float64(all.Total), 1))
	s.perOp = append(s.perOp, t/float64(b.Ops))
	for symbol, t := range w.Symbols {
		s.symbols.Symbols[symbol] += t
	}
	for i, t := range w.Time {
		if i < len(s.over) && all.Window > 0 {
			s.over[i] += float64(t) / float64(all.Window)
		}
	}
}

// cause finishes a sum over n blocks. In those that did not have the cause it
// took no time: that was seen, and is a zero.
func (s *waitSum) cause(k causeKey, n int) WaitCause {
	for len(s.share) < n {
		s.share, s.perOp = append(s.share, 0), append(s.perOp, 0)
	}
	for i := range s.over {
		s.over[i] /= float64(n)
	}
	return WaitCause{
		Where: k.where, Cause: k.cause, Symbol: s.symbols.symbol(), Over: s.over,
		Share: estimate(stats.Median(s.share, confidence)), PerOp: estimate(stats.Median(s.perOp, confidence)),
	}
}

// mean number of goroutines in the cause.
func (c *WaitCause) mean() (sum float64) {
	for _, x := range c.Over {
		sum += x
	}
	return sum / float64(max(len(c.Over), 1))
}

// mostContention is how many places are kept; the others take little time.
const mostContention = 10

// TopContention returns the places that waited longest, at most ten of them, the
// longest first. It sorts list.
func TopContention(list []Contention) []Contention {
	slices.SortFunc(list, func(a, b Contention) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Profile, b.Profile), cmp.Compare(a.Call, b.Call), cmp.Compare(a.In, b.In))
	})
	return list[:min(len(list), mostContention)]
}

// valid checks Waits from outside for the invariants that the rest of the package
// relies on.
func (w *Waits) valid() bool {
	if w.Window < 0 || w.Total < 0 || w.Followed < 0 || slices.ContainsFunc(w.Chains, func(c Chain) bool { return c.Time < 0 || len(c.Links) == 0 }) {
		return false
	}
	return !slices.ContainsFunc(w.Series, func(s Wait) bool {
		return len(s.Time) > WaitWindows || slices.ContainsFunc(s.Time, func(t Nanos) bool { return t < 0 })
	})
}

package lab

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stele-go/stele/internal/measure/systrace"
	"github.com/stele-go/stele/lab/internal/calls"
	"github.com/stele-go/stele/lab/stats"
)

// tracedBlocks is how many blocks time each variant's system calls: they are
// put together in one histogram, so more make its tail longer, not its middle
// truer.
const tracedBlocks = 3

// What times system calls.
const (
	SourceBPF         = "bpf"         // in the kernel, about a microsecond a call
	SourceTracepoints = "tracepoints" // every event copied out, several microseconds a call
)

// CallTimes are how long the calls of one name took in one block, from the
// kernel's entry to its exit. Calls that lie across an end of the timed part
// are left out.
type CallTimes struct {
	Total Nanos `json:"total_ns"`
	Max   Nanos `json:"max_ns"`
	// Counts are of consecutive buckets from number First on, four an octave:
	// bucket i is from i to i+1 ns below 4, and from there on it begins at
	// (4 + i mod 4) << (i/4 - 1) ns, up to the next.
	First  int     `json:"first"`
	Counts []int64 `json:"counts"`
}

// A CallLatency is how long the calls of one name took in all blocks of a
// variant.
type CallLatency struct {
	Call string `json:"call"`
	// Runtime: one of the calls that the Go runtime makes by itself; a thread
	// parked in it is no wait of the variant's. See RuntimeSyscall.
	Runtime bool    `json:"runtime,omitempty"`
	Count   int64   `json:"count"`
	PerOp   float64 `json:"per_op"`
	Total   Nanos   `json:"total_ns"`
	Max     Nanos   `json:"max_ns"`
	// P50 and P99 are to a fifth of their value; refused where too few calls
	// stand behind them.
	P50     Percentile   `json:"p50"`
	P99     Percentile   `json:"p99"`
	Buckets []CallBucket `json:"buckets"` // those with calls, and those between
}

// A CallBucket counts the calls that took From or more and less than To.
type CallBucket struct {
	From  Nanos `json:"from_ns"`
	To    Nanos `json:"to_ns"`
	Count int64 `json:"count"`
}

// missingCalls is the key of Block.Missing and VariantTrace.Missing.
const missingCalls = "calls"

func newCallTimes(l *calls.Latency) *CallTimes {
	c := &CallTimes{Total: Nanos(l.Total), Max: Nanos(l.Max)}
	for i, n := range l.Buckets {
		if n > 0 && c.Counts == nil {
			c.First = i
		}
		if c.Counts != nil || n > 0 {
			c.Counts = append(c.Counts, int64(n))
		}
	}
	for len(c.Counts) > 0 && c.Counts[len(c.Counts)-1] == 0 {
		c.Counts = c.Counts[:len(c.Counts)-1]
	}
	return c
}

// validCalls holds times from outside against what the rest of the package
// takes for granted.
func validCalls(m map[string]*CallTimes) bool {
	for _, c := range m {
		if c == nil || c.Total < 0 || c.Max < 0 || c.First < 0 || c.First+len(c.Counts) > calls.Buckets {
			return false
		}
		if slices.ContainsFunc(c.Counts, func(n int64) bool { return n < 0 }) {
			return false
		}
	}
	return true
}

// A callTimer times the system calls of the process of a block. nil times
// nothing.
type callTimer struct {
	timer   *calls.Timer // nil where the runner times from outside
	missing error
	begun   int64
}

func newCallTimer(outside bool) *callTimer {
	t := new(callTimer)
	if !outside {
		t.timer, t.missing = calls.NewTimer()
	}
	return t
}

func (t *callTimer) begin() {
	if t == nil {
		return
	}
	t.begun = time.Now().UnixNano()
	if t.timer != nil {
		t.timer.Begin()
	}
}

func (t *callTimer) end() {
	if t != nil && t.timer != nil {
		t.timer.End()
	}
}

func (t *callTimer) fill(b *Block) {
	b.Begun = t.begun
	if t.missing != nil {
		b.Missing[missingCalls] = t.missing.Error()
	}
	if t.timer == nil {
		return
	}
	b.Timed, b.Calls = SourceBPF, map[string]*CallTimes{}
	for number, l := range t.timer.Read() {
		b.Calls[systrace.Name(number)] = newCallTimes(l)
	}
}

func (t *callTimer) close() {
	if t.timer != nil {
		t.timer.Close() // nothing was written
	}
}

// bpfRefused reports whether the kernel lets us not time calls with BPF.
func bpfRefused() bool {
	t, err := calls.NewTimer()
	if err != nil {
		return true
	}
	t.Close() // nothing was written
	return false
}

// tracepointsRefused reports the same of the tracepoints.
func tracepointsRefused() bool {
	w := watchCalls()
	w.stop()
	return w.err != nil
}

// drainEvery is the pause between two looks at the kernel's buffers.
const drainEvery = 2 * time.Millisecond

// A callWatch is the runner's side of timing, where BPF is refused. nil
// watches nothing.
type callWatch struct {
	watch      *systrace.Watcher
	err        error
	started    bool
	quit, done chan struct{}
}

// watchCalls must run on the thread that starts the process of the block.
func watchCalls() *callWatch {
	w := &callWatch{quit: make(chan struct{}), done: make(chan struct{})}
	w.watch, w.err = systrace.Watch()
	return w
}

func (w *callWatch) start(pid int) {
	if w == nil || w.err != nil {
		return
	}
	w.started = true
	go func() {
		defer close(w.done)
		tick := time.NewTicker(drainEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				w.watch.Drain(pid)
			case <-w.quit:
				w.watch.Drain(pid)
				return
			}
		}
	}()
}

// stop follows the end of the process, or a start that failed.
func (w *callWatch) stop() {
	if w == nil || w.err != nil {
		return
	}
	if w.started {
		close(w.quit)
		<-w.done
	}
	w.watch.Close() // nothing was written
}

// into books the calls of the timed part.
func (w *callWatch) into(b *Block) {
	if b.Missing == nil {
		b.Missing = map[string]string{}
	}
	if w.err != nil {
		_, bpf := calls.NewTimer()
		b.Missing[missingCalls] = strings.Join([]string{errorText(bpf), w.err.Error()}, "; and ")
		return
	}
	list, lost := w.watch.Calls()
	if lost > 0 {
		b.Missing[missingCalls] = "the kernel's buffers overflowed, and some calls were not seen"
		return
	}
	sums := map[int]*calls.Latency{}
	for _, c := range list {
		if c.Begun < b.Begun || c.Begun+c.Took > b.Begun+int64(b.Wall) {
			continue
		}
		if sums[c.Number] == nil {
			sums[c.Number] = new(calls.Latency)
		}
		sums[c.Number].Add(uint64(c.Took))
	}
	b.Timed, b.Calls = SourceTracepoints, map[string]*CallTimes{}
	for number, l := range sums {
		b.Calls[systrace.Name(number)] = newCallTimes(l)
	}
}

func errorText(err error) string {
	if err == nil {
		return "BPF was refused a moment ago"
	}
	return err.Error()
}

// addCalls puts the times of a variant's blocks together.
func (v *VariantTrace) addCalls(traced []*Block) {
	sums := map[string]*CallLatency{}
	counts := map[string]*[calls.Buckets]int64{}
	var ops int64
	for _, b := range traced {
		if b.Error != "" || b.Ops <= 0 {
			continue
		}
		if b.Timed == "" {
			v.Missing[missingCalls] = cmp.Or(b.Missing[missingCalls], "not timed")
			continue
		}
		v.Blocks, v.Source = v.Blocks+1, b.Timed
		ops += b.Ops
		for name, c := range b.Calls {
			if sums[name] == nil {
				sums[name], counts[name] = &CallLatency{Call: name, Runtime: RuntimeSyscall(name)}, new([calls.Buckets]int64)
			}
			s := sums[name]
			s.Total, s.Max = s.Total+c.Total, max(s.Max, c.Max)
			for i, n := range c.Counts {
				s.Count += n
				counts[name][c.First+i] += n
			}
		}
	}
	switch {
	case v.Blocks > 0:
		delete(v.Missing, missingCalls) // some blocks were timed
	case v.Missing[missingCalls] == "":
		v.Missing[missingCalls] = "no block in which system calls are timed was finished"
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		s := sums[name]
		if s.Count == 0 {
			continue
		}
		s.PerOp = float64(s.Count) / float64(ops)
		s.Buckets = callBuckets(counts[name])
		s.P50, s.P99 = s.percentile(50), s.percentile(99)
		v.Calls = append(v.Calls, *s)
	}
	slices.SortStableFunc(v.Calls, func(a, b CallLatency) int {
		if a.Runtime != b.Runtime {
			if a.Runtime {
				return 1
			}
			return -1
		}
		return cmp.Compare(b.Total, a.Total)
	})
}

func callBuckets(counts *[calls.Buckets]int64) (out []CallBucket) {
	for i, n := range counts {
		if n > 0 || len(out) > 0 {
			from, to := calls.Bucket(i)
			out = append(out, CallBucket{Nanos(from), Nanos(to), n})
		}
	}
	for len(out) > 0 && out[len(out)-1].Count == 0 {
		out = out[:len(out)-1]
	}
	return out
}

// percentile is where it lies in its bucket, taking the calls of a bucket to
// be spread evenly over it, and never more than the longest.
func (c *CallLatency) percentile(p float64) Percentile {
	if err := stats.CheckPercentile(p, c.Count, confidence); err != nil {
		return Percentile{P: p, Refused: err.Error()}
	}
	rank, seen := p/100*float64(c.Count), 0.0
	for _, b := range c.Buckets {
		if seen+float64(b.Count) >= rank && b.Count > 0 {
			ns := float64(b.From) + float64(b.To-b.From)*(rank-seen)/float64(b.Count)
			return Percentile{P: p, NS: min(ns, float64(c.Max))}
		}
		seen += float64(b.Count)
	}
	panic("unreachable: the counts add up")
}

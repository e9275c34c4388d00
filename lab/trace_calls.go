package lab

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/stele-go/stele/internal/measure/systrace"
	"github.com/stele-go/stele/lab/internal/calls"
	"github.com/stele-go/stele/lab/run"
)

// tracedBlocks is how many blocks time each variant's system calls. They are put
// together in one histogram: more of them lengthen its tail and hardly move its middle.
const tracedBlocks = 3

func newCallTimes(l *calls.Latency) *run.CallTimes {
	c := &run.CallTimes{Total: run.Nanos(l.Total), Max: run.Nanos(l.Max)}
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

func (t *callTimer) fill(b *run.Block) {
	b.Begun = t.begun
	if t.missing != nil {
		b.Missing[run.MissingCalls] = run.ReasonOf(t.missing)
	}
	if t.timer == nil {
		return
	}
	b.Timed, b.Calls = run.SourceBPF, map[string]*run.CallTimes{}
	for number, l := range t.timer.Read() {
		b.Calls[systrace.Name(number)] = newCallTimes(l)
	}
}

func (t *callTimer) close() {
	if t.timer != nil {
		t.timer.Close() // nothing was written
	}
}

// bpfRefused reports whether the kernel refuses to time calls with BPF.
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
func (w *callWatch) into(b *run.Block) {
	if b.Missing == nil {
		b.Missing = map[string]run.Reason{}
	}
	if w.err != nil {
		_, bpf := calls.NewTimer()
		b.Missing[run.MissingCalls] = run.ReasonOf(fmt.Errorf("%w; and %w", cmp.Or(bpf, errBPFRefused), w.err))
		return
	}
	list, lost := w.watch.Calls()
	if lost > 0 {
		b.Missing[run.MissingCalls] = run.Reason{Code: run.ReasonCallsLost}
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
	b.Timed, b.Calls = run.SourceTracepoints, map[string]*run.CallTimes{}
	for number, l := range sums {
		b.Calls[systrace.Name(number)] = newCallTimes(l)
	}
}

var errBPFRefused = errors.New("BPF was refused a moment ago")

package lab

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"runtime/trace"
	"slices"
	"strings"
	"time"

	exptrace "golang.org/x/exp/trace"

	"github.com/stele-go/stele/lab/run"
)

// Marks of the lab in the trace: the ends of the timed part, and the goroutine of
// B.Parallel while it waits for its workers, which is no wait of the variant's.
const (
	traceCategory = "stele"
	traceBegin    = "begin"
	traceEnd      = "end"
	traceWorkers  = "stele: waits for its workers"
)

// A selfTrace is the process of a block watching its own goroutines. nil
// watches nothing.
type selfTrace struct {
	chains  bool // follow chains of waits
	buf     bytes.Buffer
	err     error
	begun   int64
	profile profiles
}

// start begins to watch, before the meter's first reading.
func (t *selfTrace) start() {
	if t == nil {
		return
	}
	t.profile.start()
	t.err = trace.Start(&t.buf)
}

// begin marks the start of the timed part, end its end.
func (t *selfTrace) begin() {
	if t != nil {
		t.begun = time.Now().UnixNano()
		trace.Log(context.Background(), traceCategory, traceBegin)
	}
}

func (t *selfTrace) end() {
	if t != nil {
		trace.Log(context.Background(), traceCategory, traceEnd)
	}
}

// stop ends watching, after the meter's last reading.
func (t *selfTrace) stop() {
	if t == nil {
		return
	}
	if t.err == nil {
		trace.Stop()
	}
	t.profile.stop()
}

// workers calls wait, which returns when all workers of the block are done.
func (t *selfTrace) workers(wait func()) {
	if t == nil {
		wait()
		return
	}
	trace.WithRegion(context.Background(), traceWorkers, wait)
}

// waits returns the waits of the process itself, without those in the kernel.
func (t *selfTrace) waits(wall time.Duration) *run.Waits {
	w := &run.Waits{Begun: t.begun, Window: run.Nanos(wall)/run.WaitWindows + 1, Series: []run.Wait{}, Missing: map[string]run.Reason{}}
	w.Contention = run.TopContention(t.profile.read(w.Missing))
	w.Chained = t.chains
	err := t.err
	if err == nil {
		err = readTrace(w, &t.buf)
	}
	if err != nil {
		w.Total, w.Series = 0, []run.Wait{}
		w.Chains, w.Followed = nil, 0
		w.Missing["trace"] = run.ReasonOf(err)
		if errors.Is(err, errTraceCut) {
			w.Missing["trace"] = run.Reason{Code: run.ReasonTraceCut}
		}
	}
	return w
}

// errTraceCut is the error of a trace that lacks the end of the timed part.
var errTraceCut = errors.New("the execution trace ends before the timed part does")

// readTrace adds up the times of goroutines in an execution trace between the marks of
// the timed part.
func readTrace(w *run.Waits, data io.Reader) error {
	r, err := exptrace.NewReader(data)
	if err != nil {
		return fmt.Errorf("read the execution trace: %w", err)
	}
	a := &accounts{waits: w, series: map[waitKey]*run.Wait{}, all: map[exptrace.GoID]*goroutine{}}
	if w.Chained {
		a.chains = newChainBuilder()
	}
	for !a.ended {
		e, err := r.ReadEvent()
		if errors.Is(err, io.EOF) {
			return errTraceCut
		}
		if err != nil {
			return fmt.Errorf("read the execution trace: %w", err)
		}
		a.event(&e)
	}
	for _, s := range sortedWaits(a.series) {
		w.Series = append(w.Series, *s)
		w.Total += s.Total()
	}
	if a.chains != nil {
		w.Chains, w.Followed = a.chains.chains()
	}
	return nil
}

// accounts are the goroutines of a trace while it is read.
type accounts struct {
	waits        *run.Waits
	series       map[waitKey]*run.Wait
	all          map[exptrace.GoID]*goroutine
	begin        exptrace.Time
	begun, ended bool
	chains       *chainBuilder // nil where chains were not asked for
}

// A goroutine, and since when it has been in the state it is in.
type goroutine struct {
	state  exptrace.GoState
	since  exptrace.Time
	reason string // why it waits
	symbol string // where
	root   string // the function it was started with, once known
	apart  bool   // waits for its workers
	life   *life  // of chains
}

// counts reports whether a goroutine is one of the variant's.
func (g *goroutine) counts() bool {
	if g.apart || g.root == "" {
		return false
	}
	if g.root == "runtime.main" {
		return true
	}
	for _, of := range []string{"runtime.", "runtime/", "os/signal."} {
		if strings.HasPrefix(g.root, of) {
			return false
		}
	}
	return true
}

func (a *accounts) get(id exptrace.GoID) *goroutine {
	g := a.all[id]
	if g == nil {
		g = &goroutine{}
		a.all[id] = g
	}
	return g
}

func (a *accounts) event(e *exptrace.Event) {
	switch e.Kind() {
	case exptrace.EventLog:
		if l := e.Log(); l.Category == traceCategory {
			a.mark(e, l.Message)
		}
	case exptrace.EventRegionBegin, exptrace.EventRegionEnd:
		if id := e.Goroutine(); id != exptrace.NoGoroutine && e.Region().Type == traceWorkers {
			g := a.get(id)
			a.book(g, e.Time())
			g.apart = e.Kind() == exptrace.EventRegionBegin
		}
	case exptrace.EventStateTransition:
		if s := e.StateTransition(); s.Resource.Kind == exptrace.ResourceGoroutine {
			a.transition(e, &s)
		}
	}
}

// mark begins or ends the timed part.
func (a *accounts) mark(e *exptrace.Event, message string) {
	switch message {
	case traceBegin:
		a.begin, a.begun = e.Time(), true
		for _, g := range a.all {
			g.since = e.Time()
		}
		a.chains.begin(e.Time())
		// The goroutine that starts the timer is the variant's, however deep its stack.
		if g := a.get(e.Goroutine()); g.root == "" {
			g.root = "runtime.main"
		}
	case traceEnd:
		for _, g := range a.all {
			a.book(g, e.Time())
			a.chains.left(g, e.Time())
		}
		a.ended = true
	}
}

func (a *accounts) transition(e *exptrace.Event, s *exptrace.StateTransition) {
	g := a.get(s.Resource.Goroutine())
	_, to := s.Goroutine()
	if g.root == "" {
		g.root = rootOf(s.Stack)
	}
	a.book(g, e.Time())
	if a.chains != nil {
		a.chains.transition(a, e, s, g, to)
	}
	if to == exptrace.GoNotExist {
		delete(a.all, s.Resource.Goroutine())
		return
	}
	g.state, g.reason, g.symbol = to, s.Reason, ""
	if to == exptrace.GoWaiting {
		g.symbol = blocker(s.Stack)
	}
}

// book adds the time since the last transition to the series of the state that ends.
func (a *accounts) book(g *goroutine, now exptrace.Time) {
	from := g.since
	g.since = now
	if !a.begun || !g.counts() || now <= from {
		return
	}
	k := waitKey{run.WaitRuntime, run.CauseRunnable}
	switch g.state {
	case exptrace.GoRunning:
		k = waitKey{run.WaitRunning, run.CauseRunning}
	case exptrace.GoSyscall:
		k = waitKey{run.WaitKernel, run.CauseSyscall}
	case exptrace.GoWaiting:
		k.cause = blockedOn(g.reason)
	case exptrace.GoRunnable:
	default:
		return
	}
	s := a.series[k]
	if s == nil {
		s = &run.Wait{Where: k.where, Cause: k.cause, Time: make([]run.Nanos, run.WaitWindows)}
		a.series[k] = s
	}
	spread(s.Time, run.Nanos(from-a.begin), run.Nanos(now-a.begin), a.waits.Window)
	if g.symbol != "" {
		if s.Symbols == nil {
			s.Symbols = map[string]run.Nanos{}
		}
		s.Symbols[g.symbol] += run.Nanos(now - from)
	}
}

// spread adds the time from one moment to another, since the timer started, to the
// windows it lies in. Time after the last window, the nanoseconds that a mark in the
// trace costs, is added to the last one.
func spread(windows []run.Nanos, from, to, width run.Nanos) {
	for from < to {
		i := min(int(from/width), len(windows)-1)
		end := to
		if i < len(windows)-1 {
			end = min(to, run.Nanos(i+1)*width)
		}
		windows[i] += end - from
		from = end
	}
}

// blockedOn is the cause of a wait, in the runtime's own word.
func blockedOn(reason string) string {
	return run.CauseGo + cmp.Or(reason, "reason not told")
}

// rootOf returns the outermost function of a stack, "" for an empty one.
func rootOf(s exptrace.Stack) string {
	root := ""
	for f := range s.Frames() {
		root = f.Func
	}
	return root
}

// blocker names the function that a goroutine waits in and its caller.
func blocker(s exptrace.Stack) string {
	var names []string
	for f := range s.Frames() {
		names = append(names, f.Func)
	}
	switch call, in := callAndCaller(names); {
	case call == "":
		return in
	case in == "":
		return call
	default:
		return call + " in " + in
	}
}

// callAndCaller finds, in a stack from the inside out, the outermost of the
// innermost functions of the runtime and of package sync, which is the call
// that waits, and the function that made it.
func callAndCaller(names []string) (call, in string) {
	for _, name := range names {
		own := false
		for _, of := range []string{"runtime.", "sync.", "internal/sync.", "internal/runtime", "internal/poll."} {
			own = own || strings.HasPrefix(name, of)
		}
		if !own {
			return call, name
		}
		call = name
	}
	return call, ""
}

// profiles are the runtime's block and mutex profile over a block.
type profiles struct{ fraction int }

func (p *profiles) start() {
	runtime.SetBlockProfileRate(1)
	p.fraction = runtime.SetMutexProfileFraction(1)
}

func (p *profiles) stop() {
	runtime.SetBlockProfileRate(0)
	runtime.SetMutexProfileFraction(p.fraction)
}

// A waitKey identifies a series of a block.
type waitKey struct{ where, cause string }

func (k waitKey) compare(o waitKey) int {
	return cmp.Or(cmp.Compare(k.where, o.where), cmp.Compare(k.cause, o.cause))
}

func sortedWaits(m map[waitKey]*run.Wait) []*run.Wait {
	var list []*run.Wait
	for _, k := range slices.SortedFunc(maps.Keys(m), waitKey.compare) {
		list = append(list, m[k])
	}
	return list
}

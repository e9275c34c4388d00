package lab

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	exptrace "golang.org/x/exp/trace"

	"github.com/stele-go/stele/internal/measure/systrace"
	"github.com/stele-go/stele/lab/run"
)

// How far waits are followed. In a queue of a thousand for one lock each wait
// leads back through a thousand others.
const (
	mostLinks      = 5         // of a chain, without one that ends the last
	mostSteps      = 4000      // back in time, for one wait
	allSteps       = 2_000_000 // for all waits of a block
	mostStretches  = 400_000   // remembered, of all goroutines
	mostChainsKept = 64        // kept of a block
)

// callNames are the system calls by their plain name.
var callNames = func() map[string]string {
	names := map[string]string{}
	for number := range systrace.Slots {
		name := systrace.Name(number)
		names[plainCall(name)] = name
	}
	return names
}()

// plainCall makes the name of a system call and that of its function in Go
// equal: pread64 and syscall.pread, newfstatat and unix.Fstatat.
func plainCall(name string) string {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "")
	return strings.TrimSuffix(strings.TrimPrefix(name, "new"), "64")
}

// A chainBuilder follows each wait back to the goroutine that ended it and to the
// stretches of that goroutine in the meantime.
type chainBuilder struct {
	from     exptrace.Time // of the timed part
	begun    bool
	sites    map[exptrace.Stack]*callSite
	links    []run.Link // each once; a path holds their indices
	index    map[run.Link]int32
	sums     map[path]run.Nanos
	followed run.Nanos
	steps    int
}

// A path is the links of a chain.
type path struct {
	n  int
	at [mostLinks + 1]int32
}

// with is the path with one link more.
func (p path) with(link int32) path {
	p.at[p.n] = link
	p.n++
	return p
}

// A life is the last stretches of a goroutine, and the current one.
type life struct {
	who  string
	root string // the function it was started with
	done []stretch
	now  stretch // current; its to is not set
}

// A stretch is a time in one state.
type stretch struct {
	from, to exptrace.Time
	state    exptrace.GoState
	site     *callSite
	reason   string
	by       *life     // the goroutine that ended it, where one did
	bySite   *callSite // where that one did so
}

// A callSite is the part of a stack that chains are made of.
type callSite struct{ in, call, who string }

func newChainBuilder() *chainBuilder {
	return &chainBuilder{sites: map[exptrace.Stack]*callSite{}, index: map[run.Link]int32{}, sums: map[path]run.Nanos{}}
}

// begin marks the start of the timed part.
func (c *chainBuilder) begin(at exptrace.Time) {
	if c != nil {
		c.from, c.begun = at, true
	}
}

func (c *chainBuilder) site(s exptrace.Stack) *callSite {
	p := c.sites[s]
	if p == nil {
		var names []string
		for f := range s.Frames() {
			names = append(names, f.Func)
		}
		p = callSiteOf(names)
		c.sites[s] = p
	}
	return p
}

// callSiteOf reads a stack from the inside out.
func callSiteOf(names []string) *callSite {
	p := new(callSite)
	inner := ""
	for _, name := range names {
		if p.call == "" {
			p.call = callOf(name)
		}
		if !startsWithAny(name, notTheCaller) {
			p.in = name
			break
		}
		inner = name
	}
	switch {
	case p.in == "":
		p.in = inner
	case inner != "":
		p.in = inner + " in " + p.in
	}
	for _, name := range names {
		if !startsWithAny(name, notTheWorker) {
			p.who = name
		}
	}
	return p
}

// notTheCaller are the packages between a caller and the runtime or the
// kernel, notTheWorker those that start goroutines for others.
var (
	notTheCaller = []string{"runtime.", "internal/", "sync.", "time.Sleep", "syscall.", "os.", "golang.org/x/sys/unix.", houseSys, houseMeasure}
	notTheWorker = []string{"runtime.", "runtime/", "internal/", "sync.", "time.", "os/signal.", "testing.", "main.", "github.com/stele-go/stele/lab.(*B).", "github.com/stele-go/stele/lab.callRun", "github.com/stele-go/stele/lab.runBlock", "github.com/stele-go/stele/lab.RunBlock"}
)

// callOf returns the system call that a function makes, by its name; "" where the name
// does not show it.
func callOf(function string) string {
	if f, ours := strings.CutPrefix(function, houseSys); ours {
		return cmp.Or(houseCalls[f], callNames[f])
	}
	if f, ours := strings.CutPrefix(function, houseMeasure); ours {
		return measureCalls[f]
	}
	if startsWithAny(function, wrappers) {
		return callNames[plainCall(function[strings.LastIndexByte(function, '.')+1:])]
	}
	return ""
}

// wrappers are the packages whose functions are named after system calls;
// houseCalls and measureCalls are functions of our own that are not.
var wrappers = []string{"syscall.", "golang.org/x/sys/unix.", "internal/syscall/unix."}

const (
	houseSys     = "github.com/stele-go/stele/internal/sys."
	houseMeasure = "github.com/stele-go/stele/internal/measure/"
)

var measureCalls = map[string]string{"uring.(*Ring).enter": "io_uring_enter"}

var houseCalls = map[string]string{
	"WriteDurably": "pwritev2", "PreadFlags": "preadv2",
	"Dir.Sync": "fsync", "Dir.unlink": "unlinkat", "Dir.Rename": "renameat2", "Dir.openFile": "openat",
	"Dir.openat2": "openat2", "Dir.CreateTemp": "openat", "Temp.Sync": "fdatasync", "Temp.Chmod": "fchmod", "Temp.Chown": "fchown",
}

// transition ends a goroutine's stretch and begins the next one.
func (c *chainBuilder) transition(a *accounts, e *exptrace.Event, s *exptrace.StateTransition, g *goroutine, to exptrace.GoState) {
	l := c.lifeOf(g, e.Time())
	if l.now.state != exptrace.GoUndetermined && l.now.state != exptrace.GoNotExist {
		done := l.now
		done.to = e.Time()
		if done.state == exptrace.GoWaiting {
			if id := e.Goroutine(); id != exptrace.NoGoroutine && id != s.Resource.Goroutine() {
				done.by, done.bySite = c.lifeOf(a.get(id), e.Time()), c.site(e.Stack())
			}
		}
		if c.begun && g.counts() {
			c.follow(l, done)
		}
		c.remember(l, done, len(a.all))
	}
	l.now = stretch{from: e.Time(), state: to, site: c.site(s.Stack), reason: s.Reason}
	if l.who == "" {
		l.who = l.now.site.who
	}
}

func (c *chainBuilder) lifeOf(g *goroutine, now exptrace.Time) *life {
	if g.life == nil {
		g.life = &life{now: stretch{from: now, state: g.state}}
	}
	g.life.root = g.root
	return g.life
}

// left follows the stretch that a goroutine is in when the timed part ends.
func (c *chainBuilder) left(g *goroutine, now exptrace.Time) {
	if c == nil || g.life == nil || !g.counts() {
		return
	}
	open := g.life.now
	open.to = now
	c.follow(g.life, open)
}

// remember keeps a stretch for goroutines that wait for this one.
func (c *chainBuilder) remember(l *life, s stretch, goroutines int) {
	most := max(mostStretches/max(goroutines, 1), 64)
	if len(l.done) >= most {
		l.done = append(l.done[:0], l.done[len(l.done)/2:]...)
	}
	l.done = append(l.done, s)
}

// follow books one stretch of a goroutine of the variant's, if it was a wait.
func (c *chainBuilder) follow(l *life, s stretch) {
	s.from = max(s.from, c.from)
	if s.to <= s.from || s.state == exptrace.GoRunning || c.steps >= allSteps {
		return
	}
	c.followed += run.Nanos(s.to - s.from)
	steps := mostSteps
	c.attribute(l, s, s.from, s.to, path{}, "", &steps)
	c.steps += mostSteps - steps
}

// attribute books the time between two moments in which a goroutine was in one state.
// waiters are the links of the goroutines that waited for it, site is where it released
// the last of them.
func (c *chainBuilder) attribute(l *life, s stretch, from, to exptrace.Time, waiters path, site string, steps *int) {
	*steps--
	link := l.link(s)
	link.By = site
	if waiters.n > 0 {
		last := c.links[waiters.at[waiters.n-1]]
		if last.Who == link.Who && last.How == link.How && last.In == link.In {
			waiters.n-- // one queue: each in it waits for the one before
			waiters.at[waiters.n] = 0
			link.By = last.By
		}
	}
	if s.state != exptrace.GoWaiting || s.by == nil {
		p := waiters.with(c.intern(link))
		if who := endsItself(s); who != "" {
			p = p.with(c.intern(run.Link{Who: who, How: run.HowRunning}))
		}
		c.sums[p] += run.Nanos(to - from)
		return
	}
	if waiters.n == mostLinks-1 || *steps <= 0 {
		link.How = run.HowBlockedAgain
		c.sums[waiters.with(c.intern(link))] += run.Nanos(to - from)
		return
	}
	waiters = waiters.with(c.intern(link))
	// The stretches of the goroutine that ended the wait, backwards from its end.
	by, upTo := s.by, to
	visit := func(x stretch) (more bool) {
		if lo, hi := max(x.from, from), min(x.to, upTo); hi > lo {
			c.attribute(by, x, lo, hi, waiters, s.bySite.in, steps)
			upTo = lo
		}
		return upTo > from && *steps > 0
	}
	open := by.now
	open.to = max(to, open.from)
	more := visit(open)
	i := sort.Search(len(by.done), func(i int) bool { return by.done[i].from >= to })
	for i--; more && i >= 0; i-- {
		more = visit(by.done[i])
	}
	if upTo > from {
		c.sums[waiters.with(c.intern(run.Link{Who: by.name(), How: run.HowUnfollowed, By: s.bySite.in}))] += run.Nanos(upTo - from)
	}
}

func (c *chainBuilder) intern(l run.Link) int32 {
	i, found := c.index[l]
	if !found {
		i = int32(len(c.links))
		c.links = append(c.links, l)
		c.index[l] = i
	}
	return i
}

// endsItself is the run.Who constant of a wait that no goroutine ends, "" of others.
func endsItself(s stretch) string {
	if s.state != exptrace.GoWaiting {
		return ""
	}
	switch s.reason {
	case "sleep":
		return run.WhoTimer
	case "network":
		return run.WhoPoller
	}
	return ""
}

func (l *life) name() string {
	return cmp.Or(l.who, l.root, run.WhoRuntime)
}

// link is a goroutine in a stretch of its life.
func (l *life) link(s stretch) run.Link {
	k := run.Link{Who: l.name()}
	switch s.state {
	case exptrace.GoWaiting:
		k.How = run.HowBlocked
	case exptrace.GoSyscall:
		k.How = run.HowSyscall
	case exptrace.GoRunnable:
		k.How = run.HowReady
	case exptrace.GoRunning:
		k.How = run.HowRunning
	default:
		k.How = run.HowUnfollowed
	}
	if s.site != nil && (k.How == run.HowBlocked || k.How == run.HowSyscall) {
		k.In = s.site.in
	}
	if s.site != nil && k.How == run.HowSyscall {
		k.Call = s.site.call
	}
	return k
}

// chains returns those with most time, and the time of all.
func (c *chainBuilder) chains() ([]run.Chain, run.Nanos) {
	var list []run.Chain
	for p, t := range c.sums {
		chain := run.Chain{Time: t}
		for _, i := range p.at[:p.n] {
			chain.Links = append(chain.Links, c.links[i])
		}
		list = append(list, chain)
	}
	slices.SortFunc(list, func(a, b run.Chain) int { return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Key(), b.Key())) })
	return list[:min(len(list), mostChainsKept)], c.followed
}

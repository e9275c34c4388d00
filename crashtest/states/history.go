package states

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"strings"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/internal/scratch"
)

// A History is the operations that some work made in a file system, and the
// ledger of that work.
type History[T any] struct {
	history
	ledger []T
}

// history is a History without the ledger's entries.
type history struct {
	base *shape // what was there before, durably
	ops  []op
	acks []int // operations that came before each acknowledgement
}

// RecordFS runs work on a copy of base, or on an empty file system if base is
// nil, and returns what it did. All that is in base is durable.
//
// ack adds an entry to the ledger: from now on, entry is promised to survive
// a crash. Each goroutine of work must ack what it has done before it does
// more. (An entry may also note that something has begun, where a check wants
// to know.)
func RecordFS[T any](base *FS, work func(fsys *FS, ack func(entry T)) error) (*History[T], error) {
	h, _, err := recordFS(base, nil, work)
	return h, err
}

// recordFS is RecordFS with calls that fail, unless in is nil. failed is what
// work returned; then there is a history all the same.
func recordFS[T any](base *FS, in *injector, work func(fsys *FS, ack func(entry T)) error) (h *History[T], fsys *FS, failed error) {
	if base == nil {
		base = NewFS()
	}
	base.tree.mu.Lock()
	h = &History[T]{history: history{base: shapeOf(base.tree)}}
	base.tree.mu.Unlock()

	t := h.base.tree()
	t.record = func(o *op) { h.ops = append(h.ops, *o) }
	t.inject = in
	fsys = &FS{tree: t}
	if err := work(fsys, func(entry T) {
		t.mu.Lock()
		defer t.mu.Unlock()
		h.ledger = append(h.ledger, entry)
		h.acks = append(h.acks, len(h.ops))
	}); err != nil {
		failed = fmt.Errorf("states: work: %w", err)
	}
	// What work leaves running is not part of it.
	t.mu.Lock()
	defer t.mu.Unlock()
	t.record, t.inject = func(*op) {}, nil
	return h, fsys, failed
}

// Ops returns the operations, one on each line: "write conf.tmp [0, 64)".
func (h *history) Ops() []string {
	lines := make([]string, len(h.ops))
	for i := range h.ops {
		lines[i] = h.ops[i].String()
	}
	return lines
}

// Options say which crash states are checked. The zero value is the
// strictest model, 10,000 states, and a seed that is drawn.
type Options struct {
	// Model is what may happen to what was not synced. The default is POSIX.
	Model Model
	// Max is how many states are made, at most; 0 is 10,000. If there are no
	// more, all of them are. If there are, each place of the history gets its
	// share: the simplest states of it, and others by chance.
	Max int
	// Seed draws where there are more than Max. 0 draws one; the report has
	// it. The same seed on the same history gives the same states.
	Seed uint64
	// Only is the ID of a state, as a failure has it: just that one is
	// checked, under the model in which it was found. It is good for the same
	// history only, and so for work that always does the same, and for the same
	// OnSync.
	Only string
	// OnSync, unless nil, is asked about each sync of the history, and can
	// leave it out (SkipSync, or WriteOnly, which is no better here): so each
	// one can be shown to be needed, without running the work again. Call is
	// "fsync", "fdatasync" or "syncfs".
	OnSync func(crashtest.Sync) crashtest.SyncFault
}

// CheckFS calls check with each crash state, as a file system in memory, and
// with the entries that had been acknowledged before the crash. What check
// returns, unless nil, is a failure. It may write to fsys.
func (h *History[T]) CheckFS(o Options, check func(fsys *FS, acked []T) error) Report {
	return h.check(o, func(s *shape, acked int) error {
		return check(&FS{tree: s.tree()}, h.ledger[:acked:acked])
	})
}

// CheckDir is CheckFS with each state as a folder of its own, which is gone
// when check returns; check must close what it opens there. The folders are
// in memory where there is room (/dev/shm), and else in os.TempDir.
func (h *History[T]) CheckDir(o Options, check func(dir string, acked []T) error) Report {
	return h.check(o, func(s *shape, acked int) error {
		return inFolder(s, func(dir string) error { return check(dir, h.ledger[:acked:acked]) })
	})
}

// errBroken marks what is no fault of the state.
var errBroken = errors.New("states: a crash state could not be made")

// inFolder calls look with a folder that holds s.
func inFolder(s *shape, look func(dir string) error) error {
	dir, err := scratch.Dir()
	if err != nil {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	defer os.RemoveAll(dir)
	if err := s.writeTo(dir); err != nil {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	return look(dir)
}

// ackedAt is how many entries were acknowledged when n operations were done.
func (h *history) ackedAt(n int) int { return sort.SearchInts(h.acks, n+1) }

// without is the history with syncs left out.
func (h *history) without(ask func(crashtest.Sync) crashtest.SyncFault) *history {
	mutant := &history{base: h.base, ops: slices.Clone(h.ops), acks: h.acks}
	n := 0
	for i := range mutant.ops {
		o := &mutant.ops[i]
		if o.mutates() || o.Kind == opSyncFailed {
			continue
		}
		call, _, _ := strings.Cut(opNames[o.Kind], " ")
		path := o.Path
		if o.Kind == opSyncFS {
			path = "."
		}
		o.Skipped = ask(crashtest.Sync{N: n, Call: call, Path: path}) != crashtest.NoFault
		n++
	}
	return mutant
}

// A place is where the history can be cut: after so many operations and so
// many acknowledgements.
type place struct{ at, acked int }

// places are where a cut shows what no later one shows: before a sync, before
// an acknowledgement, and at the end. Between two of them the ledger stays as
// it is, and what a crash may leave only grows.
func (h *history) places() []place {
	var all []place
	acked := 0
	for i := 0; ; i++ {
		for first := true; acked < len(h.acks) && h.acks[acked] == i; first = false {
			// Right after a sync there is nothing that was not there before it.
			if !first || i == 0 || h.ops[i-1].mutates() {
				all = append(all, place{i, acked})
			}
			acked++
		}
		if i == len(h.ops) {
			return append(all, place{i, acked})
		}
		if !h.ops[i].mutates() {
			all = append(all, place{i, acked})
		}
	}
}

// has reports whether the history passes through p.
func (h *history) has(p place) bool {
	if p.at < 0 || p.at > len(h.ops) {
		return false
	}
	before := 0
	if p.at > 0 {
		before = h.ackedAt(p.at - 1)
	}
	return before <= p.acked && p.acked <= h.ackedAt(p.at)
}

// frames calls visit at each of the places, which are in order, until it
// returns false.
func (h *history) frames(kind Model, places []place, visit func(f *frame) bool) {
	m := &model{kind: kind, ops: h.ops, durable: h.base.clone()}
	for i := 0; len(places) > 0; i++ {
		for len(places) > 0 && places[0].at == i {
			if !visit(m.frame(places[0])) {
				return
			}
			places = places[1:]
		}
		if len(places) > 0 {
			m.step(i)
		}
	}
}

// A checking is one call of check.
type checking struct {
	h     *history
	look  func(s *shape, acked int) error
	seen  map[[sha256.Size + 8]byte]bool
	shown map[string]bool
	Report
}

func (h *history) check(o Options, look func(s *shape, acked int) error) Report {
	c := &checking{h: h, look: look, seen: map[[sha256.Size + 8]byte]bool{}, shown: map[string]bool{}}
	c.Model, c.Ops = o.Model, len(h.ops)
	if o.OnSync != nil {
		h = h.without(o.OnSync)
		c.h = h
	}
	if o.Only != "" {
		c.only(o)
		return c.Report
	}
	if o.Max <= 0 {
		o.Max = 10_000
	}
	places := h.places()
	c.Places = len(places)

	// Counting ends somewhere: there may be more states than atoms.
	most := max(o.Max, 1<<18/len(places))
	counts := make([]int, 0, len(places))
	h.frames(o.Model, places, func(f *frame) bool {
		n := f.count(most)
		c.More = c.More || n > most
		c.States += min(n, most)
		counts = append(counts, n)
		return true
	})
	c.Exhaustive = c.States <= o.Max && !c.More
	quotas := counts
	var rng *rand.Rand
	if !c.Exhaustive {
		if c.Seed = o.Seed; c.Seed == 0 {
			c.Seed = rand.Uint64()
		}
		rng = rand.New(rand.NewPCG(c.Seed, 0))
		quotas = share(counts, o.Max, rng)
	}
	i := 0
	h.frames(o.Model, places, func(f *frame) bool {
		if quota := quotas[i]; quota >= counts[i] {
			f.each(most, func(v []int) bool { return c.state(f, v) })
		} else {
			c.sample(f, quota, rng)
		}
		i++
		return c.Broken == nil
	})
	return c.Report
}

// share divides n states among places: each gets the same, or all it has.
func share(counts []int, n int, rng *rand.Rand) []int {
	order := rng.Perm(len(counts)) // for what is left over
	slices.SortStableFunc(order, func(a, b int) int { return counts[a] - counts[b] })
	quotas := make([]int, len(counts))
	for i, place := range order {
		quotas[place] = min(counts[place], (n+len(order)-i-1)/(len(order)-i))
		n -= quotas[place]
	}
	return quotas
}

// sample checks quota states: the simple ones if there are not more of them,
// and others by chance.
func (c *checking) sample(f *frame, quota int, rng *rand.Rand) {
	simple := f.simple()
	rng.Shuffle(len(simple), func(i, j int) { simple[i], simple[j] = simple[j], simple[i] })
	for _, v := range simple[:min(quota, len(simple))] {
		if !c.state(f, v) {
			return
		}
	}
	for range quota - len(simple) {
		if !c.state(f, f.random(rng)) {
			return
		}
	}
}

// state checks one, unless one like it was checked. It returns false if no
// more can be checked.
func (c *checking) state(f *frame, v []int) bool {
	s, sums := f.shape(v)
	sum := s.key(sums)
	var key [sha256.Size + 8]byte
	binary.LittleEndian.PutUint64(key[copy(key[:], sum[:]):], uint64(f.acked))
	if c.seen[key] {
		return true
	}
	c.seen[key] = true
	c.Checked++
	err := c.look(s, f.acked)
	if errors.Is(err, errBroken) {
		c.Broken = err
		return false
	}
	if err != nil {
		c.Failed++
		// Most failures are one fault in many shapes; a few of them are
		// looked at.
		if len(c.Failures) < 3 && c.Failed <= 20 {
			c.explain(f, v, err)
		}
	}
	return true
}

// explain reduces a failure to what it needs.
func (c *checking) explain(f *frame, v []int, err error) {
	v = f.shrink(slices.Clone(v), func(w []int) bool {
		s, _ := f.shape(w)
		e := c.look(s, f.acked)
		if e == nil || errors.Is(e, errBroken) {
			return false
		}
		err = e
		return true
	})
	c.fail(f, v, err)
}

func (c *checking) fail(f *frame, v []int, err error) {
	failure := f.failure(v, err)
	// The same loss shows at many places.
	if what := strings.Join(failure.Lost, "\n"); !c.shown[what] || c.Failed <= 1 {
		c.shown[what] = true
		c.Failures = append(c.Failures, failure)
	}
}

// only checks the state that has the ID o.Only.
func (c *checking) only(o Options) {
	kind, at, v, err := parseStateID(o.Only)
	if err != nil {
		c.Broken = err
		return
	}
	c.Places, c.Model = 1, kind
	c.Broken = fmt.Errorf("states: %q is the ID of a state of another history", o.Only)
	if !c.h.has(at) {
		return
	}
	c.h.frames(kind, []place{at}, func(f *frame) bool {
		for i, out := range v {
			if len(v) != len(f.change) || out >= outTorn+len(f.tears[i]) {
				return false
			}
		}
		if len(v) != len(f.change) || !f.valid(v) {
			return false
		}
		c.Broken = nil
		s, _ := f.shape(v)
		c.States, c.Checked = 1, 1
		switch err := c.look(s, f.acked); {
		case errors.Is(err, errBroken):
			c.Broken = err
		case err != nil:
			c.Failed = 1
			c.fail(f, v, err)
		}
		return false
	})
}

// last is what is there at the end, without a crash.
func (h *history) last() *shape {
	m := &model{ops: h.ops, durable: h.base.clone()}
	for i := range h.ops {
		m.step(i)
	}
	for _, c := range m.pending {
		m.apply(m.durable, c)
	}
	return m.durable
}

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
	"github.com/stele-go/stele/crashtest/states/internal/tree"
)

// A History has the operations that some work made in a file system, and the
// ledger of that work.
type History[T any] struct {
	history
	ledger []T
}

// history is a History without the entries of the ledger.
type history struct {
	base *snapshot // before the work, and durable
	ops  []tree.Op
	acks []int // for each entry, the number of operations before it
}

// RecordFS runs work on a copy of base, or on an empty file system if base is
// nil, and returns what it did. All of base is durable. The error is that of
// work.
//
// ack adds an entry to the ledger: from now on, entry is promised to survive a
// crash. Each goroutine of work must ack what it has done before it does more.
// An entry may also note that something has begun, if a check needs to know.
func RecordFS[T any](base *FS, work func(fsys *FS, ack func(entry T)) error) (*History[T], error) {
	h, _, err := recordFS(base, nil, work)
	return h, err
}

// recordFS is RecordFS with calls that fail, unless in is nil. failed is the
// error of work; there is a history nonetheless.
func recordFS[T any](base *FS, in *tree.Injector, work func(fsys *FS, ack func(entry T)) error) (h *History[T], fsys *FS, failed error) {
	if base == nil {
		base = NewFS()
	}
	base.tree.Mu.Lock()
	h = &History[T]{history: history{base: snapshotOf(base.tree)}}
	base.tree.Mu.Unlock()

	t := h.base.tree()
	t.Record = func(o *tree.Op) { h.ops = append(h.ops, *o) }
	t.Inject = in
	fsys = &FS{tree: t}
	if err := work(fsys, func(entry T) {
		t.Mu.Lock()
		defer t.Mu.Unlock()
		h.ledger = append(h.ledger, entry)
		h.acks = append(h.acks, len(h.ops))
	}); err != nil {
		failed = fmt.Errorf("states: work: %w", err)
	}
	// Goroutines that work left running are not recorded.
	t.Mu.Lock()
	defer t.Mu.Unlock()
	t.Record, t.Inject = func(*tree.Op) {}, nil
	return h, fsys, failed
}

// Ops returns the operations, one a line: "write conf.tmp [0, 64)".
func (h *history) Ops() []string {
	lines := make([]string, len(h.ops))
	for i := range h.ops {
		lines[i] = h.ops[i].String()
	}
	return lines
}

// Options say which crash states are checked. The zero value is the strictest
// model, 10,000 states and a random seed.
type Options struct {
	// Model says what a crash may do to operations that were not synced. The
	// default is POSIX.
	Model Model
	// Max is the largest number of states to make; 0 is 10,000. If there are
	// more, each cut of the history gets its share: its simplest states, and
	// others drawn by Seed.
	Max int
	// Seed draws states if there are more than Max. 0 draws a seed; the report
	// has it. The same seed on the same history gives the same states.
	Seed uint64
	// Only is the ID of a failure: just that state is checked, under the model
	// in which it failed. It is valid for the same history and OnSync only, and
	// so for work that always does the same.
	Only string
	// OnSync, unless nil, is called for each sync of the history and can leave
	// it out, by SkipSync or, which is the same here, WriteOnly. So each sync is
	// shown to be needed without running the work again.
	OnSync func(crashtest.Sync) crashtest.SyncFault
}

// CheckFS calls check with each crash state, as a file system in memory, and
// with the entries that were acknowledged before the crash. An error that check
// returns is a failure. check may write to fsys.
func (h *History[T]) CheckFS(o Options, check func(fsys *FS, acked []T) error) Report {
	return h.check(o, func(s *snapshot, acked int) error {
		return check(&FS{tree: s.tree()}, h.ledger[:acked:acked])
	})
}

// CheckDir is [History.CheckFS] with each state in a directory of its own, which
// is removed when check returns; check must close the files that it opens there.
// The directory is in memory (/dev/shm) if that has 256 MiB free, and in
// os.TempDir otherwise.
func (h *History[T]) CheckDir(o Options, check func(dir string, acked []T) error) Report {
	return h.check(o, func(s *snapshot, acked int) error {
		return inDir(s, func(dir string) error { return check(dir, h.ledger[:acked:acked]) })
	})
}

// errNotMade marks an error that is not a failure of the state.
var errNotMade = errors.New("states: make a crash state")

// inDir calls check with a directory that holds s.
func inDir(s *snapshot, check func(dir string) error) error {
	dir, err := scratch.Dir()
	if err != nil {
		return fmt.Errorf("%w: %w", errNotMade, err)
	}
	defer os.RemoveAll(dir)
	if err := s.writeTo(dir); err != nil {
		return fmt.Errorf("%w: %w", errNotMade, err)
	}
	return check(dir)
}

// ackedAt returns the number of entries that were acknowledged when n operations
// were done.
func (h *history) ackedAt(n int) int { return sort.SearchInts(h.acks, n+1) }

// without returns the history with syncs left out.
func (h *history) without(ask func(crashtest.Sync) crashtest.SyncFault) *history {
	mutant := &history{base: h.base, ops: slices.Clone(h.ops), acks: h.acks}
	n := 0
	for i := range mutant.ops {
		o := &mutant.ops[i]
		if o.Mutates() || o.Kind == tree.OpSyncFailed {
			continue
		}
		call, _, _ := strings.Cut(o.Kind.String(), " ")
		path := o.Path
		if o.Kind == tree.OpSyncFS {
			path = "."
		}
		o.Skipped = ask(crashtest.Sync{N: n, Call: call, Path: path}) != crashtest.NoFault
		n++
	}
	return mutant
}

// A cutPoint is a point at which the history can be cut: after so many operations
// and so many acknowledgements.
type cutPoint struct{ at, acked int }

// cutPoints returns the points at which a cut shows what no later one shows:
// before a sync, before an acknowledgement, and at the end. Between two of them
// the ledger does not change, and the set of crash states only grows.
func (h *history) cutPoints() []cutPoint {
	var all []cutPoint
	acked := 0
	for i := 0; ; i++ {
		for first := true; acked < len(h.acks) && h.acks[acked] == i; first = false {
			// A cut right after a sync shows nothing that one before it does not.
			if !first || i == 0 || h.ops[i-1].Mutates() {
				all = append(all, cutPoint{i, acked})
			}
			acked++
		}
		if i == len(h.ops) {
			return append(all, cutPoint{i, acked})
		}
		if !h.ops[i].Mutates() {
			all = append(all, cutPoint{i, acked})
		}
	}
}

// has reports whether the history has the point p.
func (h *history) has(p cutPoint) bool {
	if p.at < 0 || p.at > len(h.ops) {
		return false
	}
	before := 0
	if p.at > 0 {
		before = h.ackedAt(p.at - 1)
	}
	return before <= p.acked && p.acked <= h.ackedAt(p.at)
}

// frames calls visit for each of the points, which are in order, until it
// returns false.
func (h *history) frames(kind Model, cutPoints []cutPoint, visit func(f *frame) bool) {
	m := &model{kind: kind, ops: h.ops, durable: h.base.clone()}
	for i := 0; len(cutPoints) > 0; i++ {
		for len(cutPoints) > 0 && cutPoints[0].at == i {
			if !visit(m.frame(cutPoints[0])) {
				return
			}
			cutPoints = cutPoints[1:]
		}
		if len(cutPoints) > 0 {
			m.step(i)
		}
	}
}

// A checker makes one report.
type checker struct {
	h      *history
	verify func(s *snapshot, acked int) error
	seen   map[[sha256.Size + 8]byte]bool
	shown  map[string]bool
	Report
}

func (h *history) check(o Options, verify func(s *snapshot, acked int) error) Report {
	c := &checker{h: h, verify: verify, seen: map[[sha256.Size + 8]byte]bool{}, shown: map[string]bool{}}
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
	cutPoints := h.cutPoints()
	c.Cuts = len(cutPoints)

	// Counting has an end: there may be more states than atoms.
	most := max(o.Max, 1<<18/len(cutPoints))
	counts := make([]int, 0, len(cutPoints))
	h.frames(o.Model, cutPoints, func(f *frame) bool {
		n := f.count(most)
		c.AtLeast = c.AtLeast || n > most
		c.States += min(n, most)
		counts = append(counts, n)
		return true
	})
	c.Exhaustive = c.States <= o.Max && !c.AtLeast
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
	h.frames(o.Model, cutPoints, func(f *frame) bool {
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

// share divides n states among cuts: each gets the same number, or all it has.
func share(counts []int, n int, rng *rand.Rand) []int {
	order := rng.Perm(len(counts)) // for the remainder
	slices.SortStableFunc(order, func(a, b int) int { return counts[a] - counts[b] })
	quotas := make([]int, len(counts))
	for i, cutPoint := range order {
		quotas[cutPoint] = min(counts[cutPoint], (n+len(order)-i-1)/(len(order)-i))
		n -= quotas[cutPoint]
	}
	return quotas
}

// sample checks quota states: the simple ones first, then random ones.
func (c *checker) sample(f *frame, quota int, rng *rand.Rand) {
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

// state checks a state, unless one with the same key was checked. It returns
// false if no more can be checked.
func (c *checker) state(f *frame, v []int) bool {
	s, sums := f.snapshot(v)
	sum := s.key(sums)
	var key [sha256.Size + 8]byte
	binary.LittleEndian.PutUint64(key[copy(key[:], sum[:]):], uint64(f.acked))
	if c.seen[key] {
		return true
	}
	c.seen[key] = true
	c.Checked++
	err := c.verify(s, f.acked)
	if errors.Is(err, errNotMade) {
		c.Broken = err
		return false
	}
	if err != nil {
		c.Failed++
		// Most failures are one fault in many forms: a few are explained.
		if len(c.Failures) < 3 && c.Failed <= 20 {
			c.explain(f, v, err)
		}
	}
	return true
}

// explain reduces a failure to the losses that it needs.
func (c *checker) explain(f *frame, v []int, err error) {
	v = f.shrink(slices.Clone(v), func(w []int) bool {
		s, _ := f.snapshot(w)
		e := c.verify(s, f.acked)
		if e == nil || errors.Is(e, errNotMade) {
			return false
		}
		err = e
		return true
	})
	c.fail(f, v, err)
}

func (c *checker) fail(f *frame, v []int, err error) {
	failure := f.failure(v, err)
	// The same loss shows at many cuts.
	if lost := strings.Join(failure.Lost, "\n"); !c.shown[lost] || c.Failed <= 1 {
		c.shown[lost] = true
		c.Failures = append(c.Failures, failure)
	}
}

// only checks the state whose ID is o.Only.
func (c *checker) only(o Options) {
	kind, at, v, err := parseStateID(o.Only)
	if err != nil {
		c.Broken = err
		return
	}
	c.Cuts, c.Model = 1, kind
	c.Broken = fmt.Errorf("states: Options.Only: %q is the ID of a state of another history", o.Only)
	if !c.h.has(at) {
		return
	}
	c.h.frames(kind, []cutPoint{at}, func(f *frame) bool {
		for i, out := range v {
			if len(v) != len(f.change) || out >= outTorn+len(f.tears[i]) {
				return false
			}
		}
		if len(v) != len(f.change) || !f.valid(v) {
			return false
		}
		c.Broken = nil
		s, _ := f.snapshot(v)
		c.States, c.Checked = 1, 1
		switch err := c.verify(s, f.acked); {
		case errors.Is(err, errNotMade):
			c.Broken = err
		case err != nil:
			c.Failed = 1
			c.fail(f, v, err)
		}
		return false
	})
}

// last returns the file system at the end, without a crash.
func (h *history) last() *snapshot {
	m := &model{ops: h.ops, durable: h.base.clone()}
	for i := range h.ops {
		m.step(i)
	}
	for _, c := range m.pending {
		m.apply(m.durable, c)
	}
	return m.durable
}

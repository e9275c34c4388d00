package logstore_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/testseed"
	"github.com/stele-go/stele/logstore"
)

// The model test does to a store what users and accidents do to it, at random,
// and compares it with the reference after each step. A failing sequence is
// repeated with fewer and fewer steps, and the shortest that fails is printed.

var (
	modelSeed  = flag.Uint64("model.seed", 0, "seed of the model test (default: one by its name; drawn with -model.time, STELE_LONG=1 or STELE_SEED=random)")
	modelSteps = flag.String("model.steps", "", "numbers of the steps that are made, with commas (default: all)")
	modelRuns  = flag.Int("model.runs", 4, "sequences of the model test, without -model.time and STELE_LONG=1")
	modelTime  = flag.Duration("model.time", 0, "how long the model test draws seeds (default 10m with STELE_LONG=1)")
)

// longModel reports whether to run longer sequences, and many of them.
func longModel() bool { return os.Getenv("STELE_LONG") == "1" }

func TestModel(t *testing.T) {
	length, runs, budget := 60, *modelRuns, *modelTime
	if longModel() {
		length, budget = 300, cmp.Or(budget, 10*time.Minute)
	}
	if budget > 0 {
		runs = 3
	}
	seed, only := *modelSeed, *modelSeed != 0
	switch {
	case only:
	case budget > 0:
		seed = rand.Uint64()
	default:
		seed = testseed.Of(t)
	}
	for i, begin := 0, time.Now(); i < runs || time.Since(begin) < budget; i++ {
		if !runModel(t, seed, length) || only {
			return
		}
		seed = rand.New(rand.NewPCG(seed, 1)).Uint64()
	}
}

// The steps do not cancel a deletion that repeats one.
func TestModelCancelsNoOther(t *testing.T) {
	c := newModelCase(1, 0)
	q := relQuery{selector: []refMatcher{newMatcher("host", logstore.Equal, "a")}}
	c.steps = []step{
		appendStep{"", []streamSpec{{modelStreams[0], []entrySpec{{ago: time.Second, line: "line"}}}}},
		deleteStep{q: q},
		deleteStep{q: q, cancel: true},
	}
	if err := c.run(t, all(len(c.steps))); err != nil {
		t.Error(err)
	}
}

// runModel runs the steps of a seed, and reports whether all passed.
func runModel(t *testing.T, seed uint64, length int) bool {
	c := newModelCase(seed, length)
	keep := all(len(c.steps))
	if *modelSteps != "" {
		keep = nil
		for s := range strings.SplitSeq(*modelSteps, ",") {
			n, err := strconv.Atoi(s)
			if err != nil || n < 0 || n >= len(c.steps) {
				t.Fatalf("-model.steps: %q is no step of %d", s, len(c.steps))
			}
			keep = append(keep, n)
		}
	}
	failed := c.run(t, keep)
	if failed == nil {
		t.Logf("seed %d (%v): %d steps", seed, c, len(keep))
		return true
	}
	t.Errorf("seed %d (%v): %v", seed, c, failed)
	keep, failed = shrink(keep, failed, time.Minute, func(keep []int) *modelError { return c.run(t, keep) })
	t.Errorf("what is left of it fails with: %v\n%s", failed, c.print(keep))
	t.Errorf("to make these steps again: STELE_LONG=%s go test ./logstore -run 'TestModel$' -model.seed %d -model.steps %s", os.Getenv("STELE_LONG"), seed, numbers(keep))
	return false
}

func all(n int) []int {
	keep := make([]int, n)
	for i := range keep {
		keep[i] = i
	}
	return keep
}

func numbers(list []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ","), "[]")
}

// A modelCase is a kind of store and the steps to run on it.
type modelCase struct {
	o         logstore.Options
	mayDamage bool
	far       bool // segments are read as if they were far away
	limited   bool // tenants have limits
	steps     []step
	codecs    []logstore.Codec // of the store, by turns, each time it is opened
}

func newModelCase(seed uint64, length int) *modelCase {
	g := &generator{rng: rand.New(rand.NewPCG(seed, 0)), maxLine: 4 << 10}
	if g.one(3) {
		g.maxLine = 64 << 10
	}
	c := &modelCase{mayDamage: g.one(3), o: logstore.Options{
		Level:          pick(g, []durability.Level{durability.Power, durability.Kill}),
		LateWindow:     pick(g, []time.Duration{0, 0, -1, 10 * time.Minute}),
		FutureWindow:   pick(g, []time.Duration{0, 0, -1}),
		KeyWindow:      pick(g, []time.Duration{0, 0, 2 * time.Minute}),
		Retention:      pick(g, []time.Duration{0, 0, 2 * time.Hour, 30 * time.Minute}),
		MaxLine:        g.maxLine,
		Memory:         32 << 20,
		MinFree:        1,
		Workers:        1 + g.rng.IntN(3),
		BackgroundRate: -1,
	}}
	if c.far = g.one(3); c.far {
		logstore.ReadFar(&c.o)
	}
	c.limited = g.one(2)
	c.steps = g.steps(length)
	c.codecs = pick(g, [][]logstore.Codec{{logstore.CodecLines}, {logstore.CodecColumns}, {logstore.CodecLines, logstore.CodecColumns}})
	return c
}

func (c *modelCase) String() string {
	return fmt.Sprintf("level %v, late %v, future %v, retention %v, workers %d, lines of %d, damage %t, far %t, limits %t, codecs %v",
		c.o.Level, c.o.LateWindow, c.o.FutureWindow, c.o.Retention, c.o.Workers, c.o.MaxLine, c.mayDamage, c.far, c.limited, c.codecs)
}

func (c *modelCase) print(keep []int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "store(%v)\n", c)
	for _, i := range keep {
		fmt.Fprintf(&b, "%4d  %v\n", i, c.steps[i])
	}
	return b.String()
}

// A modelError reports a step after which store and reference differ.
type modelError struct {
	step int
	what string
	err  error
}

func (e *modelError) Error() string { return fmt.Sprintf("step %d, %.200s: %v", e.step, e.what, e.err) }
func (e *modelError) Unwrap() error { return e.err }

// run runs the steps that were not removed.
func (c *modelCase) run(t *testing.T, keep []int) (failed *modelError) {
	root := t.TempDir()
	defer os.RemoveAll(root) // a shrinking test makes many
	m := &model{modelCase: c, root: root, ctx: t.Context(), ref: newReference(c.o)}
	m.dir = m.newDir()
	m.clock.Store(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).UnixNano())
	if err := m.open(); err != nil {
		return &modelError{-1, "open", err}
	}
	defer func() {
		if m.store == nil {
			return
		}
		if err := m.store.Close(); err != nil && failed == nil {
			failed = &modelError{len(c.steps), "close", err}
		}
	}()
	for _, i := range keep {
		err := c.steps[i].run(m)
		if err == nil {
			err = m.compareAll()
		}
		if err != nil {
			return &modelError{i, c.steps[i].String(), err}
		}
	}
	return nil
}

// A model is a store and its reference.
type model struct {
	*modelCase
	root, dir string
	lives     int // directories that were made
	opens     int
	ctx       context.Context
	clock     modelClock
	store     *logstore.Store
	ref       *reference
	damaged   bool
	names     modelNames
}

// A modelClock counts the time that passes, in nanoseconds. wrong is added to
// what it tells.
type modelClock struct {
	atomic.Int64
	wrong atomic.Int64
}

func (c *modelClock) Now() time.Time         { return time.Unix(0, c.Load()+c.wrong.Load()) }
func (c *modelClock) Elapsed() time.Duration { return time.Duration(c.Load()) }

func (m *model) newDir() string { return filepath.Join(m.root, fmt.Sprintf("store-%d", m.lives)) }

// open opens the store, queries it during replay, and waits until it is ready.
func (m *model) open() (err error) {
	m.store = nil
	o := m.o
	o.Clock = &m.clock
	o.Codec = m.codecs[m.opens%len(m.codecs)]
	m.opens++
	if m.limited {
		o.Tenants = m.ref.limits.options
	}
	s, err := logstore.Open(m.dir, o)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	m.store = s
	for _, e := range s.Report().Events {
		if e.Kind == logstore.EventMissing || e.Kind == logstore.EventGap {
			return fmt.Errorf("nothing was deleted: %v", e) // what is damaged is in quarantine
		}
	}
	// Replay tells the store the time, so a query may have begun with more doubt than
	// there is when it ends.
	ahead := s.Stats().ClockAhead
	m.ref.doubt = func() time.Duration { return ahead }
	early := newReference(m.ref.o)
	for _, e := range m.ref.entries {
		e.unsure = true
		early.entries = append(early.entries, e)
	}
	if err := m.explainAll(early); err != nil && !errors.Is(err, logstore.ErrReplaying) {
		return fmt.Errorf("while it replays: %w", err)
	}
	select {
	case <-s.Ready():
	case <-time.After(2 * time.Minute):
		return errors.New("it does not get ready")
	}
	m.ref.doubt = func() time.Duration { return s.Stats().ClockAhead }
	return nil
}

// tolerates reports whether err is about bytes that the test has damaged.
func (m *model) tolerates(err error) bool {
	var corrupt *logstore.CorruptError
	return m.damaged && errors.As(err, &corrupt)
}

// explain queries the store and calls the function explain on the results.
func (m *model) explain(want []refEntry, q refQuery) (missing []int, err error) {
	built, err := q.build()
	if err != nil {
		return nil, err
	}
	var found []refEntry
	var last error
	for f, err := range m.store.Query(m.ctx, built) {
		switch {
		case last != nil:
			return nil, fmt.Errorf("the query goes on after %w", last)
		case m.tolerates(err):
		case err != nil:
			last = err
		default:
			found = append(found, entryOf(f))
		}
	}
	if last != nil && !errors.Is(last, logstore.ErrReplaying) {
		return nil, fmt.Errorf("query: %w", last)
	}
	if err := m.checkExpired(q.tenant, found); err != nil {
		return nil, err
	}
	now := m.clock.Load()
	missing, err = explain(want, func(e refEntry) bool { return m.ref.mayBeMissing(e, now) }, found, q.limit)
	if err != nil {
		return nil, err
	}
	return missing, last
}

// compare runs a query on the store and on the reference.
func (m *model) compare(q refQuery) error {
	_, err := m.explain(m.ref.find(q), q)
	return err
}

// explainAll explains all entries of each tenant by those of a reference.
func (m *model) explainAll(ref *reference) error {
	for _, tenant := range modelTenants {
		q := refQuery{tenant: tenant}
		if _, err := m.explain(ref.find(q), q); err != nil {
			return fmt.Errorf("tenant %q: %w", tenant, err)
		}
	}
	return nil
}

// compareAll compares all entries, and forgets the lost ones: they must not
// come back. Damaged ones are not forgotten: their lines cannot be read, but
// the index counts them until the segment is salvaged.
func (m *model) compareAll() error {
	for _, tenant := range append(modelTenants, "another") {
		if err := m.compareTenant(refQuery{tenant: tenant}); err != nil {
			return fmt.Errorf("of all entries of tenant %q: %w", tenant, err)
		}
	}
	return m.checkTenants()
}

// checkTenants compares the list of tenants with the reference, which does not know
// what was deleted and is still there.
func (m *model) checkTenants() error {
	list, err := m.store.Tenants(m.ctx, "", 100)
	if m.damaged && err != nil {
		return nil
	} else if err != nil {
		return err
	}
	now := m.clock.Load()
	least := map[string]logstore.TenantInfo{}
	for _, e := range m.ref.entries {
		if e.gone || m.ref.mayBeMissing(e, now) {
			continue
		}
		t, known := least[e.tenant]
		if !known {
			t.MinTime, t.MaxTime, t.Streams = e.time, e.time, 1
		}
		t.MinTime, t.MaxTime = min(t.MinTime, e.time), max(t.MaxTime, e.time)
		t.Entries++
		t.Lines += int64(len(e.line)) + encodedBytes(e.metadata)
		least[e.tenant] = t
	}
	for _, got := range list {
		want := least[got.Name]
		delete(least, got.Name)
		if got.Entries < want.Entries || got.Lines < want.Lines || got.SegmentBytes < 0 || got.Streams < want.Streams ||
			want.Entries > 0 && (got.MinTime > want.MinTime || got.MaxTime < want.MaxTime) {
			return fmt.Errorf("tenants: %+v, want at least %+v", got, want)
		}
	}
	if len(least) > 0 {
		return fmt.Errorf("tenants: %v, and not %v", list, least)
	}
	return nil
}

func (m *model) compareTenant(q refQuery) error {
	want := m.ref.find(q)
	missing, err := m.explain(want, q)
	if err != nil {
		return err
	}
	missing = slices.DeleteFunc(missing, func(i int) bool { return want[i].unsure })
	if len(missing) > 0 {
		m.ref.forget(want, missing)
	}
	return nil
}

package logstore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/logstore"
)

// A step is one operation on the store and on the reference. Its times are
// relative to the clock, so that it makes sense whichever steps were removed
// before it.
type step interface {
	fmt.Stringer
	run(m *model) error
}

type (
	streamSpec struct {
		labels  logstore.Labels
		entries []entrySpec
	}
	entrySpec struct {
		ago      time.Duration
		line     string
		metadata logstore.Labels
	}
)

func (m *model) batch(spec []streamSpec) logstore.Batch {
	now := m.clock.Load()
	var b logstore.Batch
	for _, s := range spec {
		stream := logstore.Stream{Labels: s.labels}
		for _, e := range s.entries {
			stream.Entries = append(stream.Entries, logstore.Entry{Time: now - int64(e.ago), Line: []byte(e.line), Metadata: e.metadata})
		}
		b = append(b, stream)
	}
	return b
}

// A relQuery is a query with a range relative to the clock.
type relQuery struct {
	tenant         string
	selector       []refMatcher
	filter         *refFilter
	fromAgo, toAgo *time.Duration
	order          logstore.Order
	limit          int
}

func (m *model) query(r relQuery) refQuery {
	q := refQuery{tenant: r.tenant, selector: r.selector, filter: r.filter, order: r.order, limit: r.limit}
	if r.fromAgo != nil {
		q.from = m.clock.Load() - int64(*r.fromAgo)
	}
	if r.toAgo != nil {
		q.to = m.clock.Load() - int64(*r.toAgo)
	}
	return q
}

func (r relQuery) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q %v", r.tenant, r.selector)
	if r.filter != nil {
		fmt.Fprintf(&b, " | %v", r.filter)
	}
	if r.fromAgo != nil {
		fmt.Fprintf(&b, ", from %v ago", *r.fromAgo)
	}
	if r.toAgo != nil {
		fmt.Fprintf(&b, ", to %v ago", *r.toAgo)
	}
	return b.String() + fmt.Sprintf(", %s, limit %d", [...]string{"forward", "backward"}[r.order], r.limit)
}

// append appends a batch of a tenant.
func (m *model) append(tenant string, b logstore.Batch) error {
	if tenant == "" {
		return m.store.Append(m.ctx, b)
	}
	_, err := m.store.AppendWith(m.ctx, b, logstore.AppendOptions{Tenant: tenant})
	return err
}

type appendStep struct {
	tenant string
	spec   []streamSpec
}

func (s appendStep) String() string { return fmt.Sprintf("append(%q, %v)", s.tenant, s.spec) }

func (s appendStep) run(m *model) error {
	b := m.batch(s.spec)
	return m.ref.append(s.tenant, b, m.append(s.tenant, b), m.clock.Load())
}

type queryStep struct{ q relQuery }

func (s queryStep) String() string { return fmt.Sprintf("query(%v)", s.q) }

func (s queryStep) run(m *model) error { return m.compare(m.query(s.q)) }

type countStep struct {
	q    relQuery
	step time.Duration
}

func (s countStep) String() string { return fmt.Sprintf("count(%v, step %v)", s.q, s.step) }

func (s countStep) run(m *model) error {
	q := m.query(s.q)
	built, err := q.build()
	if err != nil {
		return err
	}
	got, err := m.store.Count(m.ctx, built, s.step)
	if err != nil && !m.tolerates(err) {
		return fmt.Errorf("count: %w", err)
	}
	return m.ref.checkCount(q, m.ref.count(q, s.step, 0, m.clock.Load()), got)
}

type aggregateStep struct {
	q relQuery
	a logstore.Aggregation
}

func (s aggregateStep) String() string { return fmt.Sprintf("aggregate(%v, %+v)", s.q, s.a) }

func (s aggregateStep) run(m *model) error {
	q := m.query(s.q)
	built, err := q.build()
	if err != nil {
		return err
	}
	got, err := m.store.Aggregate(m.ctx, built, s.a)
	if err != nil && !m.tolerates(err) {
		return fmt.Errorf("aggregate: %w", err)
	}
	return m.ref.checkCount(q, m.ref.aggregate(q, s.a, m.clock.Load()), got)
}

type seriesStep struct {
	q    relQuery
	name string
}

func (s seriesStep) String() string { return fmt.Sprintf("series(%v, values of %s)", s.q, s.name) }

func (s seriesStep) run(m *model) error {
	q := m.query(s.q)
	q.filter = nil
	built, err := q.build()
	if err != nil {
		return err
	}
	series, names, values := m.ref.series(q, s.name, m.clock.Load())
	gotSeries, err := pagedSeries(m, built)
	if err = checkListed(m, series, gotSeries, q.limit, compareLabels, err); err != nil {
		return fmt.Errorf("series: %w", err)
	}
	gotNames, err := m.store.Labels(m.ctx, built)
	if err = checkListed(m, names, gotNames, q.limit, strings.Compare, err); err != nil {
		return fmt.Errorf("names: %w", err)
	}
	gotValues, err := m.store.LabelValues(m.ctx, s.name, built)
	if err = checkListed(m, values, gotValues, q.limit, strings.Compare, err); err != nil {
		return fmt.Errorf("values of %s: %w", s.name, err)
	}
	return nil
}

// pagedSeries asks for the series of q in two pages.
func pagedSeries(m *model, q logstore.Query) ([]logstore.Labels, error) {
	if q.Limit < 2 {
		return m.store.Series(m.ctx, q)
	}
	limit := q.Limit
	q.Limit = limit / 2
	list, err := m.store.Series(m.ctx, q)
	if !errors.Is(err, logstore.ErrMore) {
		return list, err
	}
	q.After.Labels, q.Limit = list[len(list)-1], limit-q.Limit
	rest, err := m.store.Series(m.ctx, q)
	return append(list, rest...), err
}

// checkListed compares a list of at most limit items with what it may have, and
// ErrMore with the limit.
func checkListed[T comparable](m *model, want choice[T], got []T, limit int, compare func(a, b T) int, err error) error {
	more := errors.Is(err, logstore.ErrMore)
	if err != nil && !more && !m.tolerates(err) {
		return err
	}
	if limit > 0 && len(got) > limit || more && (limit == 0 || len(got) != limit || len(want.may) <= limit) {
		return fmt.Errorf("%v with limit %d, %v", got, limit, err)
	}
	if more { // those behind the last are not asked for
		for v := range want.must {
			if compare(v, got[limit-1]) > 0 {
				delete(want.must, v)
			}
		}
	}
	return want.check(got, compare)
}

// A stopStep ends a query after some entries.
type stopStep struct {
	q     relQuery
	after int
}

func (s stopStep) String() string { return fmt.Sprintf("query(%v), stopped after %d", s.q, s.after) }

func (s stopStep) run(m *model) error {
	q := m.query(s.q)
	built, err := q.build()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(m.ctx)
	defer cancel()
	n := 0
	for _, err := range m.store.Query(ctx, built) {
		if err != nil && !m.tolerates(err) {
			return err
		}
		if n++; n > s.after {
			break
		}
	}
	cancel()
	// A query returns the error of its context, unless it ended before.
	for _, err := range m.store.Query(ctx, built) {
		if err != nil && !errors.Is(err, context.Canceled) && !m.tolerates(err) {
			return err
		}
	}
	return nil
}

// A deleteStep deletes what a query selects: of that the lines that meet a condition. It may
// cancel that at once.
type deleteStep struct {
	q      relQuery
	lines  []logstore.LineMatch
	cancel bool
}

func (s deleteStep) String() string {
	return fmt.Sprintf("delete(%v, lines %v, cancel %t)", s.q, s.lines, s.cancel)
}

func (s deleteStep) run(m *model) error {
	q := m.query(s.q)
	q.filter = nil
	built, err := q.build()
	if err != nil {
		return err
	}
	d := logstore.Deletion{Tenant: built.Tenant, Selector: built.Selector, Lines: s.lines, From: built.From, To: built.To}
	repeats := m.mayRepeat(d)
	pos, err := m.store.Delete(m.ctx, d)
	if errors.Is(err, fs.ErrInvalid) && (d.To != 0 && d.To <= d.From || len(d.Selector)+len(d.Lines) == 0) {
		return nil
	} else if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	if s.cancel && !repeats {
		if cancelled, err := m.cancel(d, pos); cancelled || err != nil {
			return err
		}
	}
	m.ref.delete(q, s.lines)
	return nil
}

// mayRepeat reports whether a deletion may be one that is pending: to cancel it would take
// that back too, which the reference does not know.
func (m *model) mayRepeat(d logstore.Deletion) bool {
	return slices.ContainsFunc(m.store.Deletions(), func(p logstore.PendingDeletion) bool {
		return p.Tenant == d.Tenant && p.From == d.From && p.To == d.To
	})
}

// cancel cancels a deletion and reports whether it did. It cannot once a compaction has
// removed some of the entries, or has found that no segment holds any.
func (m *model) cancel(d logstore.Deletion, pos uint64) (cancelled bool, err error) {
	err = m.store.CancelDeletion(m.ctx, d.Tenant, pos)
	if err == nil {
		if err = m.store.CancelDeletion(m.ctx, d.Tenant, pos); errors.Is(err, logstore.ErrNoDeletion) {
			return true, nil
		}
		return false, fmt.Errorf("cancel a delete once more: %v; want %w", err, logstore.ErrNoDeletion)
	}
	if !errors.Is(err, logstore.ErrDeletionApplied) && !errors.Is(err, logstore.ErrNoDeletion) {
		return false, fmt.Errorf("cancel a delete: %w", err)
	}
	for _, p := range m.store.Deletions() {
		if p.Position == pos && !p.Applied {
			return false, fmt.Errorf("a delete that can be cancelled was not: %w", err)
		}
	}
	return false, nil
}

type sealStep struct{}

func (sealStep) String() string { return "seal()" }

func (sealStep) run(m *model) error {
	return m.store.Seal(m.ctx)
}

type compactStep struct{}

func (compactStep) String() string { return "compact()" }

func (compactStep) run(m *model) error {
	return m.store.Compact(m.ctx)
}

type recodeStep struct{}

func (recodeStep) String() string { return "recode()" }

func (recodeStep) run(m *model) error { return m.store.Recode(m.ctx, nil) }

type advanceStep struct{ by time.Duration }

func (s advanceStep) String() string { return fmt.Sprintf("advance(%v)", s.by) }

func (s advanceStep) run(m *model) error {
	m.clock.Add(int64(s.by))
	return nil
}

// A jumpStep has the clock wrong for a moment, in which the store may be opened.
// Nothing that it would keep may go.
type jumpStep struct {
	by     time.Duration
	reopen bool
}

func (s jumpStep) String() string { return fmt.Sprintf("jump(%v, reopen %t)", s.by, s.reopen) }

func (s jumpStep) run(m *model) (err error) {
	m.clock.wrong.Store(int64(s.by))
	defer m.clock.wrong.Store(0)
	if s.reopen {
		err = reopenStep{}.run(m)
	}
	if err == nil {
		err = compactStep{}.run(m)
	}
	return err
}

type reopenStep struct{}

func (reopenStep) String() string { return "close(); open()" }

func (reopenStep) run(m *model) error {
	if err := m.store.Close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return m.open()
}

// A crashStep continues with a copy of the directory, made while the store is
// open, as kill -9 would leave it.
type crashStep struct{}

func (crashStep) String() string { return "crash(); open()" }

func (crashStep) run(m *model) error {
	m.lives++
	copied := m.newDir()
	if err := copyQuiet(copied, m.dir); err != nil {
		return err
	}
	err := m.store.Close()
	if err != nil {
		return fmt.Errorf("close: %w", err)
	}
	m.ref.crash()
	old := m.dir
	m.dir = copied
	return errors.Join(m.open(), os.RemoveAll(old))
}

// A damageStep flips one bit of a segment.
type damageStep struct {
	segment, place int // in thousandths of their number
	bit            uint
}

func (s damageStep) String() string {
	return fmt.Sprintf("damage(segment %d, place %d, bit %d)", s.segment, s.place, s.bit)
}

func (s damageStep) run(m *model) error {
	if !m.mayDamage {
		return nil
	}
	m.names.batches = nil // what the segment remembers may be lost with it
	return m.damage(s)
}

// A tailStep runs Tail while batches are appended.
type tailStep struct {
	q       relQuery
	specs   [][]streamSpec
	tenants []string // of the batches
}

func (s tailStep) String() string {
	return fmt.Sprintf("tail(%v) of append(%q, %v)", s.q, s.tenants, s.specs)
}

func (s tailStep) run(m *model) error {
	q := m.query(s.q)
	q.from, q.to, q.order, q.limit = 0, 0, logstore.Forward, 0
	built, err := q.build()
	if err != nil {
		return err
	}
	t := begin(m.ctx, m.store, func(ctx context.Context, take func(logstore.Result, error)) {
		for f, err := range m.store.Tail(ctx, logstore.Query{Tenant: q.tenant, Selector: built.Selector, Filter: built.Filter}) {
			take(f, err)
		}
	})
	defer t.cancel()
	from := len(m.ref.entries)
	for i, spec := range s.specs {
		b, tenant := m.batch(spec), s.tenants[i]
		if err := m.ref.append(tenant, b, m.append(tenant, b), m.clock.Load()); err != nil {
			return err
		}
	}
	var want []refEntry
	for _, e := range m.ref.entries[from:] {
		if e.tenant == q.tenant && q.selects(e.labels) && (q.filter == nil || q.filter.match(e.line, e.metadata)) {
			want = append(want, e)
		}
	}
	if err := t.end(want); err != nil {
		return fmt.Errorf("tail: %w", err)
	}
	return nil
}

// A parallelStep appends from several goroutines, each to streams of its own,
// and seals, compacts and queries meanwhile.
type parallelStep struct {
	of            [][][]streamSpec // goroutine, batch
	tenants       []string         // of each goroutine
	seal, compact bool
}

func (s parallelStep) String() string {
	return fmt.Sprintf("parallel(%q, %v, seal %t, compact %t)", s.tenants, s.of, s.seal, s.compact)
}

func (s parallelStep) run(m *model) error {
	now := m.clock.Load()
	// Entries that queries may find meanwhile, in the order of all streams.
	during := newReference(m.ref.o)
	during.entries = append(during.entries, m.ref.entries...)
	beside := map[refStream]bool{}
	batches := make([][]logstore.Batch, len(s.of))
	said := make([][]error, len(s.of))
	for g, specs := range s.of {
		for _, spec := range specs {
			b := m.batch(spec)
			batches[g] = append(batches[g], b)
			for _, st := range b {
				beside[refStream{s.tenants[g], st.Labels}] = true
				for _, e := range st.Entries {
					during.entries = append(during.entries, refEntry{tenant: s.tenants[g], labels: st.Labels, time: e.Time, line: string(e.Line), metadata: e.Metadata, unsure: true})
				}
			}
		}
	}
	var appenders, others sync.WaitGroup
	var done atomic.Bool
	errs := make([]error, 3)
	for g := range batches {
		appenders.Go(func() {
			for _, b := range batches[g] {
				said[g] = append(said[g], m.append(s.tenants[g], b))
			}
		})
	}
	others.Go(func() {
		for again := true; again && errs[0] == nil; {
			again = !done.Load()
			errs[0] = m.explainAll(during)
		}
	})
	if s.seal {
		others.Go(func() { errs[1] = m.store.Seal(m.ctx) })
	}
	if s.compact {
		others.Go(func() { errs[2] = m.store.Compact(m.ctx) })
	}
	appenders.Wait()
	done.Store(true)
	others.Wait()
	m.ref.beside = beside
	defer func() { m.ref.beside = nil }()
	for g := range batches {
		for i, b := range batches[g] {
			if err := m.ref.append(s.tenants[g], b, said[g][i], now); err != nil {
				return fmt.Errorf("goroutine %d, batch %d: %w", g, i, err)
			}
		}
	}
	return errors.Join(errs...)
}

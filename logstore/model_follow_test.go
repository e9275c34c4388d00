package logstore_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stele-go/stele/logstore"
)

// A followStep follows a query while batches are appended, memtables sealed, segments
// compacted and entries deleted. Each entry must come once.
type followStep struct {
	q             relQuery
	specs         [][]streamSpec
	tenants       []string // of the batches
	gone          relQuery // deleted behind the first batch, if delete is set
	delete        bool
	seal, compact bool // behind each batch
}

func (s followStep) String() string {
	return fmt.Sprintf("follow(%v) of append(%q, %v), seal %t, compact %t, delete %t of %v", s.q, s.tenants, s.specs, s.seal, s.compact, s.delete, s.gone)
}

func (s followStep) run(m *model) error {
	q := m.query(s.q)
	q.limit = 0
	built, err := q.build()
	if err != nil {
		return err
	}
	want := m.ref.find(q)
	t := begin(m.ctx, m.store, func(ctx context.Context, take func(logstore.Result, error)) {
		for f, err := range m.store.Follow(ctx, built) {
			if !m.tolerates(err) {
				take(f, err)
			}
		}
	})
	defer func() {
		t.cancel()
		<-t.done
	}()
	for i, spec := range s.specs {
		from := len(m.ref.entries)
		b, tenant := m.batch(spec), s.tenants[i]
		if err := m.ref.append(tenant, b, m.append(tenant, b), m.clock.Load()); err != nil {
			return err
		}
		for _, e := range m.ref.entries[from:] {
			if e.tenant == q.tenant && e.time >= q.from && e.time < q.end() && q.selects(e.labels) && (q.filter == nil || q.filter.match(e.line, e.metadata)) {
				want = append(want, e)
			}
		}
		if err := s.disturb(m, i, want); err != nil {
			return err
		}
		// What comes twice comes before what is appended later.
		if err := t.until(m, want); err != nil {
			return fmt.Errorf("follow, batch %d: %w", i, err)
		}
	}
	return nil
}

// disturb does to the store what the follower must not notice. It notes in want what
// is deleted.
func (s followStep) disturb(m *model, batch int, want []refEntry) error {
	if s.delete && batch == 0 {
		gone := m.query(s.gone)
		for i, e := range want {
			want[i].unsure = e.unsure || e.tenant == gone.tenant && e.time >= gone.from && e.time < gone.end() && gone.selects(e.labels)
		}
		if err := (deleteStep{q: s.gone}).run(m); err != nil {
			return err
		}
	}
	if s.seal {
		if err := m.store.Seal(m.ctx); err != nil {
			return err
		}
	}
	if s.compact {
		return m.store.Compact(m.ctx)
	}
	return nil
}

// until waits until what has come is what is wanted: in this order, unless the follower
// was so slow that it has read some again, in the order of time.
func (t *follower) until(m *model, want []refEntry) error {
	now := m.clock.Load()
	missing := func(e refEntry) bool { return m.ref.mayBeMissing(e, now) }
	for begin := time.Now(); ; time.Sleep(100 * time.Microsecond) {
		t.mu.Lock()
		_, err := explain(want, missing, t.found, 0)
		if err != nil {
			_, err = explain(byTime(want), missing, byTime(t.found), 0)
		}
		last, late := t.err, time.Since(begin) > 2*time.Minute
		t.mu.Unlock()
		switch {
		case m.damaged && errors.Is(last, logstore.ErrIncomplete):
			return nil // a salvage is not done yet, and ends it
		case last != nil:
			return fmt.Errorf("it ended with %w", last)
		case err == nil || late:
			return err
		}
	}
}

// byTime returns the entries in an order of their contents.
func byTime(list []refEntry) []refEntry {
	return slices.SortedFunc(slices.Values(list), func(a, b refEntry) int {
		return cmp.Or(cmp.Compare(a.time, b.time), compareLabels(a.labels, b.labels), cmp.Compare(a.line, b.line), compareLabels(a.metadata, b.metadata))
	})
}

func (g *generator) follow() followStep {
	n := 1 + g.rng.IntN(4)
	return followStep{g.query(), g.batches(n), g.tenants(n), g.query(), g.one(3), g.one(2), g.one(3)}
}

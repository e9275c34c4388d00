package logstore_test

import (
	"fmt"
	"math/rand/v2"
)

// A pagesStep runs a query by pages of random sizes, each behind the cursor of
// the last entry of the one before, and seals and compacts in between.
type pagesStep struct {
	q    relQuery
	seed uint64
}

func (s pagesStep) String() string { return fmt.Sprintf("pages(%v, seed %d)", s.q, s.seed) }

func (s pagesStep) run(m *model) error {
	rnd := rand.New(rand.NewPCG(s.seed, 1))
	q := m.query(s.q)
	built, err := q.build()
	if err != nil {
		return err
	}
	want := m.ref.find(q)
	limit := q.limit
	if limit == 0 {
		limit = len(want) + 1
	}
	built.Cursors = true
	var found []refEntry
	for len(found) < limit {
		built.Limit = min(1+rnd.IntN(1+len(want)/2), limit-len(found))
		n := 0
		for f, err := range m.store.Query(m.ctx, built) {
			switch {
			case m.tolerates(err):
			case err != nil:
				return fmt.Errorf("behind %v: %w", built.After, err)
			default:
				found = append(found, entryOf(f))
				built.After = f.Cursor()
				n++
			}
		}
		if n == 0 {
			break
		}
		switch rnd.IntN(8) {
		case 0:
			err = sealStep{}.run(m)
		case 1:
			err = compactStep{}.run(m)
		}
		if err != nil && !m.tolerates(err) {
			return fmt.Errorf("between pages: %w", err)
		}
	}
	if m.damaged {
		return nil // an entry may be lost between two pages, or its position
	}
	now := m.clock.Load()
	_, err = explain(want, func(e refEntry) bool { return m.ref.mayBeMissing(e, now) }, found, q.limit)
	return err
}

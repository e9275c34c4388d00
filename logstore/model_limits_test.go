package logstore_test

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stele-go/stele/logstore"
)

// modelLimits are the limits of the tenants, which steps change while the store runs.
type modelLimits struct {
	mu sync.Mutex
	of map[string]logstore.TenantOptions
	// shortest is the shortest Retention that a tenant has had.
	shortest map[string]time.Duration
}

func newModelLimits() *modelLimits {
	return &modelLimits{of: map[string]logstore.TenantOptions{}, shortest: map[string]time.Duration{}}
}

// options are Options.Tenants.
func (l *modelLimits) options(tenant string) logstore.TenantOptions {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of[tenant]
}

func (l *modelLimits) set(tenant string, o logstore.TenantOptions) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of[tenant] = o
	if was, had := l.shortest[tenant]; o.Retention > 0 && (!had || o.Retention < was) {
		l.shortest[tenant] = o.Retention
	}
}

// expired reports whether a tenant has had a Retention of its own, so that its entries
// may be on the disk though no query finds them.
func (l *modelLimits) expired(tenant string) (shortest time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	shortest, ok = l.shortest[tenant]
	return shortest, ok
}

// A limitStep changes the limits of a tenant.
type limitStep struct {
	tenant string
	limits logstore.TenantOptions
}

func (s limitStep) String() string {
	return fmt.Sprintf("limits(%q, streams %d, retention %v)", s.tenant, s.limits.MaxStreams, s.limits.Retention)
}

func (s limitStep) run(m *model) error {
	if m.limited {
		m.ref.limits.set(s.tenant, s.limits)
		m.ref.divided = m.ref.divided || s.limits.Retention > 0
	}
	return nil
}

func (g *generator) limits() limitStep {
	return limitStep{pick(g, modelTenants), logstore.TenantOptions{
		MaxStreams: pick(g, []int{0, 0, 0, 3}),
		Retention:  pick(g, []time.Duration{0, 30 * time.Minute, 30 * time.Minute, 2 * time.Hour}),
	}}
}

// keep returns how long entries of a tenant are kept; 0 is forever. own reports that
// this is by its own limit.
func (r *reference) keep(tenant string) (keep time.Duration, own bool) {
	keep = r.o.Retention
	if t := r.limits.options(tenant).Retention; t > 0 && (keep == 0 || t < keep) {
		return t, true
	}
	return keep, false
}

// mayRefuseStream reports whether the limit of the tenant may be why a stream is
// refused: it has had so many, or may have by what runs beside.
func (r *reference) mayRefuseStream(tenant string, why error) bool {
	most := r.limits.options(tenant).MaxStreams
	if most == 0 || !errors.Is(why, logstore.ErrTooManyStreams) {
		return false
	}
	for st := range r.newest {
		if st.tenant == tenant {
			most--
		}
	}
	for st := range r.beside {
		if _, had := r.newest[st]; !had && st.tenant == tenant {
			most--
		}
	}
	return most <= 0
}

// checkExpired returns an error for an entry that has expired by the limit of its
// tenant, by the time that the store trusts.
func (m *model) checkExpired(tenant string, found []refEntry) error {
	keep, own := m.ref.keep(tenant)
	if !own {
		return nil
	}
	const slack = time.Minute // of the trusted clock
	from := m.clock.Now().Add(-m.ref.doubt() - keep - slack).UnixNano()
	for _, e := range found {
		if e.time < from {
			return fmt.Errorf("%v has expired: the tenant keeps entries for %v", e, keep)
		}
	}
	return nil
}

package logstore

import (
	"cmp"
	"fmt"
	"time"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/logstore/internal/catalog"
)

// TenantOptions are the limits of one tenant, see Options.Tenants. They narrow what
// Options allow to all tenants together.
type TenantOptions struct {
	// MaxStreams is how many streams of the tenant may get entries within an hour,
	// or half an hour less. The entries of a further stream are refused
	// (ErrTooManyStreams), unless the tenant has it in memory. 0 is no limit. One that
	// is set while the store runs counts the streams that get an entry from then on.
	MaxStreams int
	// MaxSources is how many sources of the tenant (AppendOptions.Source) the store
	// remembers, of the 65,536 or less of all tenants, see ErrTooManySources: so that
	// one tenant leaves some to the others. The batches of a further source are refused
	// with that error. Only ForgetSource forgets one: a lower limit than the tenant has
	// refuses new ones only. 0 is no limit.
	MaxSources int
	// Retention is how long entries of the tenant are kept, if that is shorter than
	// Options.Retention. Older ones are refused, and queries do not find them. As
	// tenants share segments, they leave the disk later: when their segment is
	// compacted; when all entries in it have expired, each by the limit of its tenant;
	// when a quarter of its bytes belong to tenants of which all entries there have
	// expired; or when a tenant's newest entry there is twice as old as its Retention.
	// So an entry is gone at the latest when it is about three times as old as Retention.
	// Compact removes all that have expired at once. Until then they count in Tenants,
	// and a longer Retention brings them back. A clock that jumps ahead deletes
	// nothing, see Options.Retention. 0 is Options.Retention.
	Retention time.Duration
}

// check returns an error for the first wrong field.
func (o *TenantOptions) check(tenant string) error {
	name := fmt.Sprintf("logstore: Options.Tenants(%q).", tenant)
	return cmp.Or(setting.AtLeast(name+"MaxStreams", o.MaxStreams, 0), setting.AtLeast(name+"MaxSources", o.MaxSources, 0), setting.AtLeast(name+"Retention", o.Retention, 0))
}

// tenantOptions returns the limits of a tenant, which are checked.
func (s *Store) tenantOptions(tenant string) (o TenantOptions, err error) {
	if s.o.Tenants == nil {
		return o, nil
	}
	defer catchPanicOf("Options.Tenants", &err)
	o = s.o.Tenants(tenant)
	return o, o.check(tenant)
}

// retentionOf returns how long entries of a tenant are kept; 0 is forever. own
// reports that this is by its own limit.
func (o *Options) retentionOf(t *TenantOptions) (keep time.Duration, own bool) {
	if t.Retention > 0 && (o.Retention == 0 || t.Retention < o.Retention) {
		return t.Retention, true
	}
	return o.Retention, false
}

// catalogLimits returns by which limits the catalog deletes what a tenant has; nil
// where no tenant has limits of its own.
func (s *Store) catalogLimits() func(tenant string) (catalog.TenantLimits, error) {
	if s.o.Tenants == nil {
		return nil
	}
	return func(tenant string) (l catalog.TenantLimits, err error) {
		limits, err := s.tenantOptions(tenant)
		if err != nil {
			return l, err
		}
		if keep, own := s.o.retentionOf(&limits); own {
			l.Retention = keep
		}
		return l, nil
	}
}

// enterTenant returns the tenant of an append, which leaves it, if it may have
// entries.
func (s *Store) enterTenant(name string, half uint32) (*tenant, error) {
	if name == "" {
		return s.tenants.enter(name), nil
	}
	t := s.tenants.find(name)
	if t == nil || t.counted.Load() != half {
		known := t != nil && t.streams.Load() > 0
		if !s.tenants.census.admit(name, 0, known, half) {
			return nil, fmt.Errorf("%w: %q, while %d get entries; want at most %d within an hour (Options.MaxTenants)",
				ErrTooManyTenants, name, s.tenants.census.streams(half), s.o.MaxTenants)
		}
	}
	t = s.tenants.enter(name)
	t.counted.Store(half)
	return t, nil
}

// replayedTenant returns the tenant of a record that is replayed, whose caller
// leaves it. Its limits refuse nothing that was kept, and count it.
func (s *Store) replayedTenant(name string, half uint32) *tenant {
	t := s.tenants.enter(name)
	if t.counted.Load() == half {
		return t
	}
	if name != "" {
		s.tenants.census.admit(name, 0, true, half)
	}
	if limits, err := s.tenantOptions(name); err == nil {
		t.limit(limits.MaxStreams)
	}
	t.counted.Store(half)
	return t
}

// limit makes the census of the tenant admit at most so many streams; 0 is no
// limit.
func (t *tenant) limit(streams int) {
	c := t.census.Load()
	switch {
	case streams > 0 && c == nil:
		t.census.CompareAndSwap(nil, newCensus(streams))
	case streams > 0:
		c.most.Store(int64(streams))
	case c != nil:
		t.census.Store(nil)
	}
}

// admits returns 0 if the limits let a stream of the tenant have an entry, which it
// gets, or why they do not.
func (s *Store) admits(st *stream, of *tenant, l Labels, half uint32) refusal {
	if c := of.census.Load(); c != nil && !c.admit(l.enc, 0, st != nil, half) {
		return refusedTenantStreams
	}
	if !s.census.admit(l.enc, of.salt, st != nil, half) {
		return refusedStreams
	}
	if st != nil {
		st.counted.Store(half)
	}
	return 0
}

// keptFrom returns the time of the oldest entry of a tenant that queries find, or 0.
func (s *Store) keptFrom(tenant string) (int64, error) {
	if s.o.Tenants == nil || s.readOnly {
		return 0, nil
	}
	limits, err := s.tenantOptions(tenant)
	keep, own := s.o.retentionOf(&limits)
	if err != nil || !own {
		return 0, err
	}
	now, _ := s.catalog.Time()
	return max(0, now-int64(keep)), nil
}

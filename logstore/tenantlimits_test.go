package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"
)

// tenantLimits are Options.Tenants that a test changes.
type tenantLimits struct {
	mu sync.Mutex
	of map[string]TenantOptions
}

func (l *tenantLimits) set(tenant string, o TenantOptions) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of[tenant] = o
}

func (l *tenantLimits) options(tenant string) TenantOptions {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of[tenant]
}

func limitedTest(t *testing.T) (Options, *tenantLimits, *testClock) {
	l, clock := &tenantLimits{of: map[string]TenantOptions{}}, newTestClock()
	o := small()
	o.Clock, o.Tenants = clock, l.options
	return o, l, clock
}

// appendFor appends a line of a stream.
func appendFor(t *testing.T, s *Store, tenant string, stream int, at int64) error {
	t.Helper()
	_, err := s.AppendWith(t.Context(), one(MustLabels("app", fmt.Sprint(stream)), at, "line"), AppendOptions{Tenant: tenant})
	return err
}

// refusedAs fails unless the only entry of a batch was refused for a reason.
func refusedAs(t *testing.T, err, want error, text string) {
	t.Helper()
	rejected, ok := errors.AsType[*RejectedError](err)
	if !ok || !errors.Is(err, want) || !strings.Contains(rejected.Rejected[0].Err().Error(), text) {
		t.Errorf("%v; want %v with %q", err, want, text)
	}
}

// A tenant has its own limit of streams, over restarts and for an hour, and one that
// is changed counts at once.
func TestTenantStreams(t *testing.T) {
	o, limits, clock := limitedTest(t)
	dir := t.TempDir()
	limits.set("a", TenantOptions{MaxStreams: 2})
	s := openTest(t, dir, o)
	for i := range 4 {
		mustDo(t, appendFor(t, s, "b", i, clock.at(0)))
		mustDo(t, appendFor(t, s, "", i, clock.at(0)))
		if err := appendFor(t, s, "a", i, clock.at(0)); i < 2 {
			mustDo(t, err)
		} else {
			refusedAs(t, err, ErrTooManyStreams, "want at most 2 of the tenant that got entries within an hour (TenantOptions.MaxStreams)")
		}
	}
	mustDo(t, s.Close())
	s = openTest(t, dir, o)
	refusedAs(t, appendFor(t, s, "a", 5, clock.at(0)), ErrTooManyStreams, "at most 2")
	mustDo(t, s.Seal(t.Context()))
	until(t, "nothing is in memory", func() bool { return s.Stats().Tenants == 0 })
	s.forgetReleased()
	refusedAs(t, appendFor(t, s, "a", 5, clock.at(0)), ErrTooManyStreams, "at most 2")
	mustDo(t, appendFor(t, s, "a", 1, clock.at(0))) // counted
	limits.set("a", TenantOptions{MaxStreams: 3})
	mustDo(t, appendFor(t, s, "a", 5, clock.at(0)))
	refusedAs(t, appendFor(t, s, "a", 6, clock.at(0)), ErrTooManyStreams, "at most 3")
	mustDo(t, s.Seal(t.Context()))
	clock.ns.Add(int64(time.Hour))
	mustDo(t, appendFor(t, s, "a", 6, clock.at(0)))
	limits.set("a", TenantOptions{})
	mustDo(t, appendFor(t, s, "a", 7, clock.at(0)))
	if n := s.Stats().Tenants; n != 1 {
		t.Errorf("%d tenants in memory", n)
	}
}

// Tenants themselves are limited; "" is none.
func TestMaxTenants(t *testing.T) {
	o, _, clock := limitedTest(t)
	o.MaxTenants = 2
	s := openTest(t, t.TempDir(), o)
	for i, name := range []string{"", "a", "b", "c", "d"} {
		if err := appendFor(t, s, name, 0, clock.at(0)); i < 3 {
			mustDo(t, err)
		} else if !errors.Is(err, ErrTooManyTenants) || !strings.Contains(err.Error(), fmt.Sprintf("%q, while 2 get entries; want at most 2 within an hour (Options.MaxTenants)", name)) {
			t.Errorf("tenant %q: %v", name, err)
		}
	}
	if s.tenants.find("d") != nil {
		t.Error("a refused tenant takes memory")
	}
	clock.ns.Add(int64(time.Hour))
	mustDo(t, appendFor(t, s, "c", 0, clock.at(0)))
	mustDo(t, appendFor(t, s, "a", 0, clock.at(0)))
	mustDo(t, appendFor(t, s, "b", 0, clock.at(0))) // it has entries in memory
	if err := appendFor(t, s, "e", 0, clock.at(0)); !errors.Is(err, ErrTooManyTenants) {
		t.Error(err)
	}
}

// A tenant's entries expire by its own Retention: they are refused, and not found.
func TestTenantRetention(t *testing.T) {
	o, limits, clock := limitedTest(t)
	o.LateWindow, o.Retention = -1, 10*time.Hour
	limits.set("a", TenantOptions{Retention: time.Hour})
	limits.set("b", TenantOptions{Retention: 100 * time.Hour}) // no more than that of the store
	s := openTest(t, t.TempDir(), o)
	mustDo(t, appendFor(t, s, "a", 1, clock.at(-time.Hour)))
	refusedAs(t, appendFor(t, s, "a", 1, clock.at(-time.Hour-1)), ErrExpired, "(TenantOptions.Retention)")
	mustDo(t, appendFor(t, s, "b", 1, clock.at(-9*time.Hour)))
	refusedAs(t, appendFor(t, s, "b", 1, clock.at(-11*time.Hour)), ErrExpired, "(Options.Retention)")
	check := func(tenant string, want int64) {
		t.Helper()
		q := Query{Tenant: tenant}
		found, _ := yielded(t, s.Query(t.Context(), q), 0)
		checkTenantSums(t, s, q, found)
		if int64(len(found)) != want {
			t.Errorf("tenant %q: %d entries, want %d", tenant, len(found), want)
		}
	}
	for _, seal := range []bool{false, true} {
		mustDo(t, appendFor(t, s, "a", 2, clock.at(0)))
		if seal {
			mustDo(t, s.Seal(t.Context()))
		}
		check("b", 1)
		clock.ns.Add(int64(30 * time.Minute))
		check("a", 1)
		limits.set("a", TenantOptions{Retention: 3 * time.Hour})
		check("a", map[bool]int64{false: 2, true: 3}[seal])
		groups, err := s.Aggregate(t.Context(), Query{Tenant: "a", From: 7}, Aggregation{})
		if err != nil || len(groups) != 1 || groups[0].Buckets[0].Start != 7 {
			t.Errorf("%v, %v", groups, err)
		}
		limits.set("a", TenantOptions{Retention: time.Hour})
		clock.ns.Add(int64(31 * time.Minute))
		check("a", 0)
	}
}

func TestTenantLimitsWrong(t *testing.T) {
	o, limits, clock := limitedTest(t)
	s := openTest(t, t.TempDir(), o)
	limits.set("a", TenantOptions{MaxStreams: -1})
	limits.set("b", TenantOptions{Retention: -1})
	for tenant, want := range map[string]string{"a": `Options.Tenants("a").MaxStreams: -1; want`, "b": `Options.Tenants("b").Retention: -1ns; want`} {
		for r, err := range s.Query(t.Context(), Query{Tenant: tenant}) {
			if !errors.Is(err, fs.ErrInvalid) || !strings.Contains(err.Error(), want) {
				t.Errorf("query: %v, %v", r, err)
			}
		}
		if err := appendFor(t, s, tenant, 1, clock.at(0)); !errors.Is(err, fs.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("append: %v", err)
		}
	}
	o.Tenants = func(string) TenantOptions { panic("of the test") }
	s = openTest(t, t.TempDir(), o)
	err := appendFor(t, s, "a", 1, clock.at(0))
	if p, ok := errors.AsType[*PanicError](err); !ok || p.Value != "of the test" {
		t.Error(err)
	}
}

// A tenant that has all sources that it may have refuses another one, over restarts too,
// until it may have more; other tenants do not notice.
func TestTenantSources(t *testing.T) {
	o, limits, clock := limitedTest(t)
	dir := t.TempDir()
	limits.set("a", TenantOptions{MaxSources: 2})
	s := openTest(t, dir, o)
	offset := uint64(0)
	add := func(tenant, source string) (Appended, error) {
		offset++
		return s.AppendWith(t.Context(), one(MustLabels("app", "a"), clock.Now().UnixNano(), "line"), AppendOptions{Tenant: tenant, Source: source, Offset: offset})
	}
	kept := func(tenant, source string) {
		t.Helper()
		if a, err := add(tenant, source); err != nil || a.Kept != 1 {
			t.Errorf("source %s of %q: %+v, %v", source, tenant, a, err)
		}
	}
	refused := func(tenant, source string) {
		t.Helper()
		_, err := add(tenant, source)
		if !errors.Is(err, ErrTooManySources) || !strings.Contains(err.Error(), `of tenant "a", which has 2; want at most 2 (TenantOptions.MaxSources)`) {
			t.Errorf("source %s of %q: %v", source, tenant, err)
		}
	}
	kept("a", "1")
	kept("a", "2")
	for range 2 {
		refused("a", "3")
		kept("a", "2")
		for i := range 5 {
			kept("b", fmt.Sprint(i))
			kept("", fmt.Sprint(i))
		}
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openTest(t, dir, o)
	}
	limits.set("a", TenantOptions{MaxSources: 3})
	kept("a", "3")
	limits.set("a", TenantOptions{MaxSources: 1})
	kept("a", "1")
	limits.set("a", TenantOptions{MaxSources: -1})
	if _, err := add("a", "1"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a limit of -1: %v", err)
	}
}

// A tenant that is refused leaves nothing in memory.
func TestRefusedTenantLeavesNoName(t *testing.T) {
	o := small()
	o.MaxTenants = 1
	s := openTest(t, t.TempDir(), o)
	for _, tenant := range []string{"a", "b", "a"} {
		_, err := s.AppendWith(t.Context(), one(MustLabels("app", "a"), time.Now().UnixNano(), "line"), AppendOptions{Tenant: tenant, Key: [16]byte{tenant[0]}})
		if refused := errors.Is(err, ErrTooManyTenants); refused != (tenant == "b") || !refused && err != nil {
			t.Errorf("tenant %s: %v", tenant, err)
		}
	}
	if names := s.idempotency.tenants.numbers; len(names) != 1 {
		t.Errorf("tenants %v are known; want a", names)
	}
}

package logstore

import (
	"testing"
	"time"
)

// heldOf returns how many entries the store has of a tenant, those included that no
// query finds any more.
func heldOf(t *testing.T, s *Store, tenant string) int64 {
	t.Helper()
	list, err := s.Tenants(t.Context(), tenant, 1)
	if len(list) == 0 || list[0].Name != tenant {
		return 0
	}
	_ = err // ErrMore
	return list[0].Entries
}

// What has expired of a tenant leaves the disk, beside what others keep, also beside a
// deletion and after a restart.
func TestTenantRetentionOnDisk(t *testing.T) {
	o, limits, clock := limitedTest(t)
	o.LateWindow = -1
	limits.set("a", TenantOptions{Retention: time.Hour})
	dir := t.TempDir()
	s := openTest(t, dir, o)
	for i := range 10 {
		mustDo(t, appendFor(t, s, "a", i, clock.at(-30*time.Minute)))
		mustDo(t, appendFor(t, s, "b", i, clock.at(-30*time.Minute)))
	}
	mustDo(t, appendFor(t, s, "a", 1, clock.at(0)))
	mustDo(t, s.Compact(t.Context()))
	if n := heldOf(t, s, "a"); n != 11 {
		t.Fatalf("%d entries while none has expired", n)
	}
	if _, err := s.Delete(t.Context(), Deletion{Tenant: "b", Selector: Selector{{Name: "app", Op: Equal, Value: "3"}}}); err != nil {
		t.Fatal(err)
	}
	clock.ns.Add(int64(31 * time.Minute))
	mustDo(t, s.Compact(t.Context()))
	check := func(when string, a, b int64) {
		t.Helper()
		for tenant, want := range map[string]int64{"a": a, "b": b} {
			found, _ := yielded(t, s.Query(t.Context(), Query{Tenant: tenant}), 0)
			if n := heldOf(t, s, tenant); n != want || int64(len(found)) != want {
				t.Errorf("%s: tenant %q has %d entries, and %d are found; want %d", when, tenant, n, len(found), want)
			}
		}
	}
	check("after Compact", 1, 9)
	if st := s.Stats(); st.ExpiredEntries != 10 || st.DeletedEntries != 11 {
		t.Errorf("%d expired of %d left out; want 10 of 11", st.ExpiredEntries, st.DeletedEntries)
	}
	mustDo(t, s.Close())
	s = openTest(t, dir, o)
	check("after a restart", 1, 9)
	if found := s.Report(); len(found.Events) != 0 {
		t.Errorf("%v", found)
	}
	limits.set("b", TenantOptions{Retention: time.Hour})
	clock.ns.Add(int64(2 * time.Hour))
	mustDo(t, s.Compact(t.Context()))
	check("when all has expired", 0, 0)
	if st := s.Stats(); st.Segments != 0 || st.Retired != 1 {
		t.Errorf("%d segments, %d retired", st.Segments, st.Retired)
	}
}

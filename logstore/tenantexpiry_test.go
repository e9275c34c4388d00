package logstore

import (
	"fmt"
	"math/rand/v2"
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

// Over six weeks of a store that seals every six hours, what a tenant keeps for two days
// is off the disk when it is three times as old, by the store's own rules; what others
// have stays; and that costs less than three bytes written for each byte of the segments,
// beside the compactions that there are without it.
func TestTenantExpiryOverTime(t *testing.T) {
	const (
		retention = 48 * time.Hour
		step      = 6 * time.Hour
		steps     = 6 * 7 * 4
		rows      = 100
	)
	run := func(keep time.Duration) (written, sealed int64) {
		o, limits, clock := limitedTest(t)
		o.LateWindow, o.BackgroundRate = -1, -1
		limits.set("short", TenantOptions{Retention: keep})
		s := openTest(t, t.TempDir(), o)
		rng := rand.New(rand.NewPCG(7, 8))
		oldest := time.Duration(0)
		for range steps {
			for _, tenant := range []string{"short", "long"} {
				b := Batch{{Labels: MustLabels("app", "a")}, {Labels: MustLabels("app", "b")}}
				for i := range rows {
					st := &b[i%2]
					st.Entries = append(st.Entries, Entry{Time: clock.at(time.Duration(i)), Line: fmt.Appendf(nil, "%x %x %x", rng.Uint64(), rng.Uint64(), rng.Uint64())})
				}
				if _, err := s.AppendWith(t.Context(), b, AppendOptions{Tenant: tenant}); err != nil {
					t.Fatal(err)
				}
			}
			mustDo(t, s.Seal(t.Context()))
			clock.ns.Add(int64(step))
			mustDo(t, s.catalog.Maintain(t.Context()))
			list, err := s.Tenants(t.Context(), "short", 1)
			if err != nil || list[0].Name != "short" {
				t.Fatal(list, err)
			}
			oldest = max(oldest, time.Duration(clock.at(0)-list[0].MinTime))
		}
		if n := heldOf(t, s, "long"); n != steps*rows {
			t.Errorf("%d entries of the tenant that keeps them, want %d", n, steps*rows)
		}
		st, c := s.Stats(), s.catalog.Stats()
		if keep > 0 && (oldest > 3*keep+step || st.ExpiredEntries == 0) {
			t.Errorf("an entry was on the disk when it was %v old, of %v; %d have expired", oldest, keep, st.ExpiredEntries)
		}
		t.Logf("retention %v: %d compactions wrote %d bytes, %d were sealed; the oldest entry was %v old, %d have expired", keep, st.Compactions, st.CompactedBytes, c.PublishedBytes, oldest, st.ExpiredEntries)
		return st.CompactedBytes, c.PublishedBytes
	}
	with, sealed := run(retention)
	without, _ := run(0)
	if with-without > 3*sealed {
		t.Errorf("compactions wrote %d bytes, and %d where nothing expires, for %d that were sealed", with, without, sealed)
	}
}

package logstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/testseed"
)

// knownSources returns the sources of a tenant and their offsets.
func knownSources(t *testing.T, s *Store, tenant string) map[string]uint64 {
	t.Helper()
	known := map[string]uint64{}
	for from := ""; ; {
		list, err := s.Sources(t.Context(), tenant, from, 2)
		if err != nil && !errors.Is(err, ErrMore) || errors.Is(err, ErrMore) != (len(list) == 2 && err != nil) {
			t.Fatalf("%d sources, %v", len(list), err)
		}
		for _, o := range list {
			if _, twice := known[o.Name]; twice || o.Name < from {
				t.Fatalf("%q comes twice, or before %q", o.Name, from)
			}
			known[o.Name] = o.Offset
			from = o.Name + "\x00"
		}
		if err == nil {
			return known
		}
	}
}

// What is known of sources, and what was forgotten, survives crashes, seals and the
// removal of segments, in any order.
func TestForgetSource(t *testing.T) {
	seed := testseed.Of(t)
	rnd := rand.New(rand.NewPCG(seed, 3))
	for round := range 8 {
		dir, o := t.TempDir(), anyTime()
		s := openTest(t, dir, o)
		want := map[string]map[string]uint64{"": {}, "ten": {}}
		clock := int64(1000)
		var done []string
		for step := range 40 {
			tenant, name := []string{"", "ten"}[rnd.IntN(2)], fmt.Sprint("file ", rnd.IntN(4))
			switch op := rnd.IntN(12); {
			case op < 5:
				last, known := want[tenant][name]
				begin, n := uint64(rnd.IntN(5)), 1+rnd.IntN(5)
				if known {
					begin += last + 1
				}
				clock++
				a, err := s.AppendWith(t.Context(), numbered(clock, step*10, n, 3), AppendOptions{Tenant: tenant, Source: name, Offset: begin})
				if err != nil || a.Kept != n {
					t.Fatalf("round %d, step %d, after %q: %+v, %v; want %d kept", round, step, done, a, err, n)
				}
				want[tenant][name] = begin + uint64(n) - 1
				done = append(done, fmt.Sprint("append ", tenant, name, begin, n))
			case op < 8:
				if err := s.ForgetSource(t.Context(), tenant, name); err != nil {
					t.Fatal(err)
				}
				delete(want[tenant], name)
				done = append(done, "forget "+tenant+name)
			case op < 9:
				if err := s.Seal(t.Context()); err != nil {
					t.Fatal(err)
				}
				done = append(done, "seal")
			case op < 10: // remove some segments for good
				for _, tenant := range []string{"", "ten"} {
					from := rnd.Int64N(clock)
					if _, err := s.Delete(t.Context(), Deletion{Tenant: tenant, From: from, To: from + 1 + rnd.Int64N(20)}); err != nil {
						t.Fatal(err)
					}
				}
				if rnd.IntN(2) == 0 {
					if err := s.Compact(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				done = append(done, "delete")
			default:
				dir = copyStore(t, dir)
				s.Close()
				s = openTest(t, dir, o)
				done = append(done, "crash")
			}
			for tenant, list := range want {
				if got := knownSources(t, s, tenant); !maps.Equal(got, list) {
					t.Fatalf("round %d, step %d, after %q: tenant %q has %v; want %v", round, step, done, tenant, got, list)
				}
				for i := range 4 {
					name := fmt.Sprint("file ", i)
					offset, known := list[name]
					if o, ok, err := s.Source(t.Context(), tenant, name); err != nil || ok != known || o.Offset != offset {
						t.Fatalf("%q: %+v, %t, %v; want %d, %t", name, o, ok, err, offset, known)
					}
				}
			}
		}
		s.Close()
	}
}

// The last source that is forgotten stays so when the newest segments are removed, while
// an older one has it.
func TestForgottenStaysForgotten(t *testing.T) {
	for _, others := range []int{0, 2} {
		dir, o := t.TempDir(), anyTime()
		o.SegmentSpan = 1 // nothing is compacted
		s := openTest(t, dir, o)
		seal := func() {
			t.Helper()
			if err := s.Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		want := map[string]uint64{}
		with(t, s, numbered(1, 0, 10, 6), AppendOptions{Source: "gone"}, 10, 0)
		for i := range others {
			name := fmt.Sprint("other ", i)
			with(t, s, numbered(1, 100*(i+1), 10, 6), AppendOptions{Source: name}, 10, 0)
			want[name] = 9
		}
		seal()
		if err := s.ForgetSource(t.Context(), "", "gone"); err != nil {
			t.Fatal(err)
		}
		day := 24 * int64(time.Hour)
		mustAppend(t, s, one(MustLabels("a", "b"), day, "later"))
		seal()
		for range 2 {
			if _, err := s.Delete(t.Context(), Deletion{From: day}); err != nil {
				t.Fatal(err)
			}
			if err := s.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := s.Stats().Segments; n != 1 {
				t.Fatalf("%d segments; want the first one", n)
			}
			dir = copyStore(t, dir)
			s.Close()
			s = openTest(t, dir, o)
			if got := knownSources(t, s, ""); !maps.Equal(got, want) {
				t.Fatalf("with %d others: %v; want %v", others, got, want)
			}
			mustAppend(t, s, one(MustLabels("a", "b"), day+1, "later"))
			seal()
		}
		if n := s.idempotency.sourceBytes; others == 0 && n != 0 {
			t.Errorf("%d bytes are counted for no source", n)
		}
		s.Close()
	}
}

// A source that is forgotten makes room for another one.
func TestForgetMakesRoom(t *testing.T) {
	o := anyTime()
	o.Tenants = func(string) TenantOptions { return TenantOptions{MaxSources: 2} }
	s := openTest(t, t.TempDir(), o)
	for i := range 6 {
		if _, err := s.AppendWith(t.Context(), numbered(1, 10*i, 2, 1), AppendOptions{Tenant: "ten", Source: fmt.Sprint(i)}); (err != nil) != (i >= 2 && i < 4) || err != nil && !errors.Is(err, ErrTooManySources) {
			t.Errorf("source %d: %v", i, err)
		}
		if i == 3 {
			for j := range 2 {
				if err := s.ForgetSource(t.Context(), "ten", fmt.Sprint(j)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if n := s.Stats().Sources; n != 2 {
		t.Errorf("%d sources; want 2", n)
	}
}

// Wrong names, a store that is closed, and a context that is done are errors.
func TestSourceErrors(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, small())
	long := strings.Repeat("x", maxSource+1)
	_, _, err := s.Source(t.Context(), "", long)
	_, limit := s.Sources(t.Context(), "", "", 0)
	_, tenant := s.Sources(t.Context(), strings.Repeat("x", maxTenant+1), "", 1)
	for what, err := range map[string]error{"a name": err, "forget": s.ForgetSource(t.Context(), "", long),
		"no name": s.ForgetSource(t.Context(), "", ""), "of Import": s.ForgetSource(t.Context(), "", importPrefix+"x"),
		"limit": limit, "tenant": tenant} {
		if !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := s.ForgetSource(t.Context(), "", "unknown"); err != nil {
		t.Error(err)
	}
	// An append of the source that is under way is waited for.
	with(t, s, numbered(time.Now().UnixNano(), 0, 3, 1), AppendOptions{Source: "f"}, 3, 0)
	turn, err := s.idempotency.begin(t.Context(), s.closed, &AppendOptions{Source: "f"}, 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.ForgetSource(ctx, "", "f"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	turn.end()
	s.Close()
	_, _, err = s.Source(t.Context(), "", "f")
	if forget := s.ForgetSource(t.Context(), "", "f"); !errors.Is(err, ErrClosed) || !errors.Is(forget, ErrClosed) {
		t.Errorf("%v, %v", err, forget)
	}
	r, err := OpenReadOnly(dir, small())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := knownSources(t, r, ""); !slices.Equal(slices.Sorted(maps.Keys(got)), []string{"f"}) {
		t.Errorf("read only: %v", got)
	}
	if err := r.ForgetSource(t.Context(), "", "f"); !errors.Is(err, ErrReadOnly) {
		t.Error(err)
	}
}

// Pages of sources follow each other in order, whatever their size.
func TestPagesOfSources(t *testing.T) {
	d := newIdempotency(0, 1<<30)
	var want []string
	for i := range 300 {
		name := fmt.Sprint("file ", i)
		d.loadSource(sourceOffset{"ten", name, uint64(i), 1}, 1)
		d.loadSource(sourceOffset{"other", name + "x", 1, 1}, 1)
		d.loadSource(sourceOffset{"ten", importPrefix + name, 1, 1}, 1)
		want = append(want, name)
	}
	slices.Sort(want)
	for _, limit := range []int{1, 7, 299, 300, 301, math.MaxInt} {
		var got []string
		for from := ""; ; from = got[len(got)-1] + "\x00" {
			list := d.sourcesOf("ten", from, limit)
			if len(list)-1 > limit || cap(list)/4-2 > limit {
				t.Fatalf("a page of %d has %d, in the memory of %d", limit, len(list), cap(list))
			}
			for _, o := range list[:min(limit, len(list))] {
				got = append(got, o.Name)
			}
			if len(list) <= limit {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d: %q; want %q", limit, got, want)
		}
	}
}

// Items that are cut are refused.
func TestForgetItems(t *testing.T) {
	it := forgetItem("ten", "file")
	if tenant, name, err := it.forgotten(); tenant != "ten" || name != "file" || err != nil {
		t.Errorf("%q, %q, %v", tenant, name, err)
	}
	for i := range it.data {
		if _, _, err := (stateItem{it.typ, it.data[:i]}).forgotten(); !errors.Is(err, errRecord) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
	if _, _, err := (stateItem{it.typ, append(it.data, 0)}).forgotten(); !errors.Is(err, errRecord) {
		t.Errorf("with a byte more: %v", err)
	}
	for in, want := range map[uint64]uint64{0: 9, 7: 7, 9: 9, 10: 0} {
		if n, err := sinceItem(in).since(9); n != want || (err != nil) != (want == 0) {
			t.Errorf("since %d: %d, %v", in, n, err)
		}
	}
}

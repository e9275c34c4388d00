package logstore

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"
)

// Keys of very many tenants take no more than their share, names of tenants included:
// the oldest go, and a name goes with the last key or source of its tenant.
func TestTenantNamesAreForgotten(t *testing.T) {
	const most = 1 << 20
	d := newIdempotency(keyWindow, most)
	append := func(i int, o AppendOptions, now time.Duration) {
		t.Helper()
		binary.LittleEndian.PutUint64(o.Key[:], uint64(i+1))
		turn, err := d.begin(t.Context(), nil, &o, 1, 0, now)
		if err != nil {
			t.Fatal(err)
		}
		d.note(&recordHead{tenant: o.Tenant, key: o.Key, source: o.Source, offset: uint64(i + 1), handled: 1}, uint64(i+1), 0, now)
		turn.end()
	}
	for _, name := range []string{"", "with a source"} {
		append(0, AppendOptions{Tenant: name, Source: "s"}, 0)
	}
	for i := range 20000 {
		append(i, AppendOptions{Tenant: fmt.Sprint("tenant ", i)}, time.Second)
		if i%1000 == 0 && d.memory() > most {
			t.Fatalf("%d tenants take %d bytes; want at most %d", i+1, d.memory(), most)
		}
	}
	keys, dropped, _ := d.stats()
	if names := len(d.tenants.numbers); names > keys+1 || keys < 1000 || dropped == 0 || d.tenants.bytes == 0 {
		t.Errorf("%d names of tenants with %d keys, %d dropped", names, keys, dropped)
	}
	if len(d.tenants.list) > keys+100 {
		t.Errorf("%d numbers for %d keys", len(d.tenants.list), keys)
	}
	append(30000, AppendOptions{Tenant: "last"}, time.Hour)
	var names []string
	for name := range d.tenants.numbers {
		names = slices.Insert(names, 0, name)
	}
	slices.Sort(names)
	if want := []string{"last", "with a source"}; !slices.Equal(names, want) {
		t.Errorf("tenants %q are known; want %q", names, want)
	}
	if got := d.offsetOf("with a source", "s"); got != 1 {
		t.Errorf("the source ends at %d; want 1", got)
	}
	for name, n := range map[string]uint64{"last": 30001, "tenant 5": 0} {
		o := AppendOptions{Tenant: name}
		binary.LittleEndian.PutUint64(o.Key[:], max(n, 6))
		turn, err := d.begin(t.Context(), nil, &o, 1, 0, time.Hour)
		if err != nil || turn.last != n {
			t.Errorf("the batch of %s is known at %d, %v; want %d", name, turn.last, err, n)
		}
		turn.end()
	}
}

// A number is of one tenant at a time, for as long as that is known.
func TestTenantNames(t *testing.T) {
	var names tenantNames
	a, b := names.enter("a"), names.enter("b")
	if again := names.enter("a"); again != a || a == b || a == 0 || names.enter("") != 0 {
		t.Errorf("a is %d and %d, b is %d", a, again, b)
	}
	names.leave(a)
	if names.name(a) != "a" {
		t.Errorf("%d is %q", a, names.name(a))
	}
	names.leave(a)
	if _, ok := names.find("a"); ok {
		t.Error("a is known")
	}
	if c := names.enter("c"); c != a || names.name(b) != "b" {
		t.Errorf("c is %d, b is %q", c, names.name(b))
	}
	names.leave(a)
	if names.leave(b); names.bytes != 0 || len(names.list) != 0 {
		t.Errorf("%d bytes of no names: %v", names.bytes, names.list)
	}
}

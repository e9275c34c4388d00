package logstore

import (
	"fmt"
	"testing"
)

// Tenants, streams, names and values that several segments have are counted once each, by
// as many passes as the memory asks for.
func TestInspectCountsInBoundedMemory(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, small())
	tenants, streams, names, values := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[Label]bool{}
	for part := range 3 {
		for _, tenant := range []string{"", "a", "b"} {
			var b Batch
			for i := range 200 {
				l := MustLabels("app", fmt.Sprint(i%7), "pod", fmt.Sprint(part*100+i), fmt.Sprint("name", i%5), "x")
				b = append(b, one(l, 100, "a line")...)
				tenants[tenant], streams[fmt.Sprintf("%q%v", tenant, l)] = true, true
				for name, value := range l.All() {
					names[name], values[Label{name, value}] = true, true
				}
			}
			if _, err := s.AppendWith(t.Context(), b, AppendOptions{Tenant: tenant}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want := [numDistinct]int{len(tenants), len(streams), len(names), len(values)}
	in, err := Inspect(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := in.Index; [...]int{got.Tenants, got.Streams, got.Names, got.Values} != want || got.Items != 3*3*200 {
		t.Errorf("Inspect counts %+v; want %v", got, want)
	}
	for _, most := range []int{10, 100, 1000, 10000} {
		d := newDistinctCount(most)
		held, passes := 0, 0
		for more := true; more; more = d.next() {
			passes++
			for _, in := range in.Segments {
				s, err := InspectSegment(in.File)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.countDistinct(d); err != nil {
					t.Error(err)
				}
				s.Close()
				held = max(held, d.held())
			}
		}
		if d.total != want || held > most || passes == 1 && most < 1000 {
			t.Errorf("with %d hashes at once: %v in %d passes, with %d at once; want %v", most, d.total, passes, held, want)
		}
	}
}

package mkdir

import (
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
)

func none(string) bool { return false }

func TestPlan(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		want := map[string]bool{"": true}
		var paths []string
		for range r.IntN(20) {
			var elems []string
			for range 1 + r.IntN(4) {
				elems = append(elems, []string{"a", "a-b", "b", "ab", "\x01", "é"}[r.IntN(6)])
			}
			p := strings.Join(elems, "/")
			paths = append(paths, p)
			for ; p != "."; p = path.Dir(p) {
				want[p] = true
			}
		}
		p := newPlan(slices.Clone(paths), none)
		if len(p) != len(want) {
			t.Fatalf("%q: %d nodes, want %d", paths, len(p), len(want))
		}
		seen := map[string]bool{"": true}
		for i := range p {
			for c := p[i].child; c != 0; c = p[c].next {
				if p[c].up != int32(i) || parent(p[c].path) != p[i].path || c <= int32(i) {
					t.Fatalf("%q: %q is no child of %q, or stands before it", paths, p[c].path, p[i].path)
				}
				if seen[p[c].path] {
					t.Fatalf("%q: %q twice", paths, p[c].path)
				}
				seen[p[c].path] = true
			}
		}
		if len(seen) != len(want) {
			t.Fatalf("%q: %d nodes can be reached, want %d", paths, len(seen), len(want))
		}
	}
}

func TestCollect(t *testing.T) {
	long := strings.Repeat("n", 200) + "/" + strings.Repeat("m", 200)
	in := []string{"b", "./a/", ".", "b"}
	for range 50 {
		in = append(in, long)
	}
	got, _, err := collect(slices.Values(in), func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 53 || got[0] != "b" || got[1] != "a" || got[2] != "b" {
		t.Errorf("got %q", got[:3])
	}
	for _, p := range got[3:] {
		if p != long {
			t.Fatalf("got %q", p)
		}
	}
	if _, bad, err := collect(slices.Values([]string{"a", "../b"}), func() error { return nil }); err == nil || bad != "../b" {
		t.Errorf("../b: %q, %v", bad, err)
	}
}

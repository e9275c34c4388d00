package trees

import (
	"math/rand/v2"
	"path"
	"slices"
	"testing"

	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestCheckoutListsParentsFirst(t *testing.T) {
	dirs := checkout()
	if len(dirs) < 1000 {
		t.Fatalf("the checkout has %d directories, want a real one", len(dirs))
	}
	seen := map[string]bool{".": true}
	for _, d := range dirs {
		switch {
		case d != path.Clean(d) || path.IsAbs(d):
			t.Errorf("%q is not a clean relative path", d)
		case seen[d]:
			t.Errorf("%q is there twice", d)
		case !seen[path.Dir(d)]:
			t.Errorf("%q comes before its parent", d)
		}
		seen[d] = true
	}
}

func TestPathsAreDistinctAndMany(t *testing.T) {
	rng := func() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }
	for name, got := range map[string][]string{
		"checkout":    CheckoutPaths(10_000),
		"synthetic":   SyntheticPaths(rng(), 10_000),
		"fresh":       FreshPaths(rng(), 10_000, MaxFreshDepth),
		"overlapping": OverlappingPaths(10_000),
	} {
		if len(got) != 10_000 {
			t.Errorf("%s: %d paths, want 10000", name, len(got))
		}
		if n := len(set(got)); n != len(got) {
			t.Errorf("%s: only %d distinct paths", name, n)
		}
		// MaxOps of the batches rests on how many directories they are.
		if n := len(suitetest.Prefixes(got)); name != "fresh" && n > 10_700 {
			t.Errorf("%s: %d distinct directories, want at most 10700", name, n)
		}
	}
	if !slices.Equal(SyntheticPaths(rng(), 100), SyntheticPaths(rng(), 100)) {
		t.Error("the same seed gave other paths")
	}
}

func TestFreshPathsHaveTheDepthAskedFor(t *testing.T) {
	for depth := 1; depth <= MaxFreshDepth; depth++ {
		p := FreshPaths(rand.New(rand.NewPCG(1, 2)), 1, depth)
		if n := len(suitetest.Prefixes(p)); n != depth {
			t.Errorf("depth %d: %q has %d levels", depth, p[0], n)
		}
	}
}

func set(list []string) map[string]bool {
	s := map[string]bool{}
	for _, p := range list {
		s[p] = true
	}
	return s
}

package catalog

import (
	"cmp"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// randomFiles returns n files: published ones, compactions, salvages, and others
// that belong to no history.
func randomFiles(r *rand.Rand, n int) (all []*foundFile) {
	names := map[string]bool{}
	for len(all) < n {
		after := r.Uint64N(uint64(2 * n))
		p := positions{after, after + 1 + r.Uint64N(1<<r.IntN(6)), uint32(r.IntN(4))}
		if names[p.String()] {
			continue
		}
		names[p.String()] = true
		f := &foundFile{name: p.String(), positions: p, file: &file{info: segment2.Info{Created: r.Int64N(3)}}}
		switch r.IntN(8) {
		case 0:
			f.bad = &segment2.CorruptError{Reason: "damaged"}
		case 1:
			if r.IntN(4) == 0 {
				f.properName = "another"
			}
		}
		all = append(all, f)
	}
	return all
}

func TestPositionSet(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		all := randomFiles(r, 1+r.IntN(40))
		set := newPositionSet(all)
		var added []int
		for i, f := range all {
			want := -1
			for _, j := range added {
				if all[j].positions.overlaps(f.positions) && (want < 0 || j < want) {
					want = j
				}
			}
			if got := set.overlapping(f.positions); got != want {
				t.Fatalf("%v overlaps number %d, want %d", f.positions, got, want)
			}
			if r.IntN(2) == 0 { // those added may overlap here
				set.add(f.positions, i)
				added = append(added, i)
			}
		}
	}
}

// Of many files at random, those kept do not overlap, and each other one overlaps a
// kept one, or has a reason of its own.
func TestRecoveryOfManyFiles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{10_000, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500} {
		all := randomFiles(r, n)
		plan := planRecovery(all, r.Uint64N(uint64(2*n)))
		kept := slices.Concat(plan.served, plan.unreadable)
		if got := len(kept) + len(plan.leftovers) + len(plan.rejected); got != n {
			t.Errorf("%d of %d files are decided", got, n)
		}
		slices.SortFunc(kept, func(a, b *foundFile) int { return cmp.Compare(a.positions.after, b.positions.after) })
		for i := 1; i < len(kept); i++ {
			if kept[i-1].positions.overlaps(kept[i].positions) {
				t.Errorf("%s and %s are both kept", kept[i-1].name, kept[i].name)
			}
		}
		overlapped := func(f *foundFile) bool {
			i, _ := slices.BinarySearchFunc(kept, f.positions.after, func(k *foundFile, at uint64) int { return cmp.Compare(k.positions.upto, at+1) })
			return i < len(kept) && kept[i].positions.overlaps(f.positions)
		}
		for _, f := range plan.leftovers {
			if !overlapped(f) {
				t.Errorf("%s is removed, and nothing kept has its positions", f.name)
			}
		}
		for _, f := range plan.rejected {
			if f.properName == "" && f.bad == nil && !overlapped(f.foundFile) {
				t.Errorf("%s goes into quarantine, and overlaps nothing that is kept", f.name)
			}
		}
	}
}

// To add a range to a positionSet, and to find what overlaps it, takes steps that grow with
// the logarithm of how many there are, squared: a range is at most two nodes of each level,
// and from each of those the root is one step a level away.
func TestPositionSetSteps(t *testing.T) {
	steps := func(n int) (total int) {
		all := randomFiles(rand.New(rand.NewPCG(5, 6)), n)
		kept := newPositionSet(all)
		for _, f := range all {
			from, to := kept.leaves(f.positions)
			nodes(from, to, func(node int) {
				for ; node > 0; node /= 2 {
					total++
				}
			})
		}
		return total
	}
	for _, n := range []int{1_000, 10_000} {
		levels := bits.Len(uint(4 * n))
		if got := steps(n); got > 2*n*levels*levels {
			t.Errorf("%d files take %d steps; want at most %d", n, got, 2*n*levels*levels)
		}
	}
}

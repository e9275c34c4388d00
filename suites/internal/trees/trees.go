// Package trees generates the paths that experiments make.
package trees

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
)

// The directories of a real source checkout, in the order of a walk, in which
// archives and version control deliver them: each directory after its parent.
//
//go:embed data/go-checkout.txt
var checkoutList string

// checkout returns the directories of one source checkout, parents first.
func checkout() []string {
	var dirs []string
	for line := range strings.Lines(checkoutList) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			dirs = append(dirs, line)
		}
	}
	return dirs
}

// CheckoutPaths returns n paths: the checkout repeated under numbered roots.
func CheckoutPaths(n int) []string {
	dirs := checkout()
	paths := make([]string, n)
	for i := range paths {
		paths[i] = "checkout-" + strconv.Itoa(i/len(dirs)+1) + "/" + dirs[i%len(dirs)]
	}
	return paths
}

// SyntheticPaths returns n distinct leaves, six levels down, of a tree in
// which each directory of the fifth level holds 32 of them, in random order, so that
// neighbours do not share a prefix. n is at most 1<<16.
func SyntheticPaths(rng *rand.Rand, n int) []string {
	paths := make([]string, n)
	for i := range paths {
		directory := i / 32
		paths[i] = fmt.Sprintf("data/%02x/%02x/objects/%04x/%02x%04x",
			directory%4, directory/4%8, directory, rng.Uint32()&0xff, i)
	}
	rng.Shuffle(n, func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	return paths
}

// freshTail is what follows the random component of a fresh path. Its first
// six letters are those of the published workload.
const freshTail = "/x/y/z/w/v/u/t/s/r/q/p/o/n/m/l"

// MaxFreshDepth is the most levels that FreshPaths can give a path.
const MaxFreshDepth = 1 + len(freshTail)/2

// FreshPaths returns n paths of depth levels. The first is eight random
// letters, so none of the levels is shared.
func FreshPaths(rng *rand.Rand, n int64, depth int) []string {
	tail := freshTail[:2*(depth-1)]
	paths := make([]string, n)
	var first [8]byte
	for i := range paths {
		bits := rng.Uint64()
		for j := range first {
			first[j] = 'a' + byte(bits%26)
			bits /= 26
		}
		paths[i] = string(first[:]) + tail
	}
	return paths
}

// OverlappingPaths returns n distinct leaves, four levels down, of which 64
// neighbours share a directory. Goroutines that take neighbours at the same time
// race for the same missing parents.
func OverlappingPaths(n int64) []string {
	paths := make([]string, n)
	for i := range paths {
		directory := i / 64
		paths[i] = fmt.Sprintf("t%d/d%d/s/leaf%d", directory/64, directory%64, i)
	}
	return paths
}

// Paths are the same paths in both spellings. They are made before the timer
// starts, for all variants alike, so that neither the time nor the heap they take
// favours one.
type Paths struct {
	Rel []string // below the root, with slashes
	Abs []string // the root joined with rel
}

// PathsIn returns paths below root.
func PathsIn(root string, rel []string) Paths {
	abs := make([]string, len(rel))
	for i, r := range rel {
		abs[i] = filepath.Join(root, filepath.FromSlash(r))
	}
	return Paths{rel, abs}
}

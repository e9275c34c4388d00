// Package testseed has the seeds of tests that try random cases.
//
// A test tries the same cases in each run of one release, so that an unchanged tree
// does not fail by the luck of a draw. New cases come on request:
//
//	STELE_LONG=1        the long run of a test draws its seed
//	STELE_SEED=random   each run of each test draws one
//	STELE_SEED=1234     a seed that a test has printed
//
// Cases that depend on the schedule or on the time of a kill differ all the same.
package testseed

import (
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// release is changed at each release, which tries other cases from then on.
const release = "v0.1"

// Of returns the seed of the test t, which is not 0, and logs it. A variable
// STELE_SEED that is neither a number above 0 nor "random" fails the test.
func Of(t testing.TB) uint64 {
	t.Helper()
	text := os.Getenv("STELE_SEED")
	seed := nameSeed(t.Name())
	switch {
	case text == "random", text == "" && os.Getenv("STELE_LONG") != "":
		seed = draw()
	case text != "":
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n == 0 {
			t.Fatalf("STELE_SEED: %q; want a number from 1 to 18446744073709551615, or random", text)
		}
		seed = n
	}
	t.Logf("STELE_SEED=%d", seed)
	return seed
}

func nameSeed(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(release + " " + name))
	return max(h.Sum64(), 1)
}

func draw() uint64 { return max(rand.Uint64(), 1) }

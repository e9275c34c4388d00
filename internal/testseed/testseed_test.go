package testseed_test

import (
	"testing"

	"github.com/stele-go/stele/internal/testseed"
)

func TestOf(t *testing.T) {
	t.Setenv("STELE_LONG", "")
	t.Setenv("STELE_SEED", "")
	fixed := testseed.Of(t)
	if again := testseed.Of(t); again != fixed {
		t.Errorf("one test has the seeds %d and %d", fixed, again)
	}
	t.Run("another", func(t *testing.T) {
		if testseed.Of(t) == fixed {
			t.Error("two tests have one seed")
		}
	})
	t.Setenv("STELE_LONG", "1")
	if testseed.Of(t) == fixed {
		t.Error("a long run has the seed of a short one")
	}
	t.Setenv("STELE_SEED", "7")
	if seed := testseed.Of(t); seed != 7 {
		t.Errorf("STELE_SEED=7: %d", seed)
	}
	t.Setenv("STELE_LONG", "")
	t.Setenv("STELE_SEED", "random")
	if testseed.Of(t) == fixed {
		t.Error("STELE_SEED=random: the seed without it")
	}
}

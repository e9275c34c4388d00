package logstore_test

import (
	"slices"
	"testing"
	"time"
)

// shrink removes steps while the rest still fails, for at most the given time.
// A failure that depends on scheduling may not recur each time: then shrink
// ends early, with more steps than needed.
func shrink(keep []int, failed *modelError, most time.Duration, try func([]int) *modelError) ([]int, *modelError) {
	deadline := time.Now().Add(most)
	// Steps after the one that failed do not matter.
	if i := slices.Index(keep, failed.step); i >= 0 {
		keep = keep[:i+1]
	}
	for size := len(keep) / 2; size > 0; {
		smaller := false
		for from := 0; from < len(keep) && time.Now().Before(deadline); {
			less := slices.Delete(slices.Clone(keep), from, min(from+size, len(keep)))
			err := try(less)
			if err == nil {
				from += size
				continue
			}
			failed, smaller = err, true
			if keep = less; slices.Contains(keep, err.step) {
				keep = keep[:slices.Index(keep, err.step)+1]
			}
		}
		if !smaller || size > 1 {
			size /= 2
		}
	}
	return keep, failed
}

// shrink finds the steps that a failure needs, and no others.
func TestShrink(t *testing.T) {
	fails := func(keep []int) *modelError {
		i := slices.Index(keep, 17)
		if i < 0 || !slices.Contains(keep[i:], 42) || !slices.Contains(keep, 3) {
			return nil
		}
		return &modelError{step: 42}
	}
	keep, failed := shrink(all(100), fails(all(100)), time.Minute, fails)
	if !slices.Equal(keep, []int{3, 17, 42}) || failed.step != 42 {
		t.Errorf("steps %v are left, want 3, 17, 42", keep)
	}
}

package logstore

import (
	"context"
	"slices"
)

// checkCompares is how many comparisons sortFunc makes between two looks at its
// context.
const checkCompares = 1 << 10

// sortFunc sorts a list as slices.SortFunc does. Once ctx is done it calls compare
// no more: it leaves the list in no order, and returns the cause.
func sortFunc[E any](ctx context.Context, list []E, compare func(a, b E) int) error {
	n, done := 0, false
	slices.SortFunc(list, func(a, b E) int {
		if n%checkCompares == 0 {
			done = ctx.Err() != nil
		}
		if n++; done {
			return 0 // the sort ends, whatever it is told
		}
		return compare(a, b)
	})
	return context.Cause(ctx)
}

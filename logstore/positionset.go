package logstore

import (
	"fmt"
	"slices"
)

// A PositionRange is the positions of the log from First to Last.
type PositionRange struct{ First, Last uint64 }

// String returns "7" or "7-9".
func (r PositionRange) String() string {
	if r.First == r.Last {
		return fmt.Sprint(r.First)
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}

// positionSet is positions: ranges in ascending order with gaps between them.
type positionSet []PositionRange

// add adds a position above all others.
func (s *positionSet) add(pos uint64) {
	if n := len(*s); n > 0 && (*s)[n-1].Last+1 == pos {
		(*s)[n-1].Last = pos
		return
	}
	*s = append(*s, PositionRange{pos, pos})
}

// union returns the positions of all ranges, which come in any order.
func union(ranges []PositionRange) (s positionSet) {
	ranges = slices.Clone(ranges)
	slices.SortFunc(ranges, func(a, b PositionRange) int {
		if a.First < b.First {
			return -1
		}
		return 1
	})
	for _, r := range ranges {
		if n := len(s); n > 0 && r.First <= s[n-1].Last+1 {
			s[n-1].Last = max(s[n-1].Last, r.Last)
			continue
		}
		s = append(s, r)
	}
	return s
}

// has reports whether s has all positions of r.
func (s positionSet) has(r PositionRange) bool {
	return slices.ContainsFunc(s, func(o PositionRange) bool { return o.First <= r.First && r.Last <= o.Last })
}

// without returns the positions of r that s does not have.
func (s positionSet) without(r PositionRange) (left positionSet) {
	for _, o := range s {
		if o.Last < r.First {
			continue
		}
		if o.First > r.Last {
			break
		}
		if o.First > r.First {
			left = append(left, PositionRange{r.First, o.First - 1})
		}
		if o.Last == r.Last {
			return left
		}
		r.First = o.Last + 1
		if r.First > r.Last {
			return left
		}
	}
	return append(left, r)
}

// from returns the positions of s from first on.
func (s positionSet) from(first uint64) (rest positionSet) {
	for _, r := range s {
		if r.Last >= first {
			rest = append(rest, PositionRange{max(r.First, first), r.Last})
		}
	}
	return rest
}

// count returns how many positions s has.
func (s positionSet) count() (n uint64) {
	for _, r := range s {
		n += r.Last - r.First + 1
	}
	return n
}

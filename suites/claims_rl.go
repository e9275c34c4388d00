package suites

import "slices"

// A scale divides the sizes of the published workloads: 1 for what is
// published, more for tests.
type scale int64

// of is a size, of a MiB at least.
func (s scale) of(bytes int64) int64 { return max(bytes/int64(s), mebibyte) }

// readingClaims are the claims on reading and writing that no suite of their
// own tests.
func readingClaims(s scale) []Claim {
	return []Claim{claimR1(s), claimR2(s), claimR3(), claimR4(s), claimR5(), claimR8()}
}

// logClaims are the claims on the parts of a log system.
func logClaims(s scale) []Claim {
	return []Claim{claimL2(), claimL3(), claimL4(), claimL5(s), claimL6(s), claimL8(s), claimL11(s)}
}

// inOrder joins lists of claims by the number of their ids.
func inOrder(lists ...[]Claim) []Claim {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b Claim) int { return claimNumber(a.ID) - claimNumber(b.ID) })
	return all
}

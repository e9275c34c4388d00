package claims

import (
	"slices"

	"github.com/stele-go/stele/suites/job"
)

// Reading are the claims on reading and writing that no suite of their
// own tests.
func Reading(s job.Scale) []Claim {
	return []Claim{claimR1(s), claimR2(s), claimR3(), claimR4(s), claimR5(), claimR8()}
}

// Log are the claims on the parts of a log system.
func Log(s job.Scale) []Claim {
	return []Claim{claimL2(), claimL3(), claimL4(), claimL5(s), claimL6(s), claimL8(s), claimL11(s)}
}

// InOrder joins lists of claims by the number of their ids.
func InOrder(lists ...[]Claim) []Claim {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b Claim) int { return claimNumber(a.ID) - claimNumber(b.ID) })
	return all
}

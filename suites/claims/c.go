package claims

import (
	"slices"
	"strconv"
)

// Creation are the published claims about creating files.
func Creation() []Claim {
	list := slices.Concat(creationCostClaims(), creationWayClaims(), creationWaitClaims())
	slices.SortFunc(list, func(a, b Claim) int { return claimNumber(a.ID) - claimNumber(b.ID) })
	return list
}

// claimNumber is the 12 of "C12".
func claimNumber(id string) int {
	n, err := strconv.Atoi(id[1:])
	if err != nil {
		panic(err) // ids are written in this package
	}
	return n
}

package claims

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/stele-go/stele/suites/job"
)

// Reading returns the claims on reading and writing that belong to none of the other lists.
func Reading(s job.Scale) []Claim {
	return []Claim{claimR1(s), claimR2(s), claimR3(), claimR4(s), claimR5(), claimR8()}
}

// Log returns the claims on the parts of a log system.
func Log(s job.Scale) []Claim {
	return []Claim{claimL2(), claimL3(), claimL4(), claimL5(s), claimL6(s), claimL8(s), claimL11(s), claimL12(s)}
}

// InOrder returns the claims of all lists, sorted by report and number.
func InOrder(lists ...[]Claim) []Claim {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b Claim) int {
		return cmp.Or(cmp.Compare(a.Source.Report, b.Source.Report), claimNumber(a.ID)-claimNumber(b.ID))
	})
	return all
}

// Directories returns the claims on making directories, D1 to D9.
func Directories() []Claim {
	return []Claim{
		claimD1(), claimD2(), claimD3(), claimD4(), claimD5(),
		claimD6(), claimD7(), claimD8(), claimD9(),
	}
}

// Creation returns the claims on creating files, C1 to C15.
func Creation() []Claim {
	return InOrder(creationCostClaims(), creationWayClaims(), creationWaitClaims())
}

// Headers returns the claims on writing at the head of a file, H1 to H8.
func Headers() []Claim {
	return []Claim{claimH1(), claimH2(), claimH3(), claimH4(), claimH5(), claimH6(), claimH7(), claimH8()}
}

// RW returns the claims on how many reads and writes to have in flight.
func RW() []Claim { return []Claim{claimR9(), claimR10(), claimR13()} }

// Sync returns the claims on volumes and on syncs.
func Sync() []Claim { return []Claim{claimR6(), claimR7(), claimR11(), claimR12()} }

// WAL returns the claims on write-ahead logs.
func WAL() []Claim { return []Claim{claimL10()} }

// Store returns the claims on a log store and its parts.
func Store() []Claim { return []Claim{claimL1(), claimL7(), claimL9()} }

// PowerCuts returns the statements that a power cut decides, P1 and P2.
func PowerCuts() []Claim { return []Claim{claimP1(), claimP2()} }

// claimNumber returns the 12 of "C12".
func claimNumber(id string) int {
	n, err := strconv.Atoi(id[1:])
	if err != nil {
		panic(err) // this package writes the IDs
	}
	return n
}

// creationCostClaims returns the claims on the cost of creating a file and on how to lower it.
func creationCostClaims() []Claim {
	return []Claim{claimC1(), claimC3(), claimC4(), claimC5(), claimC9(), claimC10(), claimC15()}
}

// creationWayClaims returns the claims on alternatives to creating a file each time, and
// on its costs outside the file system.
func creationWayClaims() []Claim {
	return []Claim{claimC6(), claimC7(), claimC8(), claimC11(), claimC12(), claimC14()}
}

// creationWaitClaims returns the claims on where goroutines wait.
func creationWaitClaims() []Claim { return []Claim{claimC2(), claimC13()} }

// inMemory are the claims whose ways touch no file system of the place: none at all, or some
// that they make themselves.
var inMemory = []string{"C6", "C11", "C12", "D6", "D9", "H3", "H4", "H6", "H8", "L2", "L4", "L7", "L9", "P1", "P2", "R6", "R11", "R12"}

// InMemory reports whether the claim's ways touch no file system of the place, so that its
// verdict in one place is that in all.
func (c *Claim) InMemory() bool { return slices.Contains(inMemory, c.ID) }

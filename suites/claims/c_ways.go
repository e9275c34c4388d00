package claims

// creationWayClaims are the claims on what is done instead of creating a
// file each time, and on what creating costs beside the file system.
func creationWayClaims() []Claim {
	return []Claim{claimC6(), claimC7(), claimC8(), claimC11(), claimC12(), claimC14()}
}

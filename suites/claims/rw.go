package claims

// RW are the claims on how many reads and writes at once there should be.
func RW() []Claim { return []Claim{claimR9(), claimR10()} }

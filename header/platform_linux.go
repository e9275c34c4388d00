package header

import "github.com/stele-go/stele/atomicfile"

// Capabilities of this system.
const (
	keepable = atomicfile.KeepAll
	locking  = true // flock(2)
)

package header

import "github.com/stele-go/stele/atomicfile"

// What this system can do.
const (
	keepable = atomicfile.KeepAll
	locking  = true // flock(2)
)

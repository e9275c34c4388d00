//go:build !linux

package header

import "github.com/stele-go/stele/atomicfile"

// Capabilities of this system.
const (
	keepable = atomicfile.KeepMode
	locking  = false
)

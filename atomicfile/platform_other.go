//go:build !linux

package atomicfile

// Capabilities of this system.
const (
	canKeep   = KeepMode
	canSyncFS = false
)

//go:build !linux

package atomicfile

// What this system can do.
const (
	canKeep   = KeepMode
	canSyncFS = false
)

package atomicfile

// Capabilities of this system.
const (
	canKeep   = KeepAll
	canSyncFS = true
)

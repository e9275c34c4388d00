package atomicfile

// What this system can do.
const (
	canKeep   = KeepAll
	canSyncFS = true
)

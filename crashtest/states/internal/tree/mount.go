package tree

// RecordMount and the process that serves its mount (package mount) speak the
// following. The process has a log of operations, see [AppendOp].

const (
	// MountEnv marks the process that serves mounts: see package serve.
	MountEnv = "STELE_CRASHTEST_MOUNT"
	// FDOps is the descriptor of the log of operations, open for appending.
	FDOps = 3
)

// A Command is what the process reads from its standard input, as JSON.
type Command struct {
	Do  string // "mount", "begin", "end", "unmount"
	Dir string // to mount on
	// NoExchange is that of states.MountOptions.
	NoExchange bool
	Plan
}

// A Reply is what it writes to its standard output for each Command, as JSON.
type Reply struct {
	Err   string
	Calls []Call // since "begin", for "end"
	Hits  int    // calls that the injector failed
}

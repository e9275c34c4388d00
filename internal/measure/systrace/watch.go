// Package systrace times the system calls of processes that this one starts, by the
// kernel's tracepoints, and knows the names of system calls.
package systrace

// A Call is one system call of a watched process.
type Call struct {
	Number int
	Begun  int64 // wall clock, nanoseconds since 1970
	Took   int64 // nanoseconds
}

package sys

// A SyscallTime is one system call of a watched process.
type SyscallTime struct {
	Number int
	Begun  int64 // wall clock, nanoseconds since 1970
	Took   int64 // nanoseconds
}

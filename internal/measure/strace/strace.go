// Package strace runs a command under ptrace(2) and returns the system calls that it
// and its descendants made, and whether they synced the files that they wrote. It
// needs no privilege beyond that of tracing one's own children. The command runs
// several times slower than by itself.
package strace

import "os"

// A Command is what Run starts.
type Command struct {
	Path           string   // of the program
	Args           []string // with the name of the program
	Dir            string
	Env            []string
	Stdout, Stderr *os.File // nil is /dev/null
	// Files follows the files that are written, which takes more calls for each write.
	Files bool
}

// A Report is what a command and its descendants did.
type Report struct {
	// Calls is how often each system call was made, by its name.
	Calls map[string]int64
	// State says how the command ended: "exit status 1" or "signal: killed"; "" is
	// success.
	State string
	Usage Usage
	// Of Command.Files.

	// Changed is set where a file or a name was created, written, renamed or removed.
	Changed bool
	// Unsynced are files whose last write no sync followed, at most a few, and that
	// still have a name. UnsyncedNames is set where a rename, a removal or a new
	// directory was followed by no sync of a directory.
	Unsynced      []string
	UnsyncedNames bool
	// Ring is set where io_uring was used: its requests are not seen.
	Ring bool
}

// Usage is the resources of the command and its waited-for descendants.
type Usage struct {
	User, System int64 // CPU time in nanoseconds
	MaxRSS       int64 // bytes, of the largest process
}

// Durable reports whether everything that was changed was synced afterwards, so far as
// could be seen.
func (r *Report) Durable() bool {
	return r.Changed && len(r.Unsynced) == 0 && !r.UnsyncedNames && !r.Ring
}

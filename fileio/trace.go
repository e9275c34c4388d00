package fileio

import "time"

// An Op is one finished operation on a file, as passed to Options.Trace and
// WriterOptions.Trace.
type Op struct {
	Kind     OpKind
	Name     string // of the file, as it was opened
	Offset   int64  // in bytes; -1 if the operation has none
	Bytes    int64  // transferred; for OpAdvise and OpPrealloc, the length of the range
	Start    time.Time
	Duration time.Duration
	Err      error
}

// OpKind is the kind of an operation.
type OpKind uint8

const (
	OpOpen     OpKind = iota + 1 // a file was opened
	OpRead                       // bytes were read, in any way
	OpView                       // a View of a mapping was used
	OpWrite                      // bytes went to the kernel
	OpSync                       // bytes were made durable
	OpAdvise                     // the kernel was given advice
	OpPrealloc                   // space was allocated
	OpCopy                       // bytes were copied from file to file
	OpClose                      // the file was closed
)

func (k OpKind) String() string {
	names := [...]string{"none", "open", "read", "view", "write", "sync", "advise", "prealloc", "copy", "close"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

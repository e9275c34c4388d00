package fileio

import "time"

// An Op is one operation on a file, as Options.Trace and WriterOptions.Trace
// are told of it once it has ended.
type Op struct {
	Kind     OpKind
	Name     string // of the file, as it was opened
	Offset   int64  // in bytes; -1 where the operation has none
	Bytes    int64  // moved, or asked for where none are moved (OpAdvise, OpPrealloc)
	Start    time.Time
	Duration time.Duration
	Err      error
}

// OpKind says what an operation was.
type OpKind uint8

const (
	OpOpen     OpKind = iota + 1 // a file was opened
	OpRead                       // bytes were read, by whatever way
	OpView                       // a mapping was handed out
	OpWrite                      // bytes went to the kernel
	OpSync                       // bytes were made durable
	OpAdvise                     // the kernel was told what comes
	OpPrealloc                   // room was reserved
	OpCopy                       // bytes went from file to file
	OpClose                      // the file was closed
)

func (k OpKind) String() string {
	names := [...]string{"none", "open", "read", "view", "write", "sync", "advise", "prealloc", "copy", "close"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

package uring

import (
	"errors"
	"os"
)

// Op is what a request to a Ring does.
type Op uint8

const (
	Nop        Op = iota // nothing: what the ring itself costs
	Read                 // pread(2)
	Write                // pwrite(2)
	Fdatasync            // fdatasync(2); writes under way may be in it or not
	ReadFixed            // pread into a part of a registered buffer
	WriteFixed           // pwrite of a part of a registered buffer
)

func (op Op) String() string {
	names := [...]string{"nop", "read", "write", "fdatasync", "read fixed", "write fixed"}
	if int(op) < len(names) {
		return names[op]
	}
	return "unknown"
}

// A Request is one operation for a Ring. Buffer and file belong to the
// ring from Push until the request is handed back by Wait, or Close returns:
// the file must not be closed, and the buffer neither read nor written. Before
// Linux 6.4 a pipe that does not block, as those of os.Pipe, is not waited for:
// EAGAIN.
type Request struct {
	Op     Op
	File   *os.File
	Buf    []byte // memory in which both ends are aligned, for a file opened with O_DIRECT
	Offset int64  // in the file
	// Fixed is the number of the registered buffer that Buf is a part of.
	Fixed int
	// Durable makes a write durable before it is finished, as O_DSYNC does
	// (RWF_DSYNC): data and the metadata needed to read it survive a power cut.
	Durable bool
	// Tag comes back with the result.
	Tag uint64
}

// A Completion is a request that has ended.
type Completion struct {
	Tag uint64
	// N is the number of bytes moved. It is less than asked for at the end of
	// the file, or before a place at which the next request will fail.
	N   int
	Err error
}

// ErrFull says that as many requests are in flight as the ring is deep.
var ErrFull = errors.New("io_uring: as many requests are in flight as the ring is deep")

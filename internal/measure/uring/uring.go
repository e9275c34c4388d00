// Package uring is a small io_uring(7): read, write, fsync and fdatasync, with and
// without registered buffers, with and without polling of the device. It is for
// measuring the gain of io_uring.
package uring

import (
	"errors"
	"os"
)

// Op is the operation of a Request.
type Op uint8

const (
	Nop        Op = iota // nothing: measures the ring itself
	Read                 // pread(2)
	Write                // pwrite(2)
	Fdatasync            // fdatasync(2); covers no write that is still in flight for certain
	ReadFixed            // pread into a part of a registered buffer
	WriteFixed           // pwrite of a part of a registered buffer
	Fsync                // fsync(2); covers no write that is still in flight for certain
)

func (op Op) String() string {
	names := [...]string{"nop", "read", "write", "fdatasync", "read fixed", "write fixed", "fsync"}
	if int(op) < len(names) {
		return names[op]
	}
	return "unknown"
}

// A Request is one operation for a Ring. From Push until Wait returns its
// Completion, or Close returns, the file must not be closed and the buffer must be
// neither read nor written. Before Linux 6.4 a request on a non-blocking pipe, as
// of os.Pipe, does not wait: EAGAIN.
type Request struct {
	Op     Op
	File   *os.File
	Buf    []byte // memory in which both ends are aligned, for a file opened with O_DIRECT
	Offset int64  // in the file
	// Fixed is the index of the registered buffer that Buf is part of.
	Fixed int
	// Durable makes a write durable before it completes, as O_DSYNC does
	// (RWF_DSYNC): data and the metadata needed to read it survive a power cut.
	Durable bool
	// Tag comes back with the result.
	Tag uint64
}

// A Completion is the result of a Request.
type Completion struct {
	Tag uint64
	// N is the number of bytes transferred. It is less than requested at the end
	// of the file, or before an offset at which the next request will fail.
	N   int
	Err error
}

// ErrFull reports that as many requests are in flight as the ring is deep.
var ErrFull = errors.New("uring: as many requests are in flight as the ring is deep; call Wait first")

package states

import (
	"fmt"
	"slices"
	"syscall"
)

// Calls that can fail, as a report names them.
const (
	callOpen     = "open"
	callCreate   = "create"
	callMkdir    = "mkdir"
	callRead     = "read"
	callWrite    = "write"
	callSync     = "sync"
	callTruncate = "truncate"
	callAllocate = "fallocate"
	callAttr     = "set attribute"
	callLink     = "link"
	callRemove   = "remove"
	callRename   = "rename"
	callList     = "read directory"
	callClose    = "close"
)

// A Fault is how a call fails.
type Fault string

const (
	// FailEIO: nothing is done, and the call returns EIO. Data that a failed
	// sync was to cover may be lost whatever later syncs return: the kernel has
	// marked the pages clean.
	FailEIO Fault = "EIO"
	// FailENOSPC: nothing is done, and the call returns ENOSPC.
	FailENOSPC Fault = "ENOSPC"
	// FailEINTR: nothing is done, and the call returns EINTR.
	FailEINTR Fault = "EINTR"
	// ShortWrite: a write takes the first half of its bytes and returns their
	// number.
	ShortWrite Fault = "short write"
)

var (
	allFaults  = []Fault{FailEIO, FailENOSPC, FailEINTR, ShortWrite}
	faultErrno = map[Fault]syscall.Errno{FailEIO: syscall.EIO, FailENOSPC: syscall.ENOSPC, FailEINTR: syscall.EINTR}
)

// faultsOf has the faults that the manual page of each call lists.
var faultsOf = map[string][]Fault{
	callOpen:     {FailEIO, FailEINTR},
	callCreate:   {FailEIO, FailENOSPC, FailEINTR},
	callMkdir:    {FailEIO, FailENOSPC},
	callRead:     {FailEIO, FailEINTR},
	callWrite:    {FailEIO, FailENOSPC, FailEINTR, ShortWrite},
	callSync:     {FailEIO, FailENOSPC, FailEINTR},
	callTruncate: {FailEIO, FailEINTR},
	callAllocate: {FailEIO, FailENOSPC, FailEINTR},
	callAttr:     {FailEIO, FailENOSPC},
	callLink:     {FailEIO, FailENOSPC},
	callRemove:   {FailEIO},
	callRename:   {FailEIO, FailENOSPC},
	callList:     {FailEIO},
	callClose:    {FailEIO},
}

// A call is one that a program made, successful or not.
type call struct {
	Call, Path string
}

func (c call) String() string { return c.Call + " " + c.Path }

// An injector counts the calls and has one of them, or all from there on,
// fail. The lock of its tree guards it. A nil injector does nothing.
type injector struct {
	fault      Fault // "": only count
	at         int   // number of the call, from 0 on
	persistent bool  // each later call that it applies to fails too
	calls      []call
	hits       int
}

// before is called before each call and returns how it is to fail.
func (in *injector) before(name, path string) (short bool, err error) {
	if in == nil {
		return false, nil
	}
	n := len(in.calls)
	in.calls = append(in.calls, call{name, path})
	if in.fault == "" || n < in.at || n > in.at && !in.persistent || !slices.Contains(faultsOf[name], in.fault) {
		return false, nil
	}
	in.hits++
	if in.fault == ShortWrite {
		return true, nil
	}
	return false, faultErrno[in.fault]
}

// A plan says which call is to fail, and how.
type plan struct {
	At         int
	Fault      Fault
	Call       call // as counted in the run without a fault
	Persistent bool
}

func (p plan) id() string { return fmt.Sprintf("%s@%d", p.Fault, p.At) }

func (p plan) String() string {
	s := fmt.Sprintf("%s at call %d (%v)", p.Fault, p.At, p.Call)
	if p.Persistent {
		s += " and after it"
	}
	return s
}

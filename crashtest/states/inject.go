package states

import (
	"fmt"
	"slices"
	"syscall"
)

// The calls that may fail, as a report names them.
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
	callList     = "read folder"
	callClose    = "close"
)

// A Fault is how a call fails.
type Fault string

const (
	// FailEIO: nothing is done, and the call returns EIO. After a sync that
	// failed so, what it was to cover may be lost whatever later syncs say:
	// the kernel has marked the pages clean.
	FailEIO Fault = "EIO"
	// FailENOSPC: nothing is done, and the call returns ENOSPC.
	FailENOSPC Fault = "ENOSPC"
	// FailEINTR: nothing is done, and the call returns EINTR.
	FailEINTR Fault = "EINTR"
	// ShortWrite: a write takes the first half of its bytes, and says so.
	ShortWrite Fault = "short write"
)

var (
	allFaults  = []Fault{FailEIO, FailENOSPC, FailEINTR, ShortWrite}
	faultErrno = map[Fault]syscall.Errno{FailEIO: syscall.EIO, FailENOSPC: syscall.ENOSPC, FailEINTR: syscall.EINTR}
)

// faultsOf are the faults that the manual page of a call lists.
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

// A call is one that a program made, whether it was answered well or not.
type call struct {
	Call, Path string
}

func (c call) String() string { return c.Call + " " + c.Path }

// An injector counts the calls and has one of them, or all from there on,
// fail. Its tree holds the lock. A nil injector does nothing.
type injector struct {
	fault Fault // "": only count
	at    int   // number of the call, from 0 on
	stays bool  // each later call that it applies to fails too
	calls []call
	hits  int
}

// before is asked before each call whether it is to fail.
func (in *injector) before(name, path string) (short bool, err error) {
	if in == nil {
		return false, nil
	}
	n := len(in.calls)
	in.calls = append(in.calls, call{name, path})
	if in.fault == "" || n < in.at || n > in.at && !in.stays || !slices.Contains(faultsOf[name], in.fault) {
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
	At    int
	Fault Fault
	Call  call // the one that it was when they were counted
	Stays bool
}

func (p plan) id() string { return fmt.Sprintf("%s@%d", p.Fault, p.At) }

func (p plan) String() string {
	s := fmt.Sprintf("%s at call %d (%v)", p.Fault, p.At, p.Call)
	if p.Stays {
		s += " and after it"
	}
	return s
}

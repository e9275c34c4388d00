package tree

import (
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

// The ways in which a call fails. They are the values of states.Fault, which has their
// meaning.
const (
	EIO        = "EIO"
	ENOSPC     = "ENOSPC"
	EINTR      = "EINTR"
	ShortWrite = "short write"
)

var errnos = map[string]syscall.Errno{EIO: syscall.EIO, ENOSPC: syscall.ENOSPC, EINTR: syscall.EINTR}

// FaultsOf has the faults that the manual page of each call lists.
var FaultsOf = map[string][]string{
	callOpen:     {EIO, EINTR},
	callCreate:   {EIO, ENOSPC, EINTR},
	callMkdir:    {EIO, ENOSPC},
	callRead:     {EIO, EINTR},
	callWrite:    {EIO, ENOSPC, EINTR, ShortWrite},
	callSync:     {EIO, ENOSPC, EINTR},
	callTruncate: {EIO, EINTR},
	callAllocate: {EIO, ENOSPC, EINTR},
	callAttr:     {EIO, ENOSPC},
	callLink:     {EIO, ENOSPC},
	callRemove:   {EIO},
	callRename:   {EIO, ENOSPC},
	callList:     {EIO},
	callClose:    {EIO},
}

// A Call is one that a program made, successful or not.
type Call struct {
	Name, Path string
}

// String returns, for example, "sync conf.tmp".
func (c Call) String() string { return c.Name + " " + c.Path }

// A Plan says which call is to fail, and how.
type Plan struct {
	Fault      string // "": none does
	At         int    // number of the call, from 0 on
	Persistent bool   // each later call that the fault applies to fails too
}

// An Injector counts the calls and makes those of its plan fail. The lock of its
// tree guards it. A nil Injector does nothing.
type Injector struct {
	Plan
	Calls []Call
	Hits  int // calls that failed
}

// before is called before each call and returns how it is to fail.
func (in *Injector) before(name, path string) (short bool, err error) {
	if in == nil {
		return false, nil
	}
	n := len(in.Calls)
	in.Calls = append(in.Calls, Call{name, path})
	if in.Fault == "" || n < in.At || n > in.At && !in.Persistent || !slices.Contains(FaultsOf[name], in.Fault) {
		return false, nil
	}
	in.Hits++
	if in.Fault == ShortWrite {
		return true, nil
	}
	return false, errnos[in.Fault]
}

// Package oldfile lets package header tell package atomicfile which open file
// a new one takes over from. By its name somebody else may put another file
// there while that is looked at.
package oldfile

import "os"

// Set has the files that are created next with to, an *atomicfile.Options or
// an *atomicfile.Batch, take over what Keep says from old. Their name must lead
// to old, in the folder that is opened for it, when they are created and again
// when they are committed: else both fail with syscall.EBUSY, and what has the
// name keeps it. old must stay open until they are committed. Package atomicfile
// sets Set.
var Set func(to any, old *os.File)

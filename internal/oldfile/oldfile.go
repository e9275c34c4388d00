// Package oldfile passes an open file from package header to package atomicfile:
// the file that a new one replaces. A name would not do: another process may
// put another file there. It is a package of its own because atomicfile's Options have
// no exported field for it.
package oldfile

import "os"

// Set makes the files that are created next with to, an *atomicfile.Options or an
// *atomicfile.Batch, take over from old what Keep lists. When they are created, and
// again when they are committed, their name must lead to old in the directory that was
// opened for it; otherwise both fail with syscall.EBUSY, and the name keeps its
// file. old must stay open until they are committed. Package atomicfile sets Set.
var Set func(to any, old *os.File)

package crashtest

import "fmt"

// A Sync is a call that asks for durability. Both kits ask OnSync about each
// of them, and so make mutants of code that they do not change.
type Sync struct {
	N    int    // number in this recording, from 0
	Call string // "fsync", "fdatasync" or "syncfs"
	Path string // path of the file relative to the root; "." is the root itself
}

// String returns, for example, "fsync(a/b), number 3".
func (s Sync) String() string { return fmt.Sprintf("%s(%s), number %d", s.Call, s.Path, s.N) }

// A SyncFault is a way in which a sync reports success without doing its duty.
type SyncFault int

const (
	// NoFault: the sync is done.
	NoFault SyncFault = iota
	// SkipSync: nothing is done.
	SkipSync
	// WriteOnly: under a power cut, sync_file_range(2) is called instead, with
	// all its flags: the disk has the data of the file and has answered, but
	// got no flush and no metadata. Most other ways to test durability do not
	// see the difference. In a model of states it is the same as SkipSync.
	WriteOnly
)

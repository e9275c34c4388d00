package sys

import (
	"io/fs"
	"time"
)

// An Identity identifies a file among those that its file system has at one time.
type Identity struct {
	Dev, Inode uint64
	Type       fs.FileMode // the type bits; 0 is a regular file
	Changed    time.Time   // of content or inode, by the file system's clock; no user can set it
}

// Same reports whether both identify one file.
func (i Identity) Same(other Identity) bool { return i.Dev == other.Dev && i.Inode == other.Inode }

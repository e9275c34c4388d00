package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/stele-go/stele/durability"
)

// Options are the settings of a File, a Dir or a Batch. The zero value is the
// safe one: level Power, nothing is followed, nothing is taken over from the
// old file.
type Options struct {
	// Level is what a finished Commit survives. Power, the default, makes
	// content and name durable. Kill does not sync; None is the same as Kill,
	// as what is renamed is in the kernel.
	Level durability.Level
	// Sync is how content is made durable at level Power. The default is
	// SyncAuto.
	Sync Sync
	// Keep is what the new file takes over from the old one. The default, 0,
	// is nothing: the new file has the permissions that it was created with,
	// before umask, and the owner who wrote it. What cannot be kept is an
	// error, and the old file stays.
	Keep Keep
	// Links is what is done with a name that is a symlink. The default is
	// ReplaceLinks.
	Links Links
	// NoReplace has Commit fail with fs.ErrExist if there is such a name.
	NoReplace bool
	// Temp is the pattern of the temporary names, with one "*", in whose
	// place comes what Sweep knows them by, about 80 bytes. The default, "",
	// is ".*.tmp".
	Temp string
}

// Sync is how content is made durable at level Power, before the rename that
// gives it the name.
type Sync uint8

const (
	// SyncAuto: with a Dir or a Batch, on a file system whose journal orders
	// data before names (ext4 with data=ordered, XFS), the data is written to
	// the device, and the one sync of the folder makes data and name durable
	// together. Elsewhere, and for single files by name, as SyncEach. See the
	// package comment.
	SyncAuto Sync = iota
	// SyncEach: an fdatasync(2) of each file.
	SyncEach
	// SyncWholeFS: a syncfs(2) of the whole file system, once for a Batch. It
	// pays where many files are written and nobody else writes much. Linux
	// only, and 5.8 or later: before, it told no errors.
	SyncWholeFS
)

// Keep is a set of what the new file takes over from the old one, as it was
// when the new one was created.
//
// KeepXattrs does not carry what holds of the old content or inode only:
// security.ima, security.evm, and user.stele.*, which is what package header
// notes of a file. So a header that was recorded is plain content afterwards.
type Keep uint8

const (
	KeepMode   Keep = 1 << iota // permissions, setuid, setgid and sticky bits
	KeepOwner                   // owner and group; Linux only
	KeepXattrs                  // extended attributes, but see below; Linux only
	KeepACL                     // the POSIX access ACL, and so the permissions too; Linux only

	KeepAll = KeepMode | KeepOwner | KeepXattrs | KeepACL
)

// Links is what is done with a name that is a symlink. Symlinks in the path
// before the last name are always followed.
type Links uint8

const (
	// ReplaceLinks: the name no longer is a symlink. What it led to stays.
	ReplaceLinks Links = iota
	// FollowLinks: what it leads to is replaced, or made if there is nothing.
	// That may be in another folder.
	FollowLinks
	// RefuseLinks: an error of Create, ELOOP. A symlink that is put there
	// between Create and Commit is replaced.
	RefuseLinks
)

const defaultTemp = ".*.tmp"

// ErrNotDurable is the error of a Commit at level Power that has given the
// new content the name, but could not make the folder durable. The name holds
// the new content, whole; after a power cut it holds the old or the new. A
// failed sync is final: it cannot be repeated, as the kernel tells an error
// once and may have dropped what it could not write. Write the file again.
var ErrNotDurable = errors.New("replaced, but not known to be durable")

func (o Options) check() error {
	bad := func(what string, v any) error { return fmt.Errorf("%w: %s %v", fs.ErrInvalid, what, v) }
	switch {
	case o.Level > durability.None:
		return bad("level", o.Level)
	case o.Sync > SyncWholeFS:
		return bad("sync", o.Sync)
	case o.Keep&^KeepAll != 0:
		return bad("set to keep", o.Keep)
	case o.Links > RefuseLinks:
		return bad("choice for links", o.Links)
	case o.Temp != "" && (strings.Count(o.Temp, "*") != 1 || strings.Contains(o.Temp, "\x00") || hasSeparator(o.Temp)):
		return bad("pattern", fmt.Sprintf("%q", o.Temp))
	case o.Keep&^canKeep != 0, o.Sync == SyncWholeFS && !canSyncFS:
		return errors.ErrUnsupported
	}
	return nil
}

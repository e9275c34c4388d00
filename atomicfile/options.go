package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/tempfile"
)

// Options are the settings of a File, a Dir or a Batch. The zero value is the
// safe one: level Power, nothing is followed, nothing is granted that the old
// file denied.
type Options struct {
	// Level is what a finished Commit survives. Power, the default, makes
	// content and name durable, for which the folder must be readable. Kill
	// does not sync. None is refused: what has a name outlives the process.
	Level durability.Level
	// Sync is how content is made durable at level Power. The default is
	// SyncAuto.
	Sync Sync
	// Keep is what the new file takes over from the old one. The default, 0,
	// gives it the permissions that it is created with, before umask, less what
	// the old file denied to group and others, and the owner who wrote it.
	// KeepNothing does not look at the old file's permissions. What cannot be
	// kept is an error, and the old file stays.
	Keep Keep
	// Links is what is done with a name that is a symlink. The default is
	// ReplaceLinks.
	Links Links
	// NoReplace has Commit fail with fs.ErrExist if there is such a name.
	NoReplace bool
	// ExactMode gives a new file the permissions, setuid, setgid and sticky
	// bits that it is created with whatever the umask, from Commit on; one more
	// system call. What an old file denied it does not grant, unless Keep is
	// KeepNothing; and KeepMode and KeepACL take over those of the old file.
	ExactMode bool
	// Root, unless nil, is what names are relative to. Then nothing below it
	// follows a symlink: not the last name, not a folder before it, whoever
	// puts one there meanwhile. A name that is absolute or holds ".." is an
	// error. Root may be closed once a Dir is open.
	Root *os.Root
	// OneMount, with Root, makes it an error (syscall.EXDEV) to cross a mount
	// point below Root. Linux only.
	OneMount bool
	// Temp is the pattern of the temporary names, with one "*", in whose
	// place comes what Sweep knows them by, about 80 bytes. The default, "",
	// is ".*.tmp".
	Temp string

	old *os.File // unless nil, what is kept is this open file's: see oldfile.Set
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

// Links is what is done with a name that is a symlink. Symlinks in the path
// before the last name are followed unless Options.Root is set.
type Links uint8

const (
	// ReplaceLinks: the name no longer is a symlink. What it led to stays.
	ReplaceLinks Links = iota
	// FollowLinks: what it leads to is replaced, or made if there is nothing.
	// That may be in another folder. Not with Options.Root. On Linux a symlink
	// in a sticky folder that everybody may write to, as /tmp, must be the
	// caller's or the folder's owner's, else it is an error (EACCES): as with
	// fs.protected_symlinks in proc_sys_fs(5), whether that is set or not.
	FollowLinks
	// RefuseLinks: an error of Create, ELOOP. A symlink that is put there
	// between Create and Commit is replaced.
	RefuseLinks
)

// ErrNotDurable is the error of a Commit at level Power that has given the
// new content the name, but could not make the folder durable. The name holds
// the new content, whole; after a power cut it holds the old or the new. A
// failed sync is final: it cannot be repeated, as the kernel tells an error
// once and may have dropped what it could not write. Write the file again.
var ErrNotDurable = errors.New("replaced, but not known to be durable")

// pattern is the pattern of temporary names.
func (o Options) pattern() string {
	if o.Temp == "" {
		return tempfile.DefaultPattern
	}
	return o.Temp
}

func (o Options) check() error {
	const levels = "power or kill: a file with a name outlives the process"
	bits := setting.Text(fmt.Sprintf("%#b", o.Keep))
	switch {
	case o.Level >= durability.None:
		return setting.Wrong("atomicfile: Options.Level", o.Level, levels)
	case o.Sync > SyncWholeFS:
		return setting.Wrong("atomicfile: Options.Sync", o.Sync, "SyncAuto, SyncEach or SyncWholeFS")
	case o.Keep&^(KeepAll|KeepNothing) != 0, o.Keep&KeepNothing != 0 && o.Keep != KeepNothing:
		return setting.Wrong("atomicfile: Options.Keep", bits, "a set of KeepMode, KeepOwner, KeepXattrs and KeepACL, or KeepNothing alone")
	case o.Links > RefuseLinks:
		return setting.Wrong("atomicfile: Options.Links", o.Links, "ReplaceLinks, FollowLinks or RefuseLinks")
	case o.Links == FollowLinks && o.Root != nil:
		return setting.Wrong("atomicfile: Options.Links", setting.Text("FollowLinks with Root"), "ReplaceLinks or RefuseLinks")
	case o.OneMount && o.Root == nil:
		return setting.Wrong("atomicfile: Options.OneMount", setting.Text("true without Root"), "Root to be set")
	}
	if p := o.pattern(); strings.Count(p, "*") != 1 || strings.Contains(p, "\x00") || hasSeparator(p) {
		return setting.Wrong("atomicfile: Options.Temp", o.Temp, "a name with one *")
	}
	return o.checkSystem()
}

// checkSystem refuses settings that this system does not support.
func (o Options) checkSystem() error {
	switch {
	case o.Keep&^(canKeep|KeepNothing) != 0:
		return setting.Refused(errors.ErrUnsupported, "atomicfile: Options.Keep", setting.Text(fmt.Sprintf("%#b", o.Keep)), "KeepMode or KeepNothing on %s", runtime.GOOS)
	case o.Sync == SyncWholeFS && !canSyncFS:
		return setting.Refused(errors.ErrUnsupported, "atomicfile: Options.Sync", setting.Text("SyncWholeFS"), "SyncAuto or SyncEach on %s", runtime.GOOS)
	case o.OneMount && runtime.GOOS != "linux":
		return setting.Refused(errors.ErrUnsupported, "atomicfile: Options.OneMount", true, "false on %s", runtime.GOOS)
	}
	return nil
}

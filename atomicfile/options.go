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
// safe one: level Power, no symlink is followed, and the new file grants nothing
// that the old one denied.
type Options struct {
	// Level is what a finished Commit survives. Power, the default, makes
	// content and name durable, for which the directory must be readable. Kill
	// does not sync. None is refused: a file with a name outlives the process.
	Level durability.Level
	// Sync selects how content is made durable at level Power. The default is
	// SyncAuto.
	Sync Sync
	// Keep lists what the new file takes over from the old one. With the
	// default, 0, it has the perm given to Create, before umask, without the
	// bits that the old file denied to group and others, and the writer as its
	// owner. KeepNothing ignores the old file's permissions. If something cannot
	// be kept, that is an error, and the old file stays.
	Keep Keep
	// Links selects what happens to a name that is a symlink. The default is
	// ReplaceLinks.
	Links Links
	// NoReplace makes Commit fail with fs.ErrExist if the name exists.
	NoReplace bool
	// ExactMode gives a new file, from Commit on, the permissions, setuid,
	// setgid and sticky bits given to Create, regardless of the umask, at the
	// price of one more system call. It grants nothing that an old file denied,
	// unless Keep is KeepNothing; KeepMode and KeepACL take over the old file's
	// permissions instead.
	ExactMode bool
	// Root, unless nil, is the directory that names are relative to. No symlink
	// below it is followed, neither in the last element nor before it, not even
	// one that is put there during the call. A name that is absolute or holds
	// ".." is an error. Root may be closed once a Dir is open.
	Root *os.Root
	// OneMount, with Root, makes it an error (syscall.EXDEV) to cross a mount
	// point below Root. Linux only.
	OneMount bool
	// Temp is the pattern of temporary names, with one "*", which is replaced
	// by the tag that Sweep recognizes, about 80 bytes. The default, "", is
	// ".*.tmp".
	Temp string

	keepFrom *os.File // unless nil, the open file that Keep reads: see oldfile.Set
}

// Sync selects how content is made durable at level Power, before the rename.
type Sync uint8

const (
	// SyncAuto, in a Dir or a Batch on a file system whose journal orders data
	// before names (ext4 with data=ordered, XFS), writes the data to the device;
	// the one sync of the directory then makes data and name durable together.
	// Elsewhere, and for single files by name, it is SyncEach. See the package
	// comment.
	SyncAuto Sync = iota
	// SyncEach calls fdatasync(2) for each file.
	SyncEach
	// SyncWholeFS calls syncfs(2) for the whole file system, once for a Batch.
	// It pays for many files where other processes write little. Linux 5.8 or
	// later only: before, syncfs reported no errors.
	SyncWholeFS
)

// Links selects what happens to a name that is a symlink. Symlinks in the path
// before the last element are followed unless Options.Root is set.
type Links uint8

const (
	// ReplaceLinks replaces the symlink itself. Its target stays as it is.
	ReplaceLinks Links = iota
	// FollowLinks replaces the target of the symlink, or creates it, possibly in
	// another directory. It cannot be combined with Options.Root. On Linux, a
	// symlink in a sticky, world-writable directory such as /tmp must belong to the
	// caller or to the directory's owner; otherwise it is an error (EACCES), as
	// with fs.protected_symlinks in proc_sys_fs(5), whether that is set or not.
	FollowLinks
	// RefuseLinks makes Create fail with ELOOP. A symlink that is put there
	// between Create and Commit is replaced.
	RefuseLinks
)

// ErrNotDurable is the error of a Commit at level Power that renamed the file
// but could not sync the directory. The name holds the new content, whole; after a
// power cut it holds the old or the new. Do not repeat a failed sync: the kernel
// reports an error once and may have dropped the data that it could not write.
// Write the file again.
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

package header

import (
	"fmt"
	"os"
	"time"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/belowroot"
	"github.com/stele-go/stele/internal/setting"
)

// A Mode says what a reader, and a crash, may see of a change.
type Mode uint8

const (
	// Atomic shows the old file or the new one, never a mix. The name gets a new
	// file, so other hard links, and processes that have it open, keep the old.
	Atomic Mode = iota
	// InPlace keeps the file, at a cost that does not grow with its size. A
	// reader may see a mix during the change. After a crash Recover makes the
	// file old or new; see the package comment. If the change is impossible in
	// place, and Options.Strategy is Auto, it is made as with Atomic.
	InPlace
)

// A Strategy is a method of writing bytes before a file's first byte.
type Strategy uint8

const (
	// Auto takes the fastest strategy that the file system and the options allow.
	Auto Strategy = iota
	// Slot overwrites reserved bytes or padding at the head. InPlace.
	Slot
	// Shift moves the file's extents by whole blocks (FALLOC_FL_INSERT_RANGE,
	// FALLOC_FL_COLLAPSE_RANGE): ext4 and XFS. InPlace, with padding.
	Shift
	// Clone makes a new file that shares the old one's extents
	// (FICLONERANGE), and renames it: XFS and btrfs. Atomic, with padding.
	Clone
	// KernelCopy copies by copy_file_range(2) into a new file, and renames it.
	KernelCopy
	// Copy copies through memory into a new file, and renames it.
	Copy
)

// Options are the settings of a change. The zero value is the safe one:
// atomic, level Power, exactly the bytes given, and nothing of the file lost.
type Options struct {
	// Mode says what a reader, and a crash, may see. The default is Atomic.
	Mode Mode
	// Strategy forces one strategy; if it is impossible for the file, the error
	// is ErrStrategy. The default, Auto, takes the fastest possible one; Result
	// says which, and why no faster one.
	Strategy Strategy
	// Level is what a finished change survives. The default is Power. None is
	// refused: the package writes to the kernel.
	Level durability.Level
	// Pad allows padding: bytes between the header and the old content, for
	// strategies that need whole blocks. It must fill all of pad, which is all of
	// the padding after one header. The default, nil, allows none: exactly the
	// given bytes are inserted. See PadByte.
	Pad func(pad []byte)
	// Keep lists what a new file takes over from the old one. The default, 0, is
	// all that this system supports: atomicfile.KeepAll on Linux, else
	// atomicfile.KeepMode. If something cannot be kept, that is an error. The
	// permissions are kept in any case, also with atomicfile.KeepNothing,
	// because the new file has the old content; atomicfile.Keep says which
	// permissions remain if the owner changes. In place everything stays that a
	// write leaves; see the package comment.
	Keep atomicfile.Keep
	// Root, unless nil, is the directory that names are relative to. No symlink below
	// it is followed, neither in the last element (syscall.ELOOP) nor before it.
	// A name that is absolute, empty or holds ".." is an error.
	Root *os.Root
	// OneMount, with Root, makes crossing a mount point below Root an error
	// (syscall.EXDEV). Linux only.
	OneMount bool
	// KeepTimes keeps the times of access and modification. By default the
	// modification time is that of the change.
	KeepTimes bool
	// LockWait is how long to wait for a file's lock that another process or
	// goroutine holds, counted from the first refusal. After it the error is a
	// *LockedError with context.DeadlineExceeded; InsertAll and SwapAll report it
	// for that file and continue with the others. 0, the default, waits until the
	// context is done.
	LockWait time.Duration

	mapName func(name string) string // unless nil, returns the path below Root: see belowroot.Set
	cache   *dirCache                // unless nil, of this goroutine
}

func init() {
	belowroot.Set = func(to any, path func(name string) string) { to.(*Options).mapName = path }
}

// PadByte returns a Pad function that repeats b: '\n' or ' ' for text.
func PadByte(b byte) func(pad []byte) {
	return func(pad []byte) {
		for i := range pad {
			pad[i] = b
		}
	}
}

// A Result describes a change.
type Result struct {
	// Strategy is the strategy used, and Why the reason why no faster one was. If
	// there was nothing to do, Strategy is Auto, and nothing was synced either.
	Strategy Strategy
	Why      string
	// Promise is what the finished change survives, and what a crash leaves.
	Promise durability.Promise
	// Header is the length of the header in bytes, and Pad that of the padding
	// after it; older headers in the same slot are between them. Moved is the
	// distance in bytes by which the old content moved, negative towards the
	// head.
	Header, Pad, Moved int64
}

func (o Options) check() error {
	switch {
	case o.Mode > InPlace:
		return setting.Wrong("header: Options.Mode", o.Mode, "Atomic or InPlace")
	case o.Strategy > Copy:
		return setting.Wrong("header: Options.Strategy", o.Strategy, "Auto, Slot, Shift, Clone, KernelCopy or Copy")
	case o.Level > durability.Kill:
		return setting.Wrong("header: Options.Level", o.Level, "power or kill")
	case o.Keep&^atomicfile.KeepAll != 0 && o.Keep != atomicfile.KeepNothing:
		return setting.Wrong("header: Options.Keep", setting.Text(fmt.Sprintf("%#b", o.Keep)), "a set of KeepMode, KeepOwner, KeepXattrs and KeepACL of package atomicfile, or its KeepNothing alone")
	case o.LockWait < 0:
		return setting.Wrong("header: Options.LockWait", o.LockWait, "0 (until the context is done) or more")
	case o.OneMount && o.Root == nil:
		return setting.Wrong("header: Options.OneMount", setting.Text("true without Root"), "Root to be set")
	case o.Mode == Atomic && (o.Strategy == Slot || o.Strategy == Shift):
		return setting.Refused(ErrStrategy, "header: Options.Strategy", o.Strategy, "Mode InPlace with it: the strategy is not atomic")
	}
	return nil
}

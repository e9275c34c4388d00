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

// A Mode is what a reader, and a crash, may see of a change.
type Mode uint8

const (
	// Atomic: the old file or the new one, never anything between. The name
	// gets a new file, so other hard links and whoever has it open keep the old.
	Atomic Mode = iota
	// InPlace: the file stays the same file, and what it costs does not grow
	// with it. Whoever reads meanwhile may see a mix. A crash leaves something
	// that Recover makes old or new; see the package comment. Where it cannot
	// be done in place, and no strategy is forced, it is done as Atomic.
	InPlace
)

// A Strategy is a way to get bytes before a file's first byte.
type Strategy uint8

const (
	// Auto takes the fastest way that the file system and the options allow.
	Auto Strategy = iota
	// Slot overwrites room that was reserved at the head. InPlace.
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
	// Mode is what a reader, and a crash, may see. The default is Atomic.
	Mode Mode
	// Strategy forces one way. What cannot be done that way is then an error,
	// ErrStrategy. The default, Auto, takes the fastest that there is, and
	// Result tells which, and why no faster one.
	Strategy Strategy
	// Level is what a finished change survives. The default is Power. None is
	// refused: what this package writes is in the kernel.
	Level durability.Level
	// Pad allows padding: bytes between the header and the old content, where
	// whole blocks are faster. It fills all of what it is given, which is all
	// padding behind one header. The default, nil, is no padding: then only the
	// given bytes are inserted. See PadByte.
	Pad func(pad []byte)
	// Keep is what a new file takes over from the old one. The default, 0, is
	// all that this system can take over: atomicfile.KeepAll on Linux, else
	// atomicfile.KeepMode. What cannot be kept is an error. The permissions are
	// kept in any case, also with atomicfile.KeepNothing, as the new file has
	// the old content: see atomicfile.KeepMode for what is left of them where
	// the owner is another. In place all stays that a write leaves; see the
	// package comment.
	Keep atomicfile.Keep
	// Root, unless nil, is what names are relative to, and nothing below it
	// follows a symlink: not the last name, which is syscall.ELOOP, and not a
	// folder before it. A name that is absolute, empty or holds ".." is an error.
	Root *os.Root
	// OneMount, with Root, makes crossing a mount point below Root an error
	// (syscall.EXDEV). Linux only.
	OneMount bool
	// KeepTimes leaves the times of access and modification as they are. By
	// default the time of modification is that of the change.
	KeepTimes bool
	// LockWait is how long the lock of a file is waited for that somebody else
	// holds, from when it was first refused: a file that is free is done however
	// long it takes to open it. Then the error is a *LockedError with
	// context.DeadlineExceeded; of InsertAll and SwapAll it is the file's, and the
	// others are gone on with. 0, the default, waits until the context is done.
	LockWait time.Duration

	below func(name string) string // unless nil, names are not relative to Root, but this is: see belowroot.Set
	last  *lastFolder              // unless nil, the goroutine's
}

func init() {
	belowroot.Set = func(to any, path func(name string) string) { to.(*Options).below = path }
}

// PadByte pads with one byte: '\n' or ' ' for text.
func PadByte(b byte) func(pad []byte) {
	return func(pad []byte) {
		for i := range pad {
			pad[i] = b
		}
	}
}

// A Result is what a change did.
type Result struct {
	// Strategy is the way that was taken, and Why says why no faster one was.
	// It is Auto where nothing was to be done; then nothing was synced either.
	Strategy Strategy
	Why      string
	// Promise is what the finished change survives, and what a crash leaves.
	Promise durability.Promise
	// Header is the length of the header, and Pad of the padding behind it, in
	// bytes; older headers in the same room are between them. Moved is by how
	// much the old content moved: less than 0 towards the head.
	Header, Pad, Moved int64
}

func (o Options) check() error {
	switch {
	case o.Mode > InPlace:
		return setting.Wrong("header: Options.Mode", o.Mode, "Atomic or InPlace")
	case o.Strategy > Copy:
		return setting.Wrong("header: Options.Strategy", o.Strategy, "Auto, Slot, Shift, Clone, KernelCopy or Copy")
	case o.Level > durability.Kill:
		return setting.Wrong("header: Options.Level", o.Level, "Power or Kill")
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

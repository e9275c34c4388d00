package fileio

import (
	"errors"
	"fmt"
	"os"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/profile"
)

// Way is how a Reader or a Writer moves bytes.
type Way uint8

const (
	Auto     Way = iota // by size, pattern and free memory
	Buffered            // read(2) and write(2) through the page cache
	Mapped              // mmap(2); readers only
	Direct              // O_DIRECT, past the page cache
	Uncached            // through the page cache, dropped behind (RWF_DONTCACHE, Linux 6.14)
)

var wayNames = [...]string{"auto", "buffered", "mapped", "direct", "uncached"}

func (w Way) String() string {
	if int(w) < len(wayNames) {
		return wayNames[w]
	}
	return fmt.Sprintf("Way(%d)", uint8(w))
}

// ParseWay reads the name of a way, as String gives it and a profile holds it.
func ParseWay(s string) (Way, error) {
	for w, name := range wayNames {
		if s == name {
			return Way(w), nil
		}
	}
	return Auto, setting.Wrong("fileio: way", s, "one of %q", wayNames)
}

// Pattern is the order in which a file is read.
type Pattern uint8

const (
	Unknown    Pattern = iota // not known, or none
	Sequential                // from the start to the end
	Random                    // anywhere
	Backward                  // from the end to the start
	Strided                   // pieces at equal distances
)

func (p Pattern) String() string {
	names := [...]string{"unknown", "sequential", "random", "backward", "strided"}
	if int(p) < len(names) {
		return names[p]
	}
	return fmt.Sprintf("Pattern(%d)", uint8(p))
}

// Readahead says who reads ahead, and how much: the values below, or a number
// of bytes from MinWindow to MaxWindow that is kept ahead of every reader that
// goes forward, backward or in strides. That is for the ways Buffered and
// Mapped; Uncached has the kernel's readahead or none, and Direct none.
type Readahead int

const (
	// ReadaheadAuto leaves what goes forward to the kernel, reads ahead of
	// what goes backward or in strides, as long as that is of use, and turns
	// the kernel's readahead off where offsets are random.
	ReadaheadAuto Readahead = 0
	// ReadaheadKernel leaves everything to the kernel.
	ReadaheadKernel Readahead = -1
	// ReadaheadOff has nothing read ahead, by the kernel neither.
	ReadaheadOff Readahead = -2
)

// The window that is read ahead of a reader, in bytes.
const (
	MinWindow = 32 << 10
	MaxWindow = 2 << 20
)

// Options are the settings of a Reader. The zero value works.
type Options struct {
	// Root, unless nil, is what names are relative to. Nothing below it
	// follows a symlink: not the last name, not a folder before it. A name
	// that is absolute, empty or has ".." in it is refused.
	Root *os.Root
	// OneMount refuses, with syscall.EXDEV, what lies behind a mount point
	// below Root. Outside of Linux it is errors.ErrUnsupported.
	OneMount bool

	Way Way
	// Pattern is what the caller knows of the order of reads: Unknown,
	// Sequential or Random. Auto chooses by it, and the kernel is told. The
	// Reader finds out about the others by itself.
	Pattern Pattern
	// BufferSize is how much Read asks the kernel for at once, in bytes, up to
	// 1 GiB; it is rounded up to whole blocks for direct reads. 0 is the
	// profile's with Auto, else 128 KiB, and 1 MiB for direct reads, which nothing reads
	// ahead for.
	BufferSize int
	// Readahead is who reads ahead. The default is ReadaheadAuto.
	Readahead Readahead

	// The following are for mapped files, and refused with another Way than
	// Mapped or Auto. With Auto they count where it maps; Reader.Way tells.

	// Populate reads and maps the whole file in Open.
	Populate bool
	// HugePages asks for huge pages, now with Populate (MADV_COLLAPSE), else by
	// and by (MADV_HUGEPAGE). Whether there are some is the file system's and
	// the kernel's affair; Trace tells of a refusal.
	HugePages bool
	// Prefault reads and maps what lies ahead of a reader that goes forward, a
	// window at a time (MADV_POPULATE_READ), so that it meets no page faults;
	// it waits for the window instead. Where the page cache is in large
	// folios, the page faults are so few that this takes longer than they do.
	Prefault bool

	// Profile is what is known about the disk, of which Read is used: the ways
	// for Auto, the sizes where BufferSize and Readahead are not set. nil is
	// nothing.
	Profile *profile.Profile
	// Trace is told of each operation after it ended, in the goroutine that
	// did it, so of several at once. It must not call the Reader. nil costs
	// nothing.
	Trace func(Op)
}

const (
	defaultBuffer = 128 << 10
	directBuffer  = 1 << 20
	maxBuffer     = 1 << 30
)

func (o *Options) check() error {
	const bytes = "ReadaheadAuto, ReadaheadKernel, ReadaheadOff, or %d to %d bytes"
	switch {
	case o.Root == nil && o.OneMount:
		return setting.Wrong("fileio: Options.OneMount", setting.Text("true without Root"), "Root to be set")
	case o.Way > Uncached:
		return setting.Wrong("fileio: Options.Way", o.Way, "Auto, Buffered, Mapped, Direct or Uncached")
	case o.Pattern > Random:
		return setting.Wrong("fileio: Options.Pattern", o.Pattern, "Unknown, Sequential or Random; the Reader detects the others")
	case o.BufferSize < 0 || o.BufferSize > maxBuffer:
		return setting.Wrong("fileio: Options.BufferSize", setting.Bytes(o.BufferSize), "0 (the default) to %d bytes", maxBuffer)
	case o.Readahead < ReadaheadOff || o.Readahead > 0 && (o.Readahead < MinWindow || o.Readahead > MaxWindow):
		return setting.Wrong("fileio: Options.Readahead", setting.Bytes(o.Readahead), bytes, MinWindow, MaxWindow)
	case o.Readahead > 0 && (o.Way == Direct || o.Way == Uncached):
		return setting.Refused(errors.ErrUnsupported, "fileio: Options.Readahead", setting.Bytes(o.Readahead), "ReadaheadAuto, ReadaheadKernel or ReadaheadOff with Way %v", o.Way)
	case (o.Populate || o.HugePages || o.Prefault) && o.Way != Mapped && o.Way != Auto:
		return setting.Refused(errors.ErrUnsupported, "fileio: Options.Way", o.Way, "Mapped or Auto with Populate, HugePages or Prefault")
	case o.Prefault && (o.Readahead == ReadaheadKernel || o.Readahead == ReadaheadOff):
		return setting.Wrong("fileio: Options.Prefault", true, "ReadaheadAuto or a number of bytes in Options.Readahead with it")
	}
	return nil
}

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
	Uncached            // through the page cache, dropped after use (RWF_DONTCACHE, Linux 6.14)
)

var wayNames = [...]string{"auto", "buffered", "mapped", "direct", "uncached"}

func (w Way) String() string {
	if int(w) < len(wayNames) {
		return wayNames[w]
	}
	return fmt.Sprintf("Way(%d)", uint8(w))
}

// ParseWay returns the way with the given name, as String returns it and a profile
// has it.
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

// Readahead selects the readahead: one of the values below, or a number of bytes from
// MinWindow to MaxWindow to keep ahead of every stream that goes forward, backward or
// in strides. A number is for the ways Buffered and Mapped; Uncached has the kernel's
// readahead or none, and Direct none.
type Readahead int

const (
	// ReadaheadAuto leaves forward streams to the kernel, reads ahead for streams
	// that go backward or in strides, as long as that pays, and turns the kernel's
	// readahead off for random offsets.
	ReadaheadAuto Readahead = 0
	// ReadaheadKernel leaves everything to the kernel.
	ReadaheadKernel Readahead = -1
	// ReadaheadOff turns all readahead off, the kernel's too.
	ReadaheadOff Readahead = -2
)

// The bounds of the readahead window, in bytes.
const (
	MinWindow = 32 << 10
	MaxWindow = 2 << 20
)

// Options are the settings of a Reader. The zero value works.
type Options struct {
	// Root, unless nil, is the directory that names are relative to. No symlink below
	// it is followed, neither in the last element nor before it. A name that is
	// absolute, empty or holds ".." is an error.
	Root *os.Root
	// OneMount, with Root, makes it an error (syscall.EXDEV) to cross a mount point
	// below Root. Off Linux it is errors.ErrUnsupported.
	OneMount bool

	// Way is how the file is read. The default is Auto.
	Way Way
	// Pattern is the order of reads, if the caller knows it: Unknown, Sequential or
	// Random. Auto chooses by it, and the kernel gets it as advice. The Reader
	// detects the other patterns itself.
	Pattern Pattern
	// BufferSize is the size of Read's buffer in bytes, up to 1 GiB, rounded up to
	// whole blocks for direct reads. 0 is the profile's size with Auto, else 128
	// KiB, or 1 MiB for direct reads, which have no readahead.
	BufferSize int
	// Readahead selects the readahead. The default is ReadaheadAuto.
	Readahead Readahead

	// The following are for mapped files, and an error with another Way than
	// Mapped or Auto. Auto ignores them unless it maps the file; see Reader.Way.

	// Populate reads and maps the whole file in Open.
	Populate bool
	// HugePages asks for huge pages, at once with Populate (MADV_COLLAPSE), else
	// over time (MADV_HUGEPAGE). File system and kernel may refuse, which only Trace
	// shows.
	HugePages bool
	// Prefault maps the window ahead of a forward reader (MADV_POPULATE_READ), so
	// that the reader waits for the window instead of taking page faults. With a
	// page cache in large folios there are so few page faults that Prefault takes
	// longer.
	Prefault bool

	// Profile, unless nil, is a measured profile of the disk. Its Read gives the
	// ways for Auto, and the sizes if BufferSize and Readahead are not set.
	Profile *profile.Profile
	// Trace, unless nil, is called after each operation, in the goroutine that
	// made it, so by several at once. It must not call the Reader. nil costs
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

package segment2

import (
	"errors"
	"fmt"
	"io"

	"github.com/stele-go/stele/fileio"
)

// A CorruptError reports bytes that are not as they were written. Block is -1
// for the index.
type CorruptError struct {
	File    string
	Offset  int64 // bytes
	Block   int
	Reason  string
	Rebuilt bool // nothing is lost: the content was rebuilt from other bytes
}

func (e *CorruptError) Error() string {
	if e.Block < 0 {
		return fmt.Sprintf("segment: %s is damaged at offset %d: %s", e.File, e.Offset, e.Reason)
	}
	return fmt.Sprintf("segment: %s is damaged at offset %d: block %d: %s", e.File, e.Offset, e.Block, e.Reason)
}

// A VersionError reports a segment, or a part of one, that needs a newer
// program. It is not damaged, and must not be treated as such.
type VersionError struct {
	File    string
	Version uint32 // of the layout
	// Section is the type of a section that this program does not know, though
	// it must in order to read the segment; 0 if it is the layout.
	Section uint16
}

func (e *VersionError) Error() string {
	if e.Section != 0 {
		return fmt.Sprintf("segment: %s has a section of the unknown type %d: read it with the program that wrote it, or a newer one", e.File, e.Section)
	}
	return fmt.Sprintf("segment: %s has layout version %d, which this program does not know: read it with the program that wrote it, or a newer one", e.File, e.Version)
}

func isCorrupt(err error) bool {
	_, ok := errors.AsType[*CorruptError](err)
	return ok
}

func corrupt(src Source, off int64, block int, format string, args ...any) error {
	return &CorruptError{File: src.Name(), Offset: off, Block: block, Reason: fmt.Sprintf(format, args...)}
}

// readFull fills p from off. A source that ends early is damaged: its size was
// given, and is in the file too. Other errors are those of the disk.
func readFull(src Source, p []byte, off int64, block int) error {
	n, err := src.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	return readError(src, err, off+int64(n), block)
}

func readError(src Source, err error, off int64, block int) error {
	if err == nil || err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, fileio.ErrTruncated) {
		return corrupt(src, off, block, "the file ends here")
	}
	return fmt.Errorf("segment: read %s at offset %d: %w", src.Name(), off, err)
}

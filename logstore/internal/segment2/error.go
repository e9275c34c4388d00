package segment2

import (
	"errors"
	"fmt"
	"io"

	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/logstore/internal/block"
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
	// Section is the type of a section, or Codec that of a block, that this
	// program does not know, though it must in order to read the segment.
	Section, Codec uint16
}

func (e *VersionError) Error() string {
	if e.Codec != 0 {
		return fmt.Sprintf("segment: %s has a block of the unknown codec %d: read it with the program that wrote it, or a newer one", e.File, e.Codec)
	}
	if e.Section != 0 {
		return fmt.Sprintf("segment: %s has a section of the unknown type %d: read it with the program that wrote it, or a newer one", e.File, e.Section)
	}
	return fmt.Sprintf("segment: %s has layout version %d, which this program does not know: read it with the program that wrote it, or a newer one", e.File, e.Version)
}

func isCorrupt(err error) bool {
	_, ok := errors.AsType[*CorruptError](err)
	return ok
}

// A damage is what was found damaged while a result was made.
type damage struct {
	first *CorruptError
	lost  bool // the result is not complete
}

// note records damage. It returns errors that are no damage.
func (d *damage) note(err error) error {
	bad, ok := errors.AsType[*CorruptError](err)
	if ok && d.first == nil {
		d.first = bad
	}
	if ok {
		return nil
	}
	return err
}

// result returns the first damage, marked as rebuilt unless something is lost.
func (d *damage) result() error {
	if d.first == nil {
		return nil
	}
	bad := *d.first
	bad.Rebuilt = !d.lost
	return &bad
}

func corrupt(src Source, off int64, block int, format string, args ...any) error {
	return &CorruptError{File: src.Name(), Offset: off, Block: block, Reason: fmt.Sprintf(format, args...)}
}

// wrongContent returns the error of a block whose checksum matches, and whose
// content is not what the index says: damage, unless the block is of a newer
// version.
func wrongContent(src Source, off int64, number int, why error) error {
	if _, newer := errors.AsType[*block.VersionError](why); newer {
		return fmt.Errorf("segment: %s: block %d at offset %d: %w", src.Name(), number, off, why)
	}
	return corrupt(src, off, number, "%v", why)
}

// ReadFull fills p from off, for a block or, if that is -1, for the index. A source that
// ends early is damaged: its size was given, and is in the file too. Other errors are
// those of the disk.
func ReadFull(src Source, p []byte, off int64, block int) error {
	n, err := src.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	return ReadError(src, err, off+int64(n), block)
}

// ReadError returns the error of a read that ended at off: damage if the source ends there.
func ReadError(src Source, err error, off int64, block int) error {
	if err == nil || err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, fileio.ErrTruncated) {
		return corrupt(src, off, block, "the file ends here")
	}
	return fmt.Errorf("segment: read %s at offset %d: %w", src.Name(), off, err)
}

package segment

import (
	"errors"
	"fmt"
	"io"

	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A CorruptError reports bytes that are not as they were written. Block is -1
// for the index.
type CorruptError = segment2.CorruptError

// A VersionError reports a segment of an unknown layout version. It is not
// damaged, and must not be treated as such.
type VersionError struct {
	File    string
	Version uint32
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("segment: %s has layout version %d, this program knows up to %d: read it with the program that wrote it, or a newer one",
		e.File, e.Version, version)
}

func isCorrupt(err error) bool {
	_, ok := errors.AsType[*CorruptError](err)
	return ok
}

func corrupt(src Source, off int64, block int, format string, args ...any) error {
	return &CorruptError{File: src.Name(), Offset: off, Block: block, Reason: fmt.Sprintf(format, args...)}
}

// wrongContent returns the error of a block whose checksum matches, and whose content is
// not what the index says: damage, unless the block is of a newer version.
func wrongContent(src Source, entry blockEntry, n int, why error) error {
	if newer, ok := errors.AsType[*block.VersionError](why); ok {
		return fmt.Errorf("segment: %s: block %d at offset %d: %w", src.Name(), n, entry.payload(), newer)
	}
	return corrupt(src, entry.payload(), n, "%v", why)
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

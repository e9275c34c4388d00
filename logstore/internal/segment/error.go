package segment

import (
	"errors"
	"fmt"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

func isCorrupt(err error) bool {
	_, ok := errors.AsType[*segment2.CorruptError](err)
	return ok
}

func corrupt(src segment2.Source, off int64, block int, format string, args ...any) error {
	return &segment2.CorruptError{File: src.Name(), Offset: off, Block: block, Reason: fmt.Sprintf(format, args...)}
}

// wrongContent returns the error of a block whose checksum matches, and whose content is
// not what the index says: damage, unless the block is of a newer version.
func wrongContent(src segment2.Source, entry blockEntry, n int, why error) error {
	if newer, ok := errors.AsType[*block.VersionError](why); ok {
		return fmt.Errorf("segment: %s: block %d at offset %d: %w", src.Name(), n, entry.payload(), newer)
	}
	return corrupt(src, entry.payload(), n, "%v", why)
}

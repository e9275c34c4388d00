package fileio

import (
	"errors"
	"fmt"

	"github.com/stele-go/stele/internal/sys"
)

// openDirect opens the file again for writes past the page cache.
func (w *Writer) openDirect(appends bool) error {
	if appends {
		// The bytes after the last whole block would be appended twice.
		return fmt.Errorf("%w: direct writes to a file that was opened with O_APPEND", errors.ErrUnsupported)
	}
	st, err := sys.StatFile(w.f)
	if err != nil {
		return cause(err)
	}
	switch {
	case !st.DirectKnown:
		// Unknown. A page suits every file system with direct I/O; if one needs
		// more, the first write fails with EINVAL.
	case st.DirectOffset == 0:
		return fmt.Errorf("%w: direct I/O on this file system", errors.ErrUnsupported)
	case st.DirectMem > bufferAlign || st.DirectOffset > 1<<20:
		return fmt.Errorf("%w: direct I/O with memory aligned to %d bytes and offsets to %d", errors.ErrUnsupported, st.DirectMem, st.DirectOffset)
	default:
		w.blockSize = max(w.blockSize, st.DirectOffset)
	}
	if w.directFile, err = sys.Reopen(w.f, true, w.sync == SyncODsync); err != nil {
		return fmt.Errorf("%w: O_DIRECT: %w", errors.ErrUnsupported, cause(err))
	}
	return nil
}

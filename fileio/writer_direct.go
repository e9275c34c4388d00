package fileio

import (
	"errors"
	"fmt"

	"github.com/stele-go/stele/internal/sys"
)

// openDirect opens the file once more for writes past the page cache.
func (w *Writer) openDirect(appends bool) error {
	if appends {
		// What is behind the last whole block would be appended twice.
		return fmt.Errorf("%w: direct writes to a file that was opened with O_APPEND", errors.ErrUnsupported)
	}
	st, err := sys.StatFile(w.f)
	if err != nil {
		return cause(err)
	}
	switch {
	case !st.DirectKnown:
		// The file system does not tell. A page suits all that have direct
		// I/O; one that wants more says EINVAL to the first write.
	case st.DirectOffset == 0:
		return fmt.Errorf("%w: this file has no direct I/O", errors.ErrUnsupported)
	case st.DirectMem > bufferAlign || st.DirectOffset > 1<<20:
		return fmt.Errorf("%w: direct I/O wants memory aligned to %d bytes and offsets to %d", errors.ErrUnsupported, st.DirectMem, st.DirectOffset)
	default:
		w.blockSize = max(w.blockSize, st.DirectOffset)
	}
	if w.directFile, err = sys.Reopen(w.f, true, w.sync == SyncODsync); err != nil {
		return fmt.Errorf("%w: O_DIRECT: %w", errors.ErrUnsupported, cause(err))
	}
	return nil
}

package fileio

import "github.com/stele-go/stele/internal/sys"

// preallocate allocates space up to end, at least, in whole steps. A disk without space
// for a step may have space for the bytes, so an error only stops preallocation.
func (w *Writer) preallocate(end int64) {
	if w.preallocStep == 0 || w.preallocFailed || end <= w.reserved {
		return
	}
	n := (end - w.reserved + w.preallocStep - 1) / w.preallocStep * w.preallocStep
	start := w.startTime(false)
	err := sys.Preallocate(w.f, w.reserved, n)
	w.traceOp(OpPrealloc, w.reserved, n, start, err)
	if err != nil {
		w.preallocFailed, w.stats.Fallback = true, w.pathError("preallocate", err)
		// ext4 keeps the part that it allocated before it ran out of space: free it.
		if info, err := w.f.Stat(); err == nil {
			_ = w.f.Truncate(info.Size())
		}
		return
	}
	w.reserved += n
	w.stats.Preallocated += n
}

// releasePrealloc frees the space beyond the end of the file. A truncation to the size
// that the file has frees the blocks beyond it (ext4_setattr: "to truncate possible
// preallocated blocks").
func (w *Writer) releasePrealloc() error {
	if w.stats.Preallocated == 0 {
		return nil
	}
	info, err := w.f.Stat()
	if err != nil {
		return err
	}
	if info.Size() >= w.reserved {
		return nil
	}
	if err := w.f.Truncate(info.Size()); err != nil {
		return w.pathError("truncate", cause(err))
	}
	return nil
}

package fileio

import "github.com/stele-go/stele/internal/sys"

// preallocate reserves room up to end, at least, in whole steps. It is a wish: a
// disk that has no room for a step may have room for the bytes, so its error
// ends only the wishing.
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
		// ext4 keeps what it found before it ran out, so that nobody else finds any.
		if info, err := w.f.Stat(); err == nil {
			_ = w.f.Truncate(info.Size())
		}
		return
	}
	w.reserved += n
	w.stats.Preallocated += n
}

// releasePrealloc gives back the room behind the end of the file. Truncated to the size
// it has, a file loses the blocks behind it (ext4_setattr: "to truncate
// possible preallocated blocks").
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

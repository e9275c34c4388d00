package fileio

import (
	"cmp"
	"os"
	"syscall"
	"time"
	"unsafe"

	"github.com/stele-go/stele/internal/sys"
)

// written returns the offset before which all bytes are in the kernel.
func (w *Writer) written() int64 { return w.base + int64(w.clean) }

// startWindow begins a new, empty window at off.
func (w *Writer) startWindow(off int64) {
	lead := off % int64(w.blockSize)
	w.base = off - lead
	w.lo, w.clean, w.hi = int(lead), int(lead), int(lead)
}

// bufferOrWrite copies p to the buffer or, if p is large or due, writes it to the kernel.
// due says that p is made durable next.
func (w *Writer) bufferOrWrite(p []byte, due bool) error {
	if w.way != Direct && (due || len(p) >= w.bufSize) {
		return w.writeThrough(p, due)
	}
	for len(p) > 0 {
		if w.way == Direct && w.clean == w.hi && w.hi%w.blockSize == 0 {
			// Whole blocks in aligned memory of the caller.
			if n := w.wholeBlocks(p); n >= w.bufSize || due && n > 0 {
				if err := w.writeBlocks(p[:n], due && n == len(p)); err != nil {
					return err
				}
				p = p[n:]
				continue
			}
		}
		if w.buf == nil {
			w.buf = getBuffer(w.bufSize)
		}
		n := copy(w.buf.b[w.hi:], p)
		w.hi += n
		p = p[n:]
		if w.hi == w.bufSize {
			if err := w.flush(due && len(p) == 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// wholeBlocks returns how many bytes of p can be written past the page cache without a
// copy.
func (w *Writer) wholeBlocks(p []byte) int {
	if uintptr(unsafe.Pointer(unsafe.SliceData(p)))%bufferAlign != 0 {
		return 0
	}
	return len(p) - len(p)%w.blockSize
}

// writeThrough writes the buffered bytes and then p, in one call.
func (w *Writer) writeThrough(p []byte, due bool) error {
	var rest []byte
	if w.clean < w.hi {
		rest = w.buf.b[w.clean:w.hi]
	}
	from := w.written()
	n, err := w.send(w.cachedFile(), rest, p, from, due)
	if n < len(rest) && err == syscall.EFAULT {
		w.clean += n
		return cmp.Or(w.flush(false), w.pathError("write", err))
	}
	w.startWindow(from + int64(n))
	return w.writeError(err)
}

// writeError makes the error of a write of the caller's bytes final, unless it is a
// fault in their memory.
func (w *Writer) writeError(err error) error {
	switch err {
	case nil:
		return nil
	case syscall.EFAULT:
		w.startTimer()
		return w.pathError("write", err)
	}
	return w.fail("write", err)
}

// writeBlocks writes whole blocks of the caller past the page cache.
func (w *Writer) writeBlocks(p []byte, due bool) error {
	from := w.written()
	n, err := w.send(w.directFile, p, nil, from, due)
	w.startWindow(from + int64(n))
	return w.writeError(err)
}

// canWriteDurably reports whether everything in the kernel is durable, so that a write
// with RWF_DSYNC, which covers only its own bytes, makes everything before its end
// durable.
func (w *Writer) canWriteDurably() bool {
	return w.sync == SyncDsync && !w.priorUnsynced && w.synced == w.written()
}

// cachedFile returns the file for writes through the page cache.
func (w *Writer) cachedFile() *os.File {
	if w.dsyncFile != nil {
		return w.dsyncFile
	}
	return w.f
}

// flush writes the buffered bytes to the kernel. due says that they are made durable
// next.
func (w *Writer) flush(due bool) error {
	for w.clean < w.hi {
		f, from, to := w.cachedFile(), w.clean, w.hi
		if w.way == Direct {
			f, from, to = w.nextPiece()
		}
		n, err := w.send(f, w.buf.b[from:to], nil, w.base+int64(from), due)
		w.clean = max(w.clean, from+n)
		if err != nil {
			return w.fail("write", err)
		}
	}
	if w.hi == w.bufSize {
		w.startWindow(w.base + int64(w.bufSize))
	}
	return nil
}

// nextPiece returns the range that flush writes next with direct I/O, and the file for
// it: the rest of a block that began before the first write, whole blocks, or the
// beginning of a block that is not full yet. The kernel keeps direct and cached writes
// coherent: a direct write first writes out and then drops the pages that it covers
// (kiocb_invalidate_pages).
func (w *Writer) nextPiece() (f *os.File, from, to int) {
	begin := w.clean - w.clean%w.blockSize
	end := w.hi - w.hi%w.blockSize
	switch {
	case begin < w.lo:
		return w.cachedFile(), w.clean, min(begin+w.blockSize, w.hi)
	case begin < end:
		return w.directFile, begin, end
	}
	return w.cachedFile(), w.clean, w.hi
}

// send writes a and b at off in one call, completely unless it fails; and durably if
// due is set and RWF_DSYNC suffices. It repeats the call without a flag that the file
// system does not support.
func (w *Writer) send(f *os.File, a, b []byte, off int64, due bool) (n int, err error) {
	all := len(a) + len(b)
	if all == 0 {
		return 0, nil
	}
	w.preallocate(off + int64(all))
	durable := due && w.canWriteDurably()
	for {
		var mode sys.WriteMode
		if w.way == Uncached {
			mode |= sys.WriteUncached
		}
		if durable {
			mode |= sys.WriteDurable
		}
		timed := durable || w.times.sample()
		start := w.startTime(timed)
		n, err = sys.WriteVec(f, a, b, off, mode)
		if timed && err == nil {
			w.times.record(time.Since(start), durable)
		}
		w.traceOp(OpWrite, off, int64(n), start, err)
		w.stats.Calls++
		w.stats.Bytes += int64(n)
		if n > 0 || mode == 0 || !sys.NoSuchWrite(err) {
			break
		}
		w.stats.Fallback = err
		if mode&sys.WriteUncached != 0 {
			w.way = Buffered // then try the other flag
		} else {
			w.sync, durable = SyncFdatasync, false
		}
	}
	switch {
	case err != nil:
	case durable:
		w.stats.Syncs++
		w.synced = off + int64(all)
	case w.sync == SyncODsync:
		w.synced = off + int64(all)
	}
	return n, err
}

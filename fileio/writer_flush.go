package fileio

import (
	"cmp"
	"os"
	"syscall"
	"time"
	"unsafe"

	"github.com/stele-go/stele/internal/sys"
)

// written is the offset before which all is in the kernel.
func (w *Writer) written() int64 { return w.base + int64(w.clean) }

// startWindow begins a new, empty window for what comes at off.
func (w *Writer) startWindow(off int64) {
	lead := off % int64(w.blockSize)
	w.base = off - lead
	w.lo, w.clean, w.hi = int(lead), int(lead), int(lead)
}

// bufferOrWrite takes all of p: into the buffer, or, if it is large or has to go to the
// kernel now, past it. due says that it is made durable next.
func (w *Writer) bufferOrWrite(p []byte, due bool) error {
	if w.way != Direct && (due || len(p) >= w.bufSize) {
		return w.writeThrough(p, due)
	}
	for len(p) > 0 {
		if w.way == Direct && w.clean == w.hi && w.hi%w.blockSize == 0 {
			// Blocks of the caller's that could be the buffer's.
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

// wholeBlocks is how many bytes of p can be written past the page cache as
// they are.
func (w *Writer) wholeBlocks(p []byte) int {
	if uintptr(unsafe.Pointer(unsafe.SliceData(p)))%bufferAlign != 0 {
		return 0
	}
	return len(p) - len(p)%w.blockSize
}

// writeThrough writes what is buffered and then p, in one call.
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

// writeError makes the error of a write of the caller's bytes final, unless it is
// about their memory.
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

// writeBlocks writes whole blocks of the caller's.
func (w *Writer) writeBlocks(p []byte, due bool) error {
	from := w.written()
	n, err := w.send(w.directFile, p, nil, from, due)
	w.startWindow(from + int64(n))
	return w.writeError(err)
}

// canWriteDurably reports whether a durable write that goes on from what is in the
// kernel leaves nothing before its end that is not: the flag is about the bytes
// of that write only.
func (w *Writer) canWriteDurably() bool {
	return w.sync == SyncDsync && !w.priorUnsynced && w.synced == w.written()
}

// cachedFile is where bytes go through the page cache.
func (w *Writer) cachedFile() *os.File {
	if w.dsyncFile != nil {
		return w.dsyncFile
	}
	return w.f
}

// flush gives what is buffered to the kernel. due says that it is made
// durable next.
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

// nextPiece is what flush writes next where whole blocks go past the page
// cache: rest of a block that began before the first write, whole blocks, or
// the beginning of one that is not full yet. The kernel keeps the two ways
// coherent: a direct write first writes out and then drops the pages it covers
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

// send writes a and b at off, all of it unless it fails; and durably if that is
// due and this write can do it. Where the file system does not know a flag, it
// goes on without.
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
			w.way = Buffered // and with the other flag once more
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

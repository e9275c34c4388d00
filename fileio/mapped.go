package fileio

import (
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"unsafe"

	"github.com/stele-go/stele/internal/sys"
)

// mapFile maps the file as it is now, and applies the options.
func (r *Reader) mapFile(o Options) error {
	if r.size == 0 {
		return nil // mmap(2) refuses a length of 0
	}
	if int64(int(r.size)) != r.size {
		return errTooLarge
	}
	// With HugePages, do not fill the page table with small pages first.
	mem, err := sys.Mmap(r.f, int(r.size), o.Populate && !o.HugePages)
	if err != nil {
		return err
	}
	r.mem = mem
	if o.HugePages {
		// On an error the pages stay small; the trace shows it.
		_ = r.madvise(mem, sys.MemHuge)
		if o.Populate && r.madvise(mem, sys.MemCollapse) != nil {
			_ = r.madvise(mem, sys.MemPopulate)
		}
	}
	return nil
}

// readMapped copies from the mapping, and reads the bytes after it by pread(2).
func (r *Reader) readMapped(p []byte, off int64) (n int, err error) {
	if off < int64(len(r.mem)) {
		n = len(p)
		if rest := len(r.mem) - int(off); n > rest {
			n = rest
		}
		if !r.copyMapped(p[:n], int(off)) {
			return r.readAfterFault(p, off)
		}
		if n == len(p) {
			return n, nil
		}
	}
	m, err := r.pread(p[n:], off+int64(n))
	return n + m, err
}

// copyMapped copies from the mapping, and reports false after a fault.
func (r *Reader) copyMapped(p []byte, off int) (whole bool) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if !whole {
			if v := recover(); !r.isMappingFault(v) {
				panic(v)
			}
		}
	}()
	copy(p, r.mem[off:])
	return true
}

// readAfterFault reads by pread(2) after a fault: that returns the bytes before the new
// end, or the disk's error.
func (r *Reader) readAfterFault(p []byte, off int64) (int, error) {
	n, err := r.pread(p, off)
	if err == io.EOF && off+int64(n) < int64(len(r.mem)) {
		err = r.offsetError("read", off+int64(n), ErrTruncated)
	}
	return n, err
}

// viewMapped calls f with memory of the mapping.
func (r *Reader) viewMapped(off int64, n int, f func([]byte) error) (err error) {
	old := debug.SetPanicOnFault(true)
	done := false
	defer func() {
		debug.SetPanicOnFault(old)
		if !done {
			// nil: f ended its goroutine by runtime.Goexit.
			if v := recover(); v != nil {
				err = r.faultError(v)
			}
		}
	}()
	err = f(r.mem[off : off+int64(n) : off+int64(n)])
	done = true
	if errors.Is(err, syscall.EFAULT) {
		return r.unreadableError(off, n, err)
	}
	return err
}

// unreadableError returns the cause of an EFAULT, with which the kernel failed to read
// the part of the mapping that f passed to it.
func (r *Reader) unreadableError(off int64, n int, unknown error) error {
	fi, err := r.f.Stat()
	if err != nil {
		return r.offsetError("read", off, err)
	}
	if fi.Size() < off+int64(n) {
		return r.offsetError("read", fi.Size(), ErrTruncated)
	}
	buf := getBuffer(defaultBuffer)
	defer buf.put()
	for end := off + int64(n); off < end; {
		m, err := sys.Pread(r.f, buf.b[:min(end-off, int64(len(buf.b)))], off)
		switch {
		case err != nil:
			return r.offsetError("read", off, err)
		case m == 0:
			return r.offsetError("read", off, ErrTruncated)
		}
		off += int64(m)
	}
	if fi.Size() != r.size || !fi.ModTime().Equal(r.changed) {
		return r.offsetError("read", off, ErrTruncated) // and has grown again since
	}
	return unknown // f passed other memory
}

// isMappingFault reports whether v, a recovered value, is a fault in the mapping.
func (r *Reader) isMappingFault(v any) bool {
	_, ok := faultAt(v, r.mem)
	return ok
}

// faultAt reports whether v, a recovered value, is a fault in the pages of mem, and at
// which offset.
func faultAt(v any, mem []byte) (off int64, ok bool) {
	e, ok := v.(interface {
		runtime.Error
		Addr() uintptr
	})
	if !ok {
		return 0, false
	}
	page := uintptr(os.Getpagesize())
	first := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	base := first &^ (page - 1)
	size := (first + uintptr(len(mem)) - base + page - 1) &^ (page - 1)
	if e.Addr()-base >= size { // also if it is below base
		return 0, false
	}
	return max(0, int64(e.Addr()-first)), true
}

// faultError returns the error for a fault in the mapping. It panics again with any
// other v.
func (r *Reader) faultError(v any) error {
	off, ok := faultAt(v, r.mem)
	if !ok {
		panic(v)
	}
	fi, err := r.f.Stat()
	if err == nil && fi.Size() > off {
		// The file has grown again, or the disk fails, or f wrote to the memory.
		buf := getBuffer(1)
		_, err = sys.Pread(r.f, buf.b, off)
		buf.put()
		if err == nil && fi.Size() == r.size && fi.ModTime().Equal(r.changed) {
			panic(v) // the file did not change: f wrote to the memory
		}
	}
	if err == nil {
		err = ErrTruncated
	}
	return r.offsetError("view", off, err)
}

// prefaultRange maps pages into the page table ahead of the reader.
func (r *Reader) prefaultRange(from, to int64) {
	to = min(to, int64(len(r.mem)))
	if from < to {
		// After an error, as for a truncated file, page faults do it.
		_ = r.madvise(r.mem[from:to], sys.MemPopulate)
	}
}

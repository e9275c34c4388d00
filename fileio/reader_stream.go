package fileio

import (
	"io"
	"math"
)

// Read implements io.Reader with a pooled buffer of Options.BufferSize. Requests of that
// size or more bypass the buffer; those of a mapped file are copied from the mapping.
func (r *Reader) Read(p []byte) (n int, err error) {
	if !r.gate.Enter() {
		return 0, r.closedError("read")
	}
	defer r.gate.Leave()
	if len(p) == 0 {
		return 0, nil
	}
	if n = r.buffered(p); n > 0 {
		r.pos += int64(n)
		return n, nil
	}
	switch {
	case r.way == Mapped, len(p) >= r.bufSize && (r.way != Direct || r.align.accepts(p, r.pos)):
		n, err = r.read(p, r.pos)
	default:
		if err = r.fill(); r.bufLen > 0 {
			n = r.buffered(p)
		}
	}
	r.pos += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// buffered copies the bytes at the position from the buffer.
func (r *Reader) buffered(p []byte) int {
	skip := r.pos - r.bufAt
	if r.buf == nil || skip < 0 || skip >= int64(r.bufLen) {
		return 0
	}
	return copy(p, r.buf.b[skip:r.bufLen])
}

// fill fills the buffer from the position on, or from the beginning of its block. An
// error after some bytes comes again with the next fill.
func (r *Reader) fill() error {
	if r.buf == nil {
		r.buf = getBuffer(r.bufSize)
	}
	r.bufAt, r.bufLen = r.pos, 0
	if r.way == Direct {
		r.bufAt, _ = r.align.around(r.pos, 0)
	}
	n, err := r.read(r.buf.b, r.bufAt)
	if r.bufLen = n; r.bufAt+int64(n) > r.pos {
		return nil
	}
	r.dropBuffer() // not needed at the end of the file
	return err
}

func (r *Reader) dropBuffer() {
	if r.buf != nil {
		r.buf.put()
		r.buf = nil
	}
	r.bufLen = 0
}

// Seek implements io.Seeker. io.SeekEnd is relative to the current end of the file.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	if !r.gate.Enter() {
		return 0, r.closedError("seek")
	}
	defer r.gate.Leave()
	var from int64
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		from = r.pos
	case io.SeekEnd:
		size, err := r.sizeNow()
		if err != nil {
			return 0, r.offsetError("seek", offset, err)
		}
		from = size
	default:
		return 0, r.offsetError("seek", offset, errWhence)
	}
	if offset > 0 && from > math.MaxInt64-offset || from+offset < 0 {
		return 0, r.offsetError("seek", offset, errNegative)
	}
	r.pos = from + offset
	return r.pos, nil
}

// WriteTo implements io.WriterTo: it writes from the position to the end. The bytes of a
// mapped file go to w without a copy; w must not retain them. If a mapped file was
// truncated, w gets the bytes that there are, and the error is ErrTruncated.
//
// If both ends are files, Copy may be faster.
func (r *Reader) WriteTo(w io.Writer) (done int64, err error) {
	if !r.gate.Enter() {
		return 0, r.closedError("read")
	}
	defer r.gate.Leave()
	for {
		var n int
		if r.way == Mapped && r.pos < int64(len(r.mem)) {
			n, err = r.writeMapped(w)
		} else {
			n, err = r.writeBuffered(w)
		}
		done += int64(n)
		r.pos += int64(n)
		if err == io.EOF {
			return done, r.checkWhole()
		}
		if err != nil {
			return done, err
		}
	}
}

// writeBuffered writes the buffered bytes at the position, and fills the buffer first if
// it has none.
func (r *Reader) writeBuffered(w io.Writer) (int, error) {
	if r.buf == nil || r.pos < r.bufAt || r.pos >= r.bufAt+int64(r.bufLen) {
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	return writeAll(w, r.buf.b[r.pos-r.bufAt:r.bufLen])
}

// checkWhole returns ErrTruncated if the file is shorter than its mapping. Nothing else
// detects that, as the last page of a file reads as zeros after the end.
func (r *Reader) checkWhole() error {
	if len(r.mem) == 0 {
		return nil
	}
	size, err := r.sizeNow()
	if err == nil && size < int64(len(r.mem)) {
		err = ErrTruncated
	}
	if err != nil {
		return r.offsetError("read", size, err)
	}
	return nil
}

// writeMapped writes the next part of the mapping, up to the file's current size: after
// a fault w would not get the bytes before it.
func (r *Reader) writeMapped(w io.Writer) (n int, err error) {
	now, err := r.sizeNow()
	if err != nil {
		return 0, r.offsetError("read", r.pos, err)
	}
	if now <= r.pos {
		return 0, r.offsetError("read", now, ErrTruncated)
	}
	size := min(min(now, int64(len(r.mem)))-r.pos, MaxWindow)
	if r.ra != nil {
		r.ra.observe(r.pos, int(size))
	}
	start := r.startTime()
	err = r.viewMapped(r.pos, int(size), func(b []byte) (err error) {
		n, err = writeAll(w, b)
		return err
	})
	r.traceOp(OpView, r.pos, int64(n), start, err)
	return n, err
}

func writeAll(w io.Writer, b []byte) (int, error) {
	n, err := w.Write(b)
	if n < 0 || n > len(b) {
		panic("fileio: Reader.WriteTo: w returned a count outside the bytes given to it")
	}
	if n < len(b) && err == nil {
		err = io.ErrShortWrite
	}
	return n, err
}

package segment2

import (
	"fmt"
	"io"
)

// An output writes a file from its first byte to its last, in calls of at most
// writeSize bytes. After an error nothing more is written.
type output struct {
	w       io.Writer
	err     error
	buf     []byte // not yet written
	flushed int64  // bytes that have been
}

// size returns the bytes of the file so far.
func (o *output) size() int64 { return o.flushed + int64(len(o.buf)) }

func (o *output) put(p []byte) {
	for len(p) > 0 && o.err == nil {
		n := min(len(p), writeSize-len(o.buf))
		o.buf = append(o.buf, p[:n]...)
		p = p[n:]
		if len(o.buf) == writeSize {
			o.flush()
		}
	}
}

func (o *output) flush() {
	if o.err != nil {
		return
	}
	n, err := o.w.Write(o.buf)
	if err == nil && n < len(o.buf) {
		err = io.ErrShortWrite
	}
	if err != nil {
		o.err = fmt.Errorf("segment: write: %w", err)
		return
	}
	o.flushed += int64(n)
	o.buf = o.buf[:0]
}

// A storedPart is a part of the index, as it will be stored.
type storedPart struct {
	p   []byte
	raw int // bytes before compression
}

// part returns the entry of the part at offset off.
func (s storedPart) part(off int64) part {
	return part{off: off, bytes: len(s.p), raw: s.raw, sum: checksum(s.p)}
}

// store compresses a part into memory of its own.
func (z *zipper) store(p []byte) (storedPart, error) {
	var err error
	if z.buf, err = z.append(z.buf[:0], p); err != nil {
		return storedPart{}, err
	}
	return storedPart{append(make([]byte, 0, len(z.buf)), z.buf...), len(p)}, nil
}

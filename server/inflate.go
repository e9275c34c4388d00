package server

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"sync"
)

// An inflater decompresses gzip, and both formats that are called deflate. Its readers are
// made when they are needed first, and used again: each has tables and a window of some 40 KB.
type inflater struct {
	src   bytes.Reader
	gzip  gzip.Reader
	zlib  io.ReadCloser
	flate io.ReadCloser
}

var inflaters = sync.Pool{New: func() any { return new(inflater) }}

// reset returns a reader of a decompressed body. encoding is gzip or deflate.
func (z *inflater) reset(encoding string, body []byte) (r io.Reader, err error) {
	z.src.Reset(body)
	switch {
	case encoding == "gzip":
		return &z.gzip, z.gzip.Reset(&z.src)
	case isZlib(body) && z.zlib == nil:
		z.zlib, err = zlib.NewReader(&z.src)
		return z.zlib, err
	case isZlib(body):
		return z.zlib, z.zlib.(zlib.Resetter).Reset(&z.src, nil)
	case z.flate == nil:
		z.flate = flate.NewReader(&z.src)
		return z.flate, nil
	}
	return z.flate, z.flate.(flate.Resetter).Reset(&z.src, nil)
}

// release gives the inflater back, without the body.
func (z *inflater) release() {
	z.src.Reset(nil)
	z.gzip.Header = gzip.Header{}
	inflaters.Put(z)
}

// isZlib tells the two formats that clients call deflate apart: HTTP means zlib's, and
// some, Loki among them, mean the bare one.
func isZlib(p []byte) bool {
	return len(p) >= 2 && p[0]&0x0f == 8 && (uint(p[0])<<8|uint(p[1]))%31 == 0
}

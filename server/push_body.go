package server

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/klauspost/compress/snappy"
)

// A body in memory is of one of these sizes, so that buffers can be used again.
var bufferSizes = [...]int{4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20}

// firstSize is the size with which reading begins.
const firstSize = 1

var bufferPools [len(bufferSizes)]sync.Pool

// A buffer is pooled memory.
type buffer struct {
	p     []byte
	class int // -1: of another size, and not pooled
}

// newBuffer returns a buffer of n bytes or more.
func newBuffer(n int) *buffer {
	for i, size := range bufferSizes {
		if n <= size {
			if b, ok := bufferPools[i].Get().(*buffer); ok {
				return b
			}
			return &buffer{make([]byte, size), i}
		}
	}
	return &buffer{make([]byte, n), -1}
}

func (b *buffer) release() {
	if b.class >= 0 {
		bufferPools[b.class].Put(b)
	}
}

// acquire takes n bytes of memory for a push, and waits for them up to PushLimits.Wait.
func (u *pusher) acquire(ctx context.Context, p *push, n int64) error {
	if u.memory.TryAcquire(n, 0) != n {
		if err := u.waitFor(ctx, n); err != nil {
			return err
		}
	}
	p.held += n
	return nil
}

func (u *pusher) waitFor(ctx context.Context, n int64) error {
	u.m.waiting.Inc()
	defer u.m.waiting.Dec()
	if _, err := u.memory.Acquire(ctx, n); err != nil {
		u.m.noMemory.Inc()
		return retryLater(http.StatusTooManyRequests, 1, "the bodies of other pushes have all memory: %w", err)
	}
	return nil
}

// free gives back the memory of a push.
func (u *pusher) free(p *push) {
	u.memory.Release(p.held)
	p.held = 0
}

// read returns the body of a push as it was sent.
func (u *pusher) read(ctx context.Context, p *push) (body []byte, b *buffer, err error) {
	if p.length > u.o.Body || int64(len(p.ready)) > u.o.Body {
		return nil, nil, refuse(http.StatusRequestEntityTooLarge, "the body has %d bytes; want at most %d", max(p.length, int64(len(p.ready))), u.o.Body)
	}
	if p.ready != nil {
		return p.ready, nil, u.acquire(ctx, p, int64(len(p.ready)))
	}
	return u.readAll(ctx, p, p.body, p.length, u.o.Body, "body")
}

// readAll reads a body of so many bytes, or of unknown length if that is below 0. The memory
// that it takes grows with what comes: a client that sends nothing holds none.
func (u *pusher) readAll(ctx context.Context, p *push, r io.Reader, length, most int64, what string) ([]byte, *buffer, error) {
	end := length // behind which nothing is read
	if length < 0 {
		end = most + 1
	}
	var b *buffer
	for n := 0; ; {
		size := int64(bufferSizes[firstSize])
		if b != nil {
			size = int64(len(b.p)) * 4
		}
		larger, err := u.grow(ctx, p, int(min(size, end)))
		if err != nil {
			return nil, b, err
		}
		if b != nil {
			copy(larger.p, b.p[:n])
			b.release()
		}
		b = larger
		for stop := int(min(int64(len(b.p)), end)); n < stop; {
			k, err := r.Read(b.p[n:stop])
			n += k
			if err == io.EOF && length < 0 && int64(n) <= most {
				return b.p[:n], b, nil
			}
			if err != nil && int64(n) < end {
				return nil, b, bodyError(err)
			}
		}
		if int64(n) == length {
			return b.p[:n], b, nil
		}
		if int64(n) > most {
			return nil, b, refuse(http.StatusRequestEntityTooLarge, "the %s has more than %d bytes", what, most)
		}
	}
}

// grow takes memory for a buffer. One who has some already does not wait for more, as all
// who have some might.
func (u *pusher) grow(ctx context.Context, p *push, size int) (*buffer, error) {
	n := int64(size)
	if p.held == 0 {
		return newBuffer(size), u.acquire(ctx, p, n)
	}
	got := u.memory.TryAcquire(n, 0)
	p.held += got
	if got < n {
		u.m.noMemory.Inc()
		return nil, retryLater(http.StatusTooManyRequests, 1, "the bodies of other pushes have all memory")
	}
	return newBuffer(size), nil
}

// bodyError returns the error of a body that did not come whole, with its status.
func bodyError(err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return refuse(http.StatusRequestTimeout, "the body came too slowly")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return refuse(http.StatusBadRequest, "the body is shorter than its Content-Length")
	}
	return refuse(http.StatusBadRequest, "the body cannot be read: %w", err)
}

// decompress returns the decompressed body of a push.
func (u *pusher) decompress(ctx context.Context, p *push, body []byte) (plain []byte, b *buffer, err error) {
	encoding := p.encoding
	if encoding != "" {
		encoding = strings.ToLower(encoding)
	}
	isSnappy := !isJSON(p.contentType)
	switch encoding {
	case "", "identity":
	case "snappy":
		isSnappy = true
	case "gzip", "deflate":
		if plain, b, err = u.inflate(ctx, p, encoding, body); err != nil || !isSnappy {
			return plain, b, err
		}
		inflated := b
		defer inflated.release()
		body = plain
	default:
		return nil, nil, refuse(http.StatusBadRequest, "Content-Encoding %q is not supported; want gzip, deflate or snappy", p.encoding)
	}
	if isSnappy {
		return u.unsnap(ctx, p, body)
	}
	return body, nil, nil
}

func (u *pusher) unsnap(ctx context.Context, p *push, body []byte) ([]byte, *buffer, error) {
	n, err := snappy.DecodedLen(body)
	if err != nil {
		return nil, nil, refuse(http.StatusBadRequest, "the body is not compressed by snappy: %w", err)
	}
	if int64(n) > u.o.Decompressed {
		return nil, nil, refuse(http.StatusRequestEntityTooLarge, "the body has %d bytes decompressed; want at most %d", n, u.o.Decompressed)
	}
	// Three bytes of snappy make 64 at most, so a body that says so is not believed.
	if n > 32*len(body)+64 {
		return nil, nil, refuse(http.StatusBadRequest, "the body says it has %d bytes decompressed, which its %d bytes cannot be", n, len(body))
	}
	b, err := u.grow(ctx, p, n)
	if err != nil {
		return nil, b, err
	}
	plain, err := snappy.Decode(b.p, body)
	if err != nil {
		return nil, b, refuse(http.StatusBadRequest, "the body is not compressed by snappy: %w", err)
	}
	return plain, b, nil
}

var gzipReaders sync.Pool

func (u *pusher) inflate(ctx context.Context, p *push, encoding string, body []byte) ([]byte, *buffer, error) {
	var r io.Reader
	var err error
	switch {
	case encoding == "gzip":
		z, ok := gzipReaders.Get().(*gzip.Reader)
		if !ok {
			z = new(gzip.Reader)
		}
		defer gzipReaders.Put(z)
		err = z.Reset(bytes.NewReader(body))
		r = z
	case isZlib(body):
		r, err = zlib.NewReader(bytes.NewReader(body))
	default:
		r = flate.NewReader(bytes.NewReader(body))
	}
	if err != nil {
		return nil, nil, refuse(http.StatusBadRequest, "the body is not compressed by %s: %w", encoding, err)
	}
	return u.readAll(ctx, p, r, -1, u.o.Decompressed, "decompressed body")
}

// isZlib tells the two formats that clients call deflate apart: HTTP means zlib's, and
// some, Loki among them, mean the bare one.
func isZlib(p []byte) bool {
	return len(p) >= 2 && p[0]&0x0f == 8 && (uint(p[0])<<8|uint(p[1]))%31 == 0
}

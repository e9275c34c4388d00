package server

import (
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

// firstSize is the index of the size with which reading begins.
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

// bufferSize returns how many bytes a buffer of n bytes takes.
func bufferSize(n int) int64 {
	for _, size := range bufferSizes {
		if n <= size {
			return int64(size)
		}
	}
	return int64(n)
}

// read returns the body of a push as it was sent. A client that announces a body and
// sends none of it holds a buffer of the first size; once that has come, the push waits for the memory
// of all the rest, if the size of that is known and moderate. It holds none meanwhile,
// so pushes do not wait for each other.
func (u *pusher) read(p *push) (body []byte, b *buffer, err error) {
	if p.length > u.o.Body || int64(len(p.ready)) > u.o.Body {
		return nil, nil, refuse(http.StatusRequestEntityTooLarge, "the body has %d bytes; want at most %d", max(p.length, int64(len(p.ready))), u.o.Body)
	}
	if p.ready != nil {
		return p.ready, nil, u.reserve(p, int64(len(p.ready)), u.expects(p, p.ready))
	}
	r := bodyReader{r: p.body, length: p.length, most: u.o.Body, what: "body"}
	first := bufferSizes[firstSize]
	if r.length >= 0 {
		first = min(first, int(r.length))
	}
	if err := u.reserve(p, bufferSize(first), 0); err != nil {
		return nil, nil, err
	}
	b = newBuffer(first)
	whole, err := r.fill(b.p)
	if err == nil {
		more := u.expects(p, b.p[:r.n])
		if !whole {
			more += bufferSize(r.next(len(b.p)))
		}
		err = u.reserve(p, int64(len(b.p)), more)
	}
	if err != nil || whole {
		return b.p[:r.n], b, err
	}
	return u.readAll(p, &r, b)
}

// maxExpected bounds the memory that a push gets by what its first bytes say.
const maxExpected = 8 << 20

// expects returns how much memory the decompressed body and its entries will take, by the
// first bytes of the body, 0 if they do not tell.
func (u *pusher) expects(p *push, first []byte) int64 {
	if isJSON(p.contentType) || p.encoding != "" && p.encoding != "snappy" {
		return 0
	}
	length := max(p.length, int64(len(first)))
	n, err := snappy.DecodedLen(first)
	if err != nil || !plausible(n, int(length)) || n > maxExpected {
		return 0
	}
	return bufferSize(n) + int64(n)/2
}

// A bodyReader reads a body into buffers.
type bodyReader struct {
	r      io.Reader
	length int64 // -1: not known
	most   int64
	what   string
	n      int // read so far
}

// end returns behind how many bytes nothing is read.
func (r *bodyReader) end() int64 {
	if r.length < 0 {
		return r.most + 1
	}
	return r.length
}

// maxAtOnce is the largest body that gets its memory at once, after its first bytes.
const maxAtOnce = 1 << 20

// next returns the size of the buffer behind one of size bytes.
func (r *bodyReader) next(size int) int {
	if r.length >= 0 && r.length <= maxAtOnce {
		return int(r.length)
	}
	return int(min(int64(size)*4, r.end()))
}

// fill reads until the buffer is full. It reports whether the body is whole.
func (r *bodyReader) fill(p []byte) (whole bool, err error) {
	for stop := int(min(int64(len(p)), r.end())); r.n < stop; {
		k, err := r.r.Read(p[r.n:stop])
		r.n += k
		if err == io.EOF && r.length < 0 && int64(r.n) <= r.most {
			return true, nil
		}
		if err != nil && int64(r.n) < r.end() {
			return false, bodyError(err)
		}
	}
	if int64(r.n) > r.most {
		return false, refuse(http.StatusRequestEntityTooLarge, "the %s has more than %d bytes", r.what, r.most)
	}
	return int64(r.n) == r.length, nil
}

// readAll reads the rest of a body, of which some may be in b. The memory that it takes
// grows with what comes.
func (u *pusher) readAll(p *push, r *bodyReader, b *buffer) ([]byte, *buffer, error) {
	for {
		size := min(bufferSizes[firstSize], int(r.end()))
		if b != nil {
			size = r.next(len(b.p))
		}
		larger, err := u.buffer(p, size)
		if err != nil {
			return nil, b, err
		}
		if b != nil {
			copy(larger.p, b.p[:r.n])
			p.spare += int64(len(b.p))
			b.release()
		}
		b = larger
		if whole, err := r.fill(b.p); err != nil || whole {
			return b.p[:r.n], b, err
		}
	}
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
func (u *pusher) decompress(p *push, body []byte) (plain []byte, b *buffer, err error) {
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
		if plain, b, err = u.inflate(p, encoding, body); err != nil || !isSnappy {
			return plain, b, err
		}
		inflated := b
		defer inflated.release()
		body = plain
	default:
		return nil, nil, refuse(http.StatusBadRequest, "Content-Encoding %q is not supported; want gzip, deflate or snappy", p.encoding)
	}
	if isSnappy {
		return u.unsnap(p, body)
	}
	return body, nil, nil
}

func (u *pusher) unsnap(p *push, body []byte) ([]byte, *buffer, error) {
	n, err := snappy.DecodedLen(body)
	if err != nil {
		return nil, nil, refuse(http.StatusBadRequest, "the body is not compressed by snappy: %w", err)
	}
	if int64(n) > u.o.Decompressed {
		return nil, nil, refuse(http.StatusRequestEntityTooLarge, "the body has %d bytes decompressed; want at most %d", n, u.o.Decompressed)
	}
	if !plausible(n, len(body)) {
		return nil, nil, refuse(http.StatusBadRequest, "the body says it has %d bytes decompressed, which its %d bytes cannot be", n, len(body))
	}
	b, err := u.buffer(p, n)
	if err != nil {
		return nil, b, err
	}
	plain, err := snappy.Decode(b.p, body)
	if err != nil {
		return nil, b, refuse(http.StatusBadRequest, "the body is not compressed by snappy: %w", err)
	}
	return plain, b, nil
}

// plausible reports whether so many bytes of snappy can have n decompressed: three make 64 at
// most, so a body that says more is not believed.
func plausible(n, compressed int) bool { return n <= 32*compressed+64 }

func (u *pusher) inflate(p *push, encoding string, body []byte) ([]byte, *buffer, error) {
	z := inflaters.Get().(*inflater)
	defer z.release()
	r, err := z.reset(encoding, body)
	if err != nil {
		return nil, nil, refuse(http.StatusBadRequest, "the body is not compressed by %s: %w", encoding, err)
	}
	return u.readAll(p, &bodyReader{r: r, length: -1, most: u.o.Decompressed, what: "decompressed body"}, nil)
}

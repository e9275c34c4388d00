package segment2

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// A decoder decodes varints from the front of p. After an invalid one bad is
// set, and all later ones are 0.
type decoder struct {
	p   []byte
	at  int // where the next one is: a write to p costs more
	bad bool
}

func (c *decoder) fail() { c.at, c.bad = len(c.p), true }

// left returns how many bytes follow.
func (c *decoder) left() int { return len(c.p) - c.at }

func (c *decoder) uvarint() uint64 {
	if c.at < len(c.p) && c.p[c.at] < 0x80 {
		c.at++
		return uint64(c.p[c.at-1])
	}
	return c.long()
}

// long decodes a uvarint of several bytes.
func (c *decoder) long() uint64 {
	v, n := binary.Uvarint(c.p[c.at:])
	if n <= 0 {
		c.fail()
		return 0
	}
	c.at += n
	return v
}

// each decodes n uvarints, a column, and calls set with each, until one is
// invalid or set returns false. It is faster than n calls of uvarint.
func (c *decoder) each(n int, set func(i int, v uint64) bool) {
	p, at := c.p, c.at
	for i := range n {
		var v uint64
		if at < len(p) && p[at] < 0x80 {
			v = uint64(p[at])
			at++
		} else if len(p)-at >= 5 && p[at+1] < 0x80 {
			v = uint64(p[at]&0x7f) | uint64(p[at+1])<<7
			at += 2
		} else if len(p)-at >= 5 && p[at+2] < 0x80 {
			v = uint64(p[at]&0x7f) | uint64(p[at+1]&0x7f)<<7 | uint64(p[at+2])<<14
			at += 3
		} else if len(p)-at >= 5 && p[at+3] < 0x80 {
			v = uint64(p[at]&0x7f) | uint64(p[at+1]&0x7f)<<7 | uint64(p[at+2]&0x7f)<<14 | uint64(p[at+3])<<21
			at += 4
		} else {
			c.at = at
			v = c.long()
			at = c.at
		}
		if c.bad || !set(i, v) {
			c.fail()
			return
		}
	}
	c.at = at
}

// signed returns the signed number that a uvarint stands for.
func signed(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// atMost decodes a uvarint of at most limit.
func (c *decoder) atMost(limit uint64) uint64 {
	v := c.uvarint()
	if v > limit {
		c.fail()
		return 0
	}
	return v
}

// zigzag decodes a signed varint.
func (c *decoder) zigzag() int64 {
	return signed(c.uvarint())
}

func (c *decoder) byte() byte {
	if p := c.take(1); len(p) == 1 {
		return p[0]
	}
	return 0
}

func (c *decoder) uint32() uint32 {
	if p := c.take(4); len(p) == 4 {
		return binary.LittleEndian.Uint32(p)
	}
	return 0
}

func (c *decoder) take(n uint64) []byte {
	if n > uint64(c.left()) {
		c.fail()
		return nil
	}
	from := c.at
	c.at += int(n)
	return c.p[from:c.at:c.at]
}

// rest returns all bytes that follow.
func (c *decoder) rest() []byte { return c.take(uint64(c.left())) }

// sized decodes bytes that have their size before them.
func (c *decoder) sized() []byte { return c.take(c.uvarint()) }

// end returns errForm if anything was invalid, or is left over.
func (c *decoder) end() error {
	if c.bad || c.left() > 0 {
		return errForm
	}
	return nil
}

func appendZigzag(dst []byte, v int64) []byte {
	return binary.AppendUvarint(dst, uint64(v)<<1^uint64(v>>63))
}

// Where nothing else bounds the size of strings that share prefixes, each
// restartInterval-th stands for itself. So they take at most that many times
// their encoded size.
const restartInterval = 16

// A prefixWriter encodes byte strings by their difference to the one before:
// the size of the common prefix, the size of the rest, the rest.
type prefixWriter struct {
	last     []byte
	count    int
	restarts bool // each restartInterval-th shares nothing
}

func (w *prefixWriter) append(dst, s []byte) []byte {
	same := 0
	if !w.restarts || w.count%restartInterval != 0 {
		for same < min(len(s), len(w.last)) && s[same] == w.last[same] {
			same++
		}
	}
	w.last = append(w.last[:same], s[same:]...)
	w.count++
	dst = binary.AppendUvarint(dst, uint64(same))
	dst = binary.AppendUvarint(dst, uint64(len(s)-same))
	return append(dst, s[same:]...)
}

func (w *prefixWriter) reset() { w.last, w.count = w.last[:0], 0 }

// A prefixReader decodes what a prefixWriter wrote.
type prefixReader struct {
	last     []byte
	count    int
	restarts bool
}

// next returns the next one, of at most limit bytes, valid until the one after.
func (r *prefixReader) next(c *decoder, limit int) []byte {
	same := c.atMost(uint64(min(limit, len(r.last))))
	rest := c.take(c.atMost(uint64(limit) - same))
	if r.restarts && same > 0 && r.count%restartInterval == 0 {
		c.fail()
		return nil
	}
	r.count++
	r.last = append(r.last[:same], rest...)
	return r.last
}

const (
	// zipWindow is how far back the compressor searches. Most of what it gets is
	// smaller. It allocates twice as much memory.
	zipWindow = 128 << 10
	// minZip is the smallest size to compress: less is not worth the time.
	minZip = 128
	// A reader allocates no more than zipBase and zipRatio times what is stored.
	zipBase  = 64 << 10
	zipRatio = 256
)

// maxUnzipped returns the most bytes that so many stored ones may stand for.
func maxUnzipped(stored int) int { return min(zipBase+zipRatio*stored, MaxRead) }

// A zipper compresses. The zero value is ready. It is for one goroutine.
type zipper struct {
	zstd *zstd.Encoder
	buf  []byte // of store
}

// append appends src, compressed if that makes it smaller: so it is compressed
// if fewer bytes were appended than src has.
func (z *zipper) append(dst, src []byte) ([]byte, error) {
	if len(src) < minZip || len(src) > MaxRead {
		return append(dst, src...), nil
	}
	if z.zstd == nil {
		var err error
		// Whatever is compressed has a checksum of its own.
		z.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true),
			zstd.WithWindowSize(zipWindow), zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithSingleSegment(true))
		if err != nil {
			return dst, err
		}
	}
	start := len(dst)
	dst = z.zstd.EncodeAll(src, dst)
	if n := len(dst) - start; n < len(src) && len(src) <= maxUnzipped(n) {
		return dst, nil
	}
	return append(dst[:start], src...), nil
}

// unzippers are decompressors, each for one goroutine at a time.
var unzippers = sync.Pool{New: func() any {
	// No window is allocated: the output is the window.
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxMemory(MaxRead), zstd.WithDecoderMaxWindow(MaxRead))
	if err != nil {
		return err
	}
	return d
}}

// unzip returns the raw bytes that stored stands for: stored itself, or what
// it decompresses to, in the memory of buf if that is large enough. Whatever
// the frame claims, no more is decompressed.
func unzip(buf, stored []byte, raw int) ([]byte, error) {
	if raw == len(stored) {
		return stored, nil
	}
	if raw < len(stored) || raw > maxUnzipped(len(stored)) {
		return nil, errForm
	}
	// With that much spare capacity the decompressor takes its fast path.
	const overrun = 16
	if cap(buf) < raw+overrun {
		buf = make([]byte, 0, raw+overrun)
	}
	pooled := unzippers.Get()
	d, ok := pooled.(*zstd.Decoder)
	if !ok {
		return nil, pooled.(error)
	}
	defer unzippers.Put(pooled)
	out, err := d.DecodeAll(stored, buf[:0])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errForm, err)
	}
	if len(out) != raw {
		return nil, errForm
	}
	return out, nil
}

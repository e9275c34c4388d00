package block

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

const (
	// window is how far back a compressor searches: more than most blocks have.
	window = 512 << 10
	// level: on logs the default level takes a third more time than the
	// fastest, and its blocks are no smaller; SpeedBetterCompression makes them
	// 6 to 12 % smaller, in two and a half times the time.
	level = zstd.SpeedFastest

	// minCompress is the smallest size to compress: a frame has up to ten bytes
	// beside its content.
	minCompress = 32

	// overrun is how many bytes the decompressor may write after its output;
	// with that much spare capacity it takes its fast path.
	overrun = 16

	// maxFrame is the raw bytes of the largest section.
	maxFrame = MaxRaw + MaxRows
)

// A compressor compresses sections independently. The zero value is ready.
type compressor struct {
	level  zstd.EncoderLevel // 0: level
	lowMem bool              // its buffers grow with the sections
	zstd   *zstd.Encoder
}

// A compressorPool lends compressors that compress harder, which takes longer and more memory.
// All encoders share it: a block needs one for a tenth of the time that it takes, so one for
// four processors will do.
type compressorPool struct {
	free    chan *compressor
	unasked atomic.Int64 // blocks since the last that needed one
}

// maxUnasked is after how many blocks that needed none a compressor gives its memory up.
const maxUnasked = 64

func newCompressorPool(level zstd.EncoderLevel) *compressorPool {
	p := &compressorPool{free: make(chan *compressor, max(1, runtime.GOMAXPROCS(0)/4))}
	for range cap(p.free) {
		p.free <- &compressor{level: level, lowMem: true}
	}
	return p
}

func (p *compressorPool) get() *compressor {
	p.unasked.Store(0)
	return <-p.free
}

func (p *compressorPool) put(c *compressor) { p.free <- c }

// skip notes a block that needs no compressor of the pool.
func (p *compressorPool) skip() {
	if p.unasked.Add(1)%maxUnasked != 0 {
		return
	}
	for range len(p.free) {
		select {
		case c := <-p.free:
			c.zstd = nil
			p.free <- c
		default: // it was taken meanwhile
		}
	}
}

// A compressor of betterCompressors takes 5 MiB, one of defaultCompressors 2.
var (
	defaultCompressors = newCompressorPool(zstd.SpeedDefault)
	betterCompressors  = newCompressorPool(zstd.SpeedBetterCompression)
)

// append appends src, compressed if that makes it smaller.
func (c *compressor) append(dst, src []byte) (_ []byte, zipped bool, err error) {
	return c.appendIf(dst, src, 1)
}

// appendIf appends src, compressed if that saves so many bytes, at least 1.
func (c *compressor) appendIf(dst, src []byte, saved int) (_ []byte, zipped bool, err error) {
	if len(src) < minCompress {
		return append(dst, src...), false, nil
	}
	if c.zstd == nil {
		// Sections have checksums of their own. Times have no matches, but
		// entropy coding still makes them smaller.
		of := c.level
		if of == 0 {
			of = level
		}
		c.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(c.lowMem),
			zstd.WithWindowSize(window), zstd.WithEncoderLevel(of), zstd.WithSingleSegment(true),
			zstd.WithAllLitEntropyCompression(true))
		if err != nil {
			return dst, false, err
		}
	}
	start := len(dst)
	dst = c.zstd.EncodeAll(src, dst)
	if len(dst)-start <= len(src)-saved {
		return dst, true, nil
	}
	return append(dst[:start], src...), false, nil
}

// A decompressor reverses a compressor. The zero value is ready.
type decompressor struct {
	zstd *zstd.Decoder
	// frame is a copy of the last frame, unless it was large: a zstd.Decoder keeps what it has
	// decoded, and is not to keep the block.
	frame []byte
	large bool // a large one may be kept
}

// copiedFrame is how large a frame may be that is copied.
const copiedFrame = 64 << 10

// own returns the bytes of a frame in memory that the decompressor may keep.
func (d *decompressor) own(src []byte) []byte {
	if len(src) > copiedFrame {
		d.large = true
		return src
	}
	d.frame = append(d.frame[:0], src...)
	return d.frame
}

// release sees to it that no frame is kept but a copy.
func (d *decompressor) release() {
	if d.large {
		_, _ = d.zstd.DecodeAll(nothingFrame(), make([]byte, 0, len(nothing)+overrun))
		d.large = false
	}
}

// weight returns how many bytes of memory are kept, but for those of the zstd.Decoder.
func (d *decompressor) weight() int64 { return int64(cap(d.frame)) }

// nothingFrame returns a frame with a little of all that a frame may have.
var nothingFrame = sync.OnceValue(func() []byte {
	p, _, _ := new(compressor).append(nil, []byte(nothing))
	return p
})

// nothing is text with repetitions, and different bytes between them.
const nothing = "the frame of a text about a frame, the text about the frame of a text, and of the frames about it"

// decompress returns the raw bytes of src, in the memory of dst if that is
// large enough. Whatever the frame claims, it decompresses no more than fits.
func (d *decompressor) decompress(dst, src []byte, raw int) ([]byte, error) {
	if d.zstd == nil {
		var err error
		// No window is allocated: the output is the window.
		d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true),
			zstd.WithDecoderMaxMemory(maxFrame), zstd.WithDecoderMaxWindow(maxFrame))
		if err != nil {
			return dst[:0], err
		}
	}
	if cap(dst) < raw+overrun {
		dst = make([]byte, 0, raw+overrun)
	}
	out, err := d.zstd.DecodeAll(d.own(src), dst[:0])
	if err != nil {
		return dst[:0], damaged("%v", err)
	}
	if len(out) != raw {
		return dst[:0], damaged("%d bytes decompressed; want %d", len(out), raw)
	}
	return out, nil
}

package block

import "github.com/klauspost/compress/zstd"

const (
	// window is how far back the compressor searches: more than most blocks
	// have. It allocates twice as much memory.
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
	// better compresses harder: for texts that are few of the bytes of their lines, such
	// as those of columns. Of logs of other programs, blocks become 5 to 10 % smaller.
	better bool
	zstd   *zstd.Encoder
}

// betterBytes is about the memory of a compressor that compresses harder, most of it a
// table of 2^19 places of 8 bytes.
const betterBytes = 4<<20 + 256<<10

// append appends src, compressed if that makes it smaller.
func (c *compressor) append(dst, src []byte) (_ []byte, zipped bool, err error) {
	if len(src) < minCompress {
		return append(dst, src...), false, nil
	}
	if c.zstd == nil {
		// Sections have checksums of their own. Times have no matches, but
		// entropy coding still makes them smaller.
		l := level
		if c.better {
			l = zstd.SpeedBetterCompression
		}
		c.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
			zstd.WithWindowSize(window), zstd.WithEncoderLevel(l), zstd.WithSingleSegment(true),
			zstd.WithAllLitEntropyCompression(true))
		if err != nil {
			return dst, false, err
		}
	}
	start := len(dst)
	dst = c.zstd.EncodeAll(src, dst)
	if len(dst)-start < len(src) {
		return dst, true, nil
	}
	return append(dst[:start], src...), false, nil
}

// A decompressor reverses a compressor. The zero value is ready.
type decompressor struct{ zstd *zstd.Decoder }

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
	out, err := d.zstd.DecodeAll(src, dst[:0])
	if err != nil {
		return dst[:0], damaged("%v", err)
	}
	if len(out) != raw {
		return dst[:0], damaged("%d bytes decompressed; want %d", len(out), raw)
	}
	return out, nil
}

package block

import "github.com/klauspost/compress/zstd"

const (
	// window is how far back the compressor looks: more than most blocks have.
	// It sets aside twice as much memory.
	window = 512 << 10
	// level: on logs the default one takes a third more time than the fastest, and
	// its blocks are no smaller; those of the better one are 6 to 12 % smaller, for
	// two and a half times the time.
	level = zstd.SpeedFastest

	// minZip is how many bytes are tried at all: a frame has up to ten beside
	// its content.
	minZip = 32

	// overrun is by how many bytes the decompressor may write behind what it
	// decompresses; with that much capacity it takes its fast path.
	overrun = 16

	// maxFrame is the raw bytes of the largest section.
	maxFrame = MaxRaw + MaxRows
)

// A compressor compresses pieces of bytes, each by itself. The zero value is ready.
type compressor struct{ zstd *zstd.Encoder }

// append appends src, compressed if that makes it smaller.
func (c *compressor) append(dst, src []byte) (_ []byte, zipped bool, err error) {
	if len(src) < minZip {
		return append(dst, src...), false, nil
	}
	if c.zstd == nil {
		// Sections have checksums of their own. Times have no matches, and are
		// still worth coding.
		c.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
			zstd.WithWindowSize(window), zstd.WithEncoderLevel(level), zstd.WithSingleSegment(true),
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

// A decompressor is the other way. The zero value is ready.
type decompressor struct{ zstd *zstd.Decoder }

// decompress returns the raw bytes of src, in the memory of dst if that is
// large enough. Whatever src says, it decompresses no more than fits there.
func (d *decompressor) decompress(dst, src []byte, raw int) ([]byte, error) {
	if d.zstd == nil {
		var err error
		// Nothing is set aside for a window: the output is the window.
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
		return dst[:0], damaged("%d bytes decompressed, not %d", len(out), raw)
	}
	return out, nil
}

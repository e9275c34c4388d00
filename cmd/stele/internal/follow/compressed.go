package follow

import (
	"bufio"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// ErrCompressed reports a file that is compressed in a format that is not read.
var ErrCompressed = errors.New("want text, or a file that is compressed by gzip, zstd or bzip2")

// A compression is a format of compressed files.
type compression struct {
	name  string
	magic string                             // their first bytes
	text  func(io.Reader) (io.Reader, error) // nil if it is not read
}

const mostMagic = 6

var compressions = []compression{
	{"gzip", "\x1f\x8b\x08", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
	{"zstd", "\x28\xb5\x2f\xfd", func(r io.Reader) (io.Reader, error) {
		// With a concurrency of 1 the caller decodes: no goroutine is left to close.
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(128<<20))
	}},
	{"bzip2", "BZh", func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }},
	{"xz", "\xfd7zXZ\x00", nil},
	{"lz4", "\x04\x22\x4d\x18", nil},
	{"compress", "\x1f\x9d", nil},
}

// compressionOf returns the format of a file, or nil if it is text.
func compressionOf(f io.ReaderAt) *compression {
	var head [mostMagic + 4]byte
	n, _ := f.ReadAt(head[:], 0)
	for i := range compressions {
		c := &compressions[i]
		if !strings.HasPrefix(string(head[:n]), c.magic) {
			continue
		}
		if c.name == "bzip2" && (n < len(head) || string(head[4:]) != "1AY&SY") {
			continue // a text may begin with BZh
		}
		return c
	}
	return nil
}

// Text returns the text of a file from its begin on: what is in it, decompressed if it is
// compressed. It moves no offset of f. The error is ErrCompressed if the format is not
// read.
func Text(f *os.File) (io.Reader, error) {
	r := io.NewSectionReader(f, 0, 1<<62)
	c := compressionOf(f)
	if c == nil {
		return r, nil
	}
	if c.text == nil {
		return nil, fmt.Errorf("%s: compressed by %s: %w", f.Name(), c.name, ErrCompressed)
	}
	return c.text(bufio.NewReaderSize(r, 64<<10))
}

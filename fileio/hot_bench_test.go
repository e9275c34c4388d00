package fileio_test

import (
	"fmt"
	"testing"

	"github.com/stele-go/stele/fileio"
)

// BenchmarkRead reads from the page cache, at random offsets.
func BenchmarkRead(b *testing.B) {
	for _, c := range []struct {
		way  fileio.Way
		size int
	}{{fileio.Buffered, 64}, {fileio.Buffered, 4096}, {fileio.Mapped, 4096}, {fileio.Buffered, 128 << 10}} {
		b.Run(fmt.Sprintf("way=%v/size=%d", c.way, c.size), func(b *testing.B) {
			r := open(b, fileOf(b, content(4<<20)), fileio.Options{Way: c.way, Pattern: fileio.Random})
			p := make([]byte, c.size)
			b.ReportAllocs()
			for off := int64(0); b.Loop(); off = (off + 4096*77) % (3 << 20) {
				if _, err := r.ReadAt(p, off); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFlush writes records of 1,000 bytes, each flushed to the kernel or made
// durable, to a file of 1 MiB.
func BenchmarkFlush(b *testing.B) {
	for _, c := range []struct {
		survives string
		o        fileio.WriterOptions
	}{
		{"none", fileio.WriterOptions{Policy: fileio.Never()}},
		{"kill", fileio.WriterOptions{Policy: fileio.Never()}},
		{"power", fileio.WriterOptions{}},
	} {
		b.Run("survives="+c.survives, func(b *testing.B) {
			b.ReportAllocs()
			f := create(b)
			var w *fileio.Writer
			for i := 0; b.Loop(); i++ {
				if i%1000 == 0 {
					if w != nil {
						ok(b, w.Close())
					}
					_, err := f.Seek(0, 0)
					ok(b, err)
					w = newWriter(b, f, c.o)
				}
				_, err := w.Write(record)
				ok(b, err)
				if c.survives != "none" {
					ok(b, w.Commit())
				}
			}
			ok(b, w.Close())
		})
	}
}

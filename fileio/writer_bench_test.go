package fileio_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stele-go/stele/fileio"
)

// benchDir is where the benchmarks write: STELE_BENCH_DIR, or the directory for
// temporary files, which is in memory on many machines.
func benchDir(b *testing.B) string {
	dir, err := os.MkdirTemp(os.Getenv("STELE_BENCH_DIR"), "fileio")
	ok(b, err)
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// BenchmarkWriter writes fresh files of 16 MiB in pieces of 1 KiB. survives=kill ends
// with the bytes in the page cache, survives=power with a commit.
func BenchmarkWriter(b *testing.B) {
	const size, piece = 16 << 20, 1 << 10
	p := make([]byte, piece)
	run := func(name string, open func(f *os.File) (io.Writer, func() error)) {
		b.Run(name, func(b *testing.B) {
			dir := benchDir(b)
			b.SetBytes(size)
			for b.Loop() {
				f, err := os.Create(filepath.Join(dir, "file"))
				ok(b, err)
				w, done := open(f)
				for range size / piece {
					if _, err := w.Write(p); err != nil {
						b.Fatal(err)
					}
				}
				ok(b, done())
				ok(b, f.Close())
			}
		})
	}
	for _, kib := range []int{16, 32, 64, 128, 256, 1024} {
		run(fmt.Sprintf("way=bufio/buffer=%dKi/survives=kill", kib), func(f *os.File) (io.Writer, func() error) {
			w := bufio.NewWriterSize(f, kib<<10)
			return w, w.Flush
		})
		for _, way := range []fileio.Way{fileio.Buffered, fileio.Direct} {
			for _, policy := range []fileio.Policy{fileio.Never(), fileio.OnCommit()} {
				survives := "power"
				if policy == fileio.Never() {
					survives = "kill"
				}
				run(fmt.Sprintf("way=%v/buffer=%dKi/survives=%s", way, kib, survives), func(f *os.File) (io.Writer, func() error) {
					w := newWriter(b, f, fileio.WriterOptions{Way: way, BufferSize: kib << 10, Policy: policy})
					return w, w.Close
				})
			}
		}
	}
}

// BenchmarkCommit writes 1 KiB and commits it, at the end of a file that
// grows; survives=power.
func BenchmarkCommit(b *testing.B) {
	for _, m := range mechanisms() {
		if m == fileio.SyncAuto || m == fileio.SyncRange { // promises less
			continue
		}
		b.Run(fmt.Sprintf("sync=%s/survives=power", m), func(b *testing.B) {
			f, err := os.Create(filepath.Join(benchDir(b), "file"))
			ok(b, err)
			defer f.Close()
			w := newWriter(b, f, fileio.WriterOptions{Sync: m})
			p := make([]byte, 1<<10)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.Write(p); err != nil {
					b.Fatal(err)
				}
				ok(b, w.Commit())
			}
			ok(b, w.Close())
		})
	}
}

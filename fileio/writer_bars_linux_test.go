package fileio_test

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/internal/measure/scratch"
)

// TestWriterBars compares a Writer with writes by hand, in rounds of one block each, on
// an ext4 with a journal. A Writer may be at most 10 % slower than writes by hand of the
// same promise. Direct writes, which wait for the device, are shown without a bar.
func TestWriterBars(t *testing.T) {
	needLong(t)
	image, err := scratch.Image(t.Context(), scratch.Options{FS: "ext4", Size: 512 << 20, Store: t.TempDir()})
	if err != nil {
		t.Skip(err)
	}
	defer image.Close()
	const direct = "Writer, direct"
	type way struct {
		name string
		run  func(f *os.File) error
	}
	committed := func(m fileio.Mechanism) func(f *os.File) error {
		return func(f *os.File) error {
			w, err := fileio.NewWriter(f, fileio.WriterOptions{Sync: m})
			if err != nil {
				return err
			}
			for range 40 {
				if _, err := w.Write(record); err != nil {
					return err
				}
				if err := w.Commit(); err != nil {
					return err
				}
			}
			return w.Close()
		}
	}
	streamed := func(o fileio.WriterOptions) func(f *os.File) error {
		return func(f *os.File) error {
			w, err := fileio.NewWriter(f, o)
			if err != nil {
				return err
			}
			for range 64 << 10 {
				if _, err := w.Write(record); err != nil {
					return err
				}
			}
			return w.Close()
		}
	}
	byBufio := func(sync bool) func(f *os.File) error {
		return func(f *os.File) error {
			w := bufio.NewWriterSize(f, fileio.DefaultWriteBuffer)
			for range 64 << 10 {
				if _, err := w.Write(record); err != nil {
					return err
				}
			}
			if err := w.Flush(); err != nil || !sync {
				return err
			}
			return f.Sync()
		}
	}
	for _, c := range []struct {
		name string
		base way
		ways []way
	}{
		{"40 records of 1,000 bytes, each committed; power", way{"write and fsync", func(f *os.File) error {
			for range 40 {
				if _, err := f.Write(record); err != nil {
					return err
				}
				if err := f.Sync(); err != nil {
					return err
				}
			}
			return nil
		}}, []way{
			{"Commit, fdatasync", committed(fileio.SyncFdatasync)},
			{"Commit, dsync", committed(fileio.SyncDsync)},
			{"Commit, o_dsync", committed(fileio.SyncODsync)},
		}},
		{"64 MB in records of 1,000 bytes; kill", way{"bufio, 128 KiB", byBufio(false)}, []way{
			{"Writer", streamed(fileio.WriterOptions{Policy: fileio.Never()})},
		}},
		{"64 MB in records of 1,000 bytes; power", way{"bufio, 128 KiB, and fsync", byBufio(true)}, []way{
			{"Writer", streamed(fileio.WriterOptions{})},
			{direct, streamed(fileio.WriterOptions{Way: fileio.Direct})},
		}},
	} {
		const rounds = 15
		measure := func(w way) float64 {
			name := filepath.Join(image.Path, "file")
			f, err := os.Create(name)
			ok(t, err)
			start := time.Now()
			ok(t, w.run(f))
			took := time.Since(start)
			if at, err := f.Seek(0, io.SeekEnd); err != nil || at%1000 != 0 || at == 0 {
				t.Fatalf("%s wrote %d bytes, %v", w.name, at, err)
			}
			ok(t, f.Close())
			ok(t, os.Remove(name))
			return took.Seconds()
		}
		ratios := make([][]float64, len(c.ways))
		for range rounds {
			base := measure(c.base)
			for i, w := range c.ways {
				ratios[i] = append(ratios[i], measure(w)/base)
			}
		}
		for i, w := range c.ways {
			e := middle(t, ratios[i])
			t.Logf("%s: %s takes %.2fx of %s [%.2f, %.2f], %d pairs", c.name, w.name, e.Value, c.base.name, e.Lo, e.Hi, rounds)
			if e.Lo > 1.1 && w.name != direct {
				t.Errorf("%s: %s is slower", c.name, w.name)
			}
		}
	}
}

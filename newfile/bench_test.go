package newfile_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/newfile"
)

// Set TMPDIR to a directory on the disk in question, and mind that the speeds
// are those of level Kill unless the name says otherwise.

// spread does b.N operations from n goroutines.
func spread(b *testing.B, n int, op func(i int) error) {
	b.ReportAllocs()
	b.ResetTimer()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= b.N {
					return
				}
				if err := op(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func closed(f *os.File, err error) error {
	if err != nil {
		return err
	}
	return f.Close()
}

func fileName(i int) string { return fmt.Sprintf("%08d.seg", i) }

func BenchmarkCreate(b *testing.B) {
	ways := []struct {
		name string
		open func(b *testing.B, dir string) func(i int) error
	}{
		{"os.Create", func(b *testing.B, dir string) func(int) error {
			return func(i int) error { return closed(os.Create(filepath.Join(dir, fileName(i)))) }
		}},
		{"Create/shards=0", createIn(0)},
		{"Create/shards=256", createIn(256)},
		{"Touch/shards=256", func(b *testing.B, dir string) func(int) error {
			d := openAt(b, dir, newfile.Options{Level: durability.Kill, Shards: 256})
			return func(i int) error { return d.Touch(fileName(i), 0o666) }
		}},
	}
	for _, n := range []int{1, 16, 1000} {
		for _, w := range ways {
			b.Run(fmt.Sprintf("goroutines=%d/way=%s", n, w.name), func(b *testing.B) {
				spread(b, n, w.open(b, b.TempDir()))
			})
		}
	}
}

func createIn(shards int) func(b *testing.B, dir string) func(i int) error {
	return func(b *testing.B, dir string) func(int) error {
		d := openAt(b, dir, newfile.Options{Level: durability.Kill, Shards: shards})
		return func(i int) error { return closed(d.Create(fileName(i), 0o666)) }
	}
}

// BenchmarkQueue compares the queue with direct calls from as many goroutines.
func BenchmarkQueue(b *testing.B) {
	for _, l := range []durability.Level{durability.Kill, durability.Power} {
		for _, n := range []int{1, 16, 1000} {
			for _, way := range []string{"direct", "queue"} {
				b.Run(fmt.Sprintf("level=%v/goroutines=%d/way=%s", l, n, way), func(b *testing.B) {
					d, _ := open(b, newfile.Options{Level: l, Shards: 16})
					if way == "direct" {
						spread(b, n, func(i int) error { return closed(d.Create(fileName(i), 0o666)) })
						return
					}
					q := openQueue(b, d, newfile.QueueOptions{})
					spread(b, n, func(i int) error { return closed(q.Create(b.Context(), fileName(i))) })
					b.ReportMetric(float64(b.N)/float64(q.Stats().Batches), "files/batch")
				})
			}
		}
	}
}

// BenchmarkScratch creates a file without a name, writes 4 KiB into it and closes it.
func BenchmarkScratch(b *testing.B) {
	page := make([]byte, 4096)
	write := func(w io.WriteCloser, err error) error {
		if err != nil {
			return err
		}
		_, err = w.Write(page)
		return errors.Join(err, w.Close())
	}
	for _, w := range []struct {
		name string
		open func(b *testing.B) func(i int) error
	}{
		{"os.CreateTemp", func(b *testing.B) func(int) error {
			dir := b.TempDir()
			return func(int) error {
				f, err := os.CreateTemp(dir, "")
				return errors.Join(write(f, err), os.Remove(f.Name()))
			}
		}},
		{"Anonymous", func(b *testing.B) func(int) error {
			d, _ := open(b, kill)
			return func(int) error {
				f, err := newfile.Anonymous(d, 0o600)
				return write(f, err)
			}
		}},
		{"Memory", func(*testing.B) func(int) error {
			return func(int) error {
				m, err := newfile.Memory("scratch")
				return write(m, err)
			}
		}},
		{"Pool", func(b *testing.B) func(int) error {
			p := openPool(b, 64)
			return func(int) error {
				s, err := p.Get(b.Context())
				return write(s, err)
			}
		}},
	} {
		for _, n := range []int{1, 16} {
			b.Run(fmt.Sprintf("goroutines=%d/way=%s", n, w.name), func(b *testing.B) { spread(b, n, w.open(b)) })
		}
	}
}

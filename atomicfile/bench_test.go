package atomicfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/measure/scratch"
)

// plain is the sequence of every textbook, and the baseline at level Power.
func plain(dir, name string, data []byte) error {
	f, err := os.CreateTemp(dir, name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// A replaceWay replaces files in a directory. Each call replaces `files` of them.
type replaceWay struct {
	name  string
	files int
	open  func(tb testing.TB, dir string) func(data []byte) error
}

func checkName(o atomicfile.Options) func(testing.TB, string) func([]byte) error {
	return func(tb testing.TB, dir string) func([]byte) error {
		d, err := atomicfile.OpenDir(dir, o)
		must(tb, err)
		tb.Cleanup(func() { d.Close() })
		return func(data []byte) error { return d.WriteFile("f", data, 0o644) }
	}
}

func batch(n int, o atomicfile.Options) func(testing.TB, string) func([]byte) error {
	return func(tb testing.TB, dir string) func([]byte) error {
		d, err := atomicfile.OpenDir(dir, o)
		must(tb, err)
		tb.Cleanup(func() { d.Close() })
		return func(data []byte) error {
			b := d.Batch()
			defer b.Abort()
			for i := range n {
				if err := b.Add(fmt.Sprint(i), data, 0o644); err != nil {
					return err
				}
			}
			return b.Commit()
		}
	}
}

var replaceWays = []replaceWay{
	{"plain", 1, func(_ testing.TB, dir string) func([]byte) error {
		return func(data []byte) error { return plain(dir, "f", data) }
	}},
	{"WriteFile", 1, func(_ testing.TB, dir string) func([]byte) error {
		return func(data []byte) error { return atomicfile.WriteFile(filepath.Join(dir, "f"), data, 0o644) }
	}},
	{"Dir", 1, checkName(atomicfile.Options{})},
	{"Dir-each", 1, checkName(syncEach)},
	{"Batch", 64, batch(64, atomicfile.Options{})},
	{"Batch-each", 64, batch(64, syncEach)},
	{"Batch-syncfs", 64, batch(64, syncWhole)},
}

var (
	syncEach  = atomicfile.Options{Sync: atomicfile.SyncEach}
	syncWhole = atomicfile.Options{Sync: atomicfile.SyncWholeFS}
)

// Set TMPDIR to a directory on the disk in question. All ways but those of
// level=kill are at level Power. The figure is for one file.
func BenchmarkReplace(b *testing.B) {
	for _, size := range []int{4 << 10, 1 << 20} {
		data := bytes.Repeat([]byte("x"), size)
		ways := slices.Concat(replaceWays, []replaceWay{
			{"Dir/level=kill", 1, checkName(kill)},
			{"Batch/level=kill", 64, batch(64, kill)},
		})
		for _, w := range ways {
			b.Run(fmt.Sprintf("size=%d/way=%s/files=%d", size, w.name, w.files), func(b *testing.B) {
				replace := w.open(b, b.TempDir())
				for b.Loop() {
					must(b, replace(data))
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*w.files), "ns/file")
			})
		}
		b.Run(fmt.Sprintf("size=%d/way=Dir/callers=16", size), func(b *testing.B) {
			d, err := atomicfile.OpenDir(b.TempDir(), atomicfile.Options{})
			must(b, err)
			defer d.Close()
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := d.WriteFile(fmt.Sprintf("%p", pb), data, 0o644); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// TestBars compares the package with the plain sequence of the same promise, at level
// Power with 4 KiB: a Commit through a Dir takes at most 0.85 of its time, a Batch of
// 64 at most 0.30 a file. It measures in the directory STELE_DIR or, without it and as
// root, on an ext4 image, in rounds of all ways, and takes about a minute.
func TestBars(t *testing.T) {
	if os.Getenv("STELE_LONG") == "" {
		t.Skip("measures for a minute; set STELE_LONG=1")
	}
	top := os.Getenv("STELE_DIR")
	if top == "" {
		t.Chdir(t.TempDir())
		image, err := scratch.Image(t.Context(), scratch.Options{FS: "ext4"})
		if err != nil {
			t.Skipf("needs a journaled ext4 to measure on; set STELE_DIR to a directory on one: %v", err)
		}
		t.Cleanup(func() { image.Close() }) // after the cleanups of the ways
		top = image.Path
	}
	const rounds, files = 30, 64 // files a turn
	data := bytes.Repeat([]byte("x"), 4<<10)
	ways := replaceWays
	calls := make([]func([]byte) error, len(ways))
	for i, w := range ways {
		dir := filepath.Join(top, w.name)
		must(t, os.Mkdir(dir, 0o755))
		calls[i] = w.open(t, dir)
	}
	ratios := make([][]float64, len(ways))
	var base []time.Duration
	for round := range rounds + 1 {
		took := make([]time.Duration, len(ways))
		for j := range ways {
			i := (j + round) % len(ways)
			start := time.Now()
			for n := 0; n < files; n += ways[i].files {
				must(t, calls[i](data))
			}
			took[i] = time.Since(start)
		}
		if round == 0 {
			continue // the first round warms the caches
		}
		base = append(base, took[0]/files)
		for i := range ways {
			ratios[i] = append(ratios[i], float64(took[i])/float64(took[0]))
		}
	}
	slices.Sort(base)
	t.Logf("plain: %v a file (median of %d rounds of %d files, %v, 4 KiB, in %s)", base[rounds/2], rounds, files, durability.Power, top)
	bars := map[string]float64{"Dir": 0.85, "Batch": 0.30, "Batch-each": 0.30}
	for i, w := range ways {
		r := ratios[i]
		slices.Sort(r)
		t.Logf("%-13s %.2f of plain, from %.2f to %.2f", w.name, r[rounds/2], r[rounds/10], r[rounds-1-rounds/10])
		if bar, ok := bars[w.name]; ok && r[rounds/2] > bar {
			t.Errorf("%s takes %.2f of the plain sequence, more than %.2f", w.name, r[rounds/2], bar)
		}
	}
}

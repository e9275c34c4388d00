package mkdir_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/mkdir"
)

// Set TMPDIR to a directory on the disk in question, and mind that the speeds
// are those of level Kill.

func BenchmarkKnown(b *testing.B) {
	const p = "tenant-0042/2026/11/21/08/segments/index"
	for _, others := range []int{0, 10_000} {
		b.Run(fmt.Sprintf("others=%d", others), func(b *testing.B) {
			m, _ := open(b, mkdir.Options{Level: durability.Kill})
			must(b, m.All(p, 0o755))
			for i := range others / 10 { // known, but not made in the loop
				must(b, m.All(fmt.Sprintf("o/%d/%d", i%30, i), 0o755))
			}
			b.Run("callers=1", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := m.All(p, 0o755); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(fmt.Sprintf("callers=%d", runtime.GOMAXPROCS(0)), func(b *testing.B) {
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						m.All(p, 0o755)
					}
				})
			})
		})
	}
}

// ways are the ways of creating one path below a root.
var ways = []struct {
	name string
	open func(b *testing.B, dir string) func(rel string) error
}{
	{"os.MkdirAll", func(_ *testing.B, dir string) func(string) error {
		return func(rel string) error { return os.MkdirAll(dir+"/"+rel, 0o755) }
	}},
	{"mkdir.All", func(_ *testing.B, dir string) func(string) error {
		return func(rel string) error { return mkdir.All(dir+"/"+rel, 0o755) }
	}},
	{"Maker", func(b *testing.B, dir string) func(string) error {
		m := openAt(b, dir, mkdir.Options{Level: durability.Kill})
		return func(rel string) error { return m.All(rel, 0o755) }
	}},
	{"Maker-confined", func(b *testing.B, dir string) func(string) error {
		m := openAt(b, dir, mkdir.Options{Level: durability.Kill, Confined: true})
		return func(rel string) error { return m.All(rel, 0o755) }
	}},
}

func BenchmarkFresh7(b *testing.B) {
	for _, w := range ways {
		b.Run("way="+w.name, func(b *testing.B) {
			all := w.open(b, b.TempDir())
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := all(fmt.Sprintf("%08d/x/y/z/w/v/u", i)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkBatch(b *testing.B) {
	paths, _ := manyPaths(10_000)
	run := func(name string, f func(dir string)) {
		b.Run("paths=10000/way="+name, func(b *testing.B) {
			b.ReportAllocs()
			top := b.TempDir()
			for i := 0; b.Loop(); i++ {
				dir := filepath.Join(top, fmt.Sprint(i))
				must(b, os.Mkdir(dir, 0o755))
				f(dir)
				b.StopTimer()
				must(b, os.RemoveAll(dir))
				b.StartTimer()
			}
		})
	}
	run("os.MkdirAll", func(dir string) {
		for _, p := range paths {
			must(b, os.MkdirAll(dir+"/"+p, 0o755))
		}
	})
	for _, o := range []mkdir.Options{
		{Workers: 1}, {}, {Workers: 1, Confined: true}, {Confined: true}, {Workers: 1, Undo: true},
	} {
		o.Level = durability.Kill
		run(fmt.Sprintf("Batch/confined=%v/undo=%v/workers=%d", o.Confined, o.Undo, o.Workers), func(dir string) {
			m := openAt(b, dir, o)
			_, err := m.Batch(b.Context(), slices.Values(paths), 0o755)
			must(b, err)
			must(b, m.Close())
		})
	}
}

package header_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/header"
)

// rewrite is the most common way: it reads the file, and writes it again after the
// header. A crash leaves it torn.
func rewrite(name string, head []byte) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return os.WriteFile(name, slices.Concat(head, b), 0o644)
}

// copyAndRename is the careful way with the standard library.
// io.Copy between files is copy_file_range(2) here.
func copyAndRename(name string, head []byte) error {
	old, err := os.Open(name)
	if err != nil {
		return err
	}
	defer old.Close()
	f, err := os.CreateTemp(filepath.Dir(name), "copy")
	if err != nil {
		return err
	}
	_, err = f.Write(head)
	if err == nil {
		_, err = io.Copy(f, old)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// TestBars compares the package with the usual ways, at level Kill with a
// header of 128 bytes before 10 MiB that are in the page cache and on the
// disk: a slot takes at most 1/100 of reading and rewriting the file; Atomic
// on XFS, by sharing blocks, at most 1/15 of copying and renaming; Atomic on
// ext4 at most 0.9 of copying by io.Copy and renaming. Each round measures each way, on
// a fresh file. The fastest round of each counts: other work on the machine only makes
// rounds slower, and short ones more so. See TestShiftBar for the shift.
func TestBars(t *testing.T) {
	if os.Getenv("STELE_LONG") == "" {
		t.Skip("measures for half a minute, and not beside other tests; set STELE_LONG=1")
	}
	const rounds = 15
	head := bytes.Repeat([]byte("h"), 128)
	padded := header.Options{Level: durability.Kill, Pad: header.PadByte('\n')}
	type way struct {
		name string
		fs   []string // file systems to measure on; nil: all
		do   func(name string) error
		bar  map[string]float64 // by file system
		of   int                // the way that it is compared with
		room bool
	}
	insert := func(o header.Options) func(string) error {
		return func(name string) error { return second(header.Insert(context.Background(), name, head, o)) }
	}
	ways := []way{
		{name: "read-and-rewrite", do: func(name string) error { return rewrite(name, head) }},
		{name: "copy-and-rename", do: func(name string) error { return copyAndRename(name, head) }, of: 1},
		{name: "slot", do: insert(header.Options{Level: durability.Kill, Mode: header.InPlace}), room: true,
			bar: map[string]float64{"ext4": 0.01, "xfs": 0.01, "btrfs": 0.01}},
		{name: "atomic", do: insert(kill), of: 1, bar: map[string]float64{"ext4": 0.9}},
		{name: "atomic, kernel-copy", do: insert(header.Options{Level: durability.Kill, Strategy: header.KernelCopy}), of: 1},
		{name: "atomic, padded", fs: []string{"xfs", "btrfs"}, do: insert(padded), of: 1, bar: map[string]float64{"xfs": 1. / 15}},
	}
	if len(images()) == 0 {
		t.Skip("needs images, and so root, loop devices and mkfs")
	}
	for _, place := range images() {
		t.Run(place.name, func(t *testing.T) {
			name := filepath.Join(place.dir, "file")
			content := bytesOf(10 << 20)
			took := make([][]float64, len(ways))
			for round := range rounds + 1 {
				for j := range ways {
					i := (j + round) % len(ways)
					w := ways[i]
					if w.fs != nil && !slices.Contains(w.fs, place.name) {
						continue
					}
					must(t, os.WriteFile(name, content, 0o644))
					if w.room {
						must(t, second(header.Reserve(context.Background(), name, 4096, padded)))
					}
					f, err := os.Open(name)
					must(t, err)
					must(t, errors.Join(f.Sync(), f.Close()))
					runtime.GC() // belongs to the ways that allocate, not to the next
					start := time.Now()
					must(t, w.do(name))
					if d := time.Since(start); round > 0 { // the first round warms the caches
						took[i] = append(took[i], float64(d))
					}
					must(t, os.Remove(name))
				}
			}
			for i, w := range ways {
				if took[i] == nil {
					continue
				}
				slices.Sort(took[i])
				base := slices.Sorted(slices.Values(took[w.of]))
				ratio := took[i][0] / base[0]
				t.Logf("%-20s fastest %9v, %.4f of %s; median %9v, %.4f", w.name, micros(took[i][0]), ratio, ways[w.of].name,
					micros(took[i][rounds/2]), took[i][rounds/2]/base[rounds/2])
				if bar, ok := w.bar[place.name]; ok && ratio > bar {
					t.Errorf("%s takes more than %.4f of %s", w.name, bar, ways[w.of].name)
				}
			}
		})
	}
}

func micros(ns float64) time.Duration { return time.Duration(ns).Round(time.Microsecond / 10) }

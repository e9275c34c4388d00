package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	scratchfs "github.com/stele-go/stele/internal/measure/scratch"
)

// A store on a mount for reading only is read, also a damaged one.
func TestOpenReadOnlyMount(t *testing.T) {
	c := newClosedStore(t)
	if err := syscall.Mount(c.dir, c.dir, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("bind mount: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(c.dir, 0); err != nil {
			t.Error(err)
		}
	}()
	file, off := c.record(t, 5)
	flipByte(t, file, off+100)
	if err := syscall.Mount("", c.dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("mount for reading only: %v", err)
	}
	if err := os.WriteFile(filepath.Join(c.dir, "x"), nil, 0o644); !errors.Is(err, syscall.EROFS) {
		t.Fatalf("a write to it: %v", err)
	}
	s, err := OpenReadOnly(c.dir, small())
	if err != nil {
		t.Fatal(err)
	}
	got, _, last := readThrough(s, Query{})
	sameCounts(t, "mounted for reading only", got, c.all(25))
	if !errors.Is(last, ErrIncomplete) {
		t.Errorf("last error %v", last)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A store on a disk without a free byte is read.
func TestOpenReadOnlyFullDisk(t *testing.T) {
	for _, kind := range []string{"ext4", "btrfs"} {
		t.Run(kind, func(t *testing.T) {
			p, err := scratchfs.Image(t.Context(), scratchfs.Options{FS: kind, Size: 256 << 20, Store: t.TempDir()})
			if err != nil {
				t.Skip(err)
			}
			defer func() {
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			}()
			c := newClosedStore(t)
			dirs := []string{filepath.Join(p.Path, "intact"), filepath.Join(p.Path, "damaged")}
			for _, dir := range dirs {
				if err := os.CopyFS(dir, os.DirFS(c.dir)); err != nil {
					t.Fatal(err)
				}
			}
			c.dir = dirs[1]
			file, off := c.record(t, 3)
			flipByte(t, file, off+100)
			fill(t, p.Path)
			for i, lost := range [][]int{nil, {27}} {
				before := tree(t, dirs[i])
				s, err := OpenReadOnly(dirs[i], small())
				if err != nil {
					t.Fatal(err)
				}
				got, _, last := readThrough(s, Query{})
				sameCounts(t, "a full disk", got, c.all(lost...))
				if errors.Is(last, ErrIncomplete) != (len(lost) > 0) {
					t.Errorf("last error %v", last)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				if !slices.Equal(before, tree(t, dirs[i])) {
					t.Error("the store has changed")
				}
			}
			// Open, which writes on btrfs before anything else, says what reads.
			s, err := Open(dirs[0], small())
			if err == nil {
				s.Close()
			} else if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "or read the store by OpenReadOnly") {
				t.Errorf("Open: %v", err)
			}
		})
	}
}

// fill writes files to a file system until nothing fits, not even a byte.
func fill(t *testing.T, dir string) {
	t.Helper()
	for i, size := 0, 16<<20; size > 0; i++ {
		err := os.WriteFile(filepath.Join(dir, fmt.Sprint("ballast", i)), bytes.Repeat([]byte{byte(i), 1}, size/2), 0o644)
		switch {
		case errors.Is(err, syscall.ENOSPC):
			size /= 4
		case err != nil:
			t.Fatal(err)
		}
	}
}

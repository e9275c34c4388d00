package logstore

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	scratchfs "github.com/stele-go/stele/internal/measure/scratch"
)

// A snapshot on another file system has copies; on another mount of its own, where
// links are refused, it has clones if the file system can share blocks.
func TestSnapshotElsewhere(t *testing.T) {
	s := snapshotStore(t, late(small()), 23)
	want := counted(contents(t, s))
	for _, kind := range []string{"ext4", "xfs", "btrfs"} {
		t.Run(kind, func(t *testing.T) {
			p := scratchImage(t, kind, 512<<20)
			dir := filepath.Join(p, "snap")
			info, err := s.Snapshot(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			if info.Linked+info.Cloned > 0 || info.CopiedBytes != info.Bytes || info.Segments == 0 {
				t.Errorf("%+v", info)
			}
			c := openSnapshot(t, dir)
			sameCounts(t, "the copy", counted(contents(t, c)), want)

			// The second name of the file system makes links impossible.
			other := filepath.Join(t.TempDir(), "bound")
			if err := os.Mkdir(other, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mount(p, other, "", syscall.MS_BIND, ""); err != nil {
				t.Skipf("bind mount: %v", err)
			}
			defer func() {
				if err := syscall.Unmount(other, 0); err != nil {
					t.Error(err)
				}
			}()
			info, err = c.Snapshot(t.Context(), filepath.Join(other, "again"))
			if err != nil {
				t.Fatal(err)
			}
			if clones := kind != "ext4"; info.Linked > 0 || (info.Cloned == info.Segments) != clones {
				t.Errorf("%+v", info)
			}
			again := openSnapshot(t, filepath.Join(other, "again"))
			sameCounts(t, "of the copy", counted(contents(t, again)), want)
			if err := errors.Join(again.Close(), c.Close()); err != nil { // before the unmount
				t.Error(err)
			}
		})
	}
}

// A file system that is full at any moment of a snapshot leaves nothing of it.
func TestSnapshotFullDisk(t *testing.T) {
	s := snapshotStore(t, late(small()), 23)
	p := scratchImage(t, "ext4", 64<<20)
	failed := 0
	for _, free := range []int64{0, 64 << 10, 1 << 20, 5 << 20, 9 << 20, 20 << 20} {
		if err := occupy(filepath.Join(p, "ballast"), free); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(p, "snap")
		_, err := s.Snapshot(t.Context(), dir)
		if err := os.Remove(filepath.Join(p, "ballast")); err != nil { // a store that is opened needs space, too
			t.Fatal(err)
		}
		if err == nil {
			c := openTest(t, dir, late(small()))
			sameCounts(t, "the snapshot", counted(contents(t, c)), counted(contents(t, s)))
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			break
		}
		if failed++; !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("with %d bytes free: %v", free, err)
		}
		for _, name := range []string{dir, dir + snapshotPart} {
			if _, err := os.Lstat(name); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("with %d bytes free there is %s, %v", free, name, err)
			}
		}
	}
	if failed < 2 {
		t.Errorf("%d snapshots found no space", failed)
	}
}

// scratchImage mounts a file system of its own until the test ends.
func scratchImage(t *testing.T, kind string, size int64) (dir string) {
	t.Helper()
	p, err := scratchfs.Image(t.Context(), scratchfs.Options{FS: kind, Size: size, Store: t.TempDir()})
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p.Path
}

package sys

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestHandle(t *testing.T) {
	d, name := openDir(t, ForPath)
	sub := filepath.Join(name, "d")
	seen := map[uint64]bool{}
	const times = 100
	for range times { // ext4 gives each the inode number of the one before
		if err := os.Mkdir(sub, 0o755); err != nil {
			t.Fatal(err)
		}
		id, err := d.Handle("d")
		if err != nil || id == 0 {
			t.Fatal(id, err)
		}
		if again, err := d.Handle("d"); err != nil || again != id {
			t.Fatalf("%d, then %d: %v", id, again, err)
		}
		seen[id] = true
		if err := os.Remove(sub); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != times {
		t.Errorf("%d handles of %d directories", len(seen), times)
	}
	if _, err := d.Handle("d"); err != unix.ENOENT {
		t.Errorf("nothing has a handle: %v", err)
	}
	// Using a directory does not change its handle.
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	before, err := d.Handle("d")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(sub, "f"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	if after, err := d.Handle("d"); err != nil || after != before {
		t.Errorf("%d, then %d: %v", before, after, err)
	}
	p, err := unix.BytePtrFromString("d")
	if err != nil {
		t.Fatal(err)
	}
	if id, err := d.handleByStat(p); err != nil || id == 0 {
		t.Errorf("by statx: %d, %v", id, err)
	}
}

package pagecache

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// mincore and cachestat see the same pages.
func TestResidentBytes(t *testing.T) {
	page := int64(os.Getpagesize())
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	check := func(what string, want int64) {
		t.Helper()
		if got, err := mincoreBytes(f); err != nil || got != want {
			t.Errorf("%s: mincore sees %d bytes, want %d (%v)", what, got, want, err)
		}
		if got, err := Resident(f); err != nil || got != want {
			t.Errorf("%s: %d bytes, want %d (%v)", what, got, want, err)
		}
		if got, err := Cached(f); !errors.Is(err, errors.ErrUnsupported) && (err != nil || got != want) {
			t.Errorf("%s: cachestat sees %d bytes, want %d (%v)", what, got, want, err)
		}
	}
	check("an empty file", 0)
	if err := f.Truncate(1 << 20); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("x"), 5*page); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("xy"), 1<<20-1); err != nil { // the last page and one byte of the next
		t.Fatal(err)
	}
	check("three pages", 3*page)
}

// What is locked stays when it is to be dropped, and goes when it is released.
func TestLockCached(t *testing.T) {
	const size = 1 << 20
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	left := func() int64 {
		t.Helper()
		if err := errors.Join(f.Sync(), Drop(f)); err != nil {
			t.Fatal(err)
		}
		n, err := Resident(f)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if left() > 0 {
		t.Skip("nothing can be dropped here")
	}
	release, err := Lock(f, size)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if n := left(); n != size {
		t.Errorf("locked, %d of %d bytes are left", n, size)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	n := left()
	for begun := time.Now(); n != 0 && time.Since(begun) < 10*time.Second; n = left() { // the kernel keeps pages that it is at
	}
	if n != 0 {
		t.Errorf("released, %d bytes are left", n)
	}
	if _, err := Lock(f, -1); err == nil {
		t.Error("a length below 0 gave no error")
	}
}

package datafile

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/measure/pagecache"
	"github.com/stele-go/stele/internal/sys"
)

// A file that is too large for this place is made smaller, and one that would be too
// small is refused.
func TestBigFileIsAsLargeAsThereIsRoom(t *testing.T) {
	dir := t.TempDir()
	if size, err := sizeFor(dir, 3*MiB+7); err != nil || size != 3*MiB {
		t.Errorf("3 MiB and 7 bytes: %d, %v", size, err)
	}
	// Other processes write to the disk and free it: the free space meanwhile is known
	// only if it was the same before and after.
	for begun := time.Now(); time.Since(begun) < 10*time.Second; {
		before, err := sys.StatFS(dir)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip("the free space is not known here")
		}
		if err != nil {
			t.Fatal(err)
		}
		size, sizeErr := sizeFor(dir, math.MaxInt64)
		after, err := sys.StatFS(dir)
		if err != nil {
			t.Fatal(err)
		}
		if after.Free != before.Free {
			continue
		}
		if sizeErr != nil || size > before.Free/3 || size < least || size%MiB != 0 {
			t.Errorf("as much as there is room for, with %d free: %d, %v", before.Free, size, sizeErr)
		}
		return
	}
	t.Skip("the free space changed all the time for ten seconds")
}

// Each state leaves as much of the file in the page cache as it says.
func TestBigFileCacheStates(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := Write(name, 8*MiB, Noise()); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	big := &File{File: f, Size: 8 * MiB}
	if err := big.Chill(); errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	if none, err := pagecache.Resident(f); err != nil || none != 0 {
		t.Errorf("cold: %d bytes are in the page cache, %v", none, err)
	}
	if err := big.Warm(); err != nil {
		t.Fatal(err)
	}
	if all, err := pagecache.Cached(f); err != nil || all != big.Size {
		t.Errorf("warm: %d of %d bytes are in the page cache, %v", all, big.Size, err)
	}
}

package pagecache

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/sys"
)

func TestDropCache(t *testing.T) {
	const size = 1 << 20
	name := filepath.Join(t.TempDir(), "f")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	warm, err := Cached(f)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil || warm != size {
		t.Fatalf("after writing %d bytes %d are cached, %v", size, warm, err)
	}
	info, err := sys.StatFS(filepath.Dir(name))
	if err != nil {
		t.Fatal(err)
	}
	want := int64(0)
	if sys.FSName(info.Magic) == "tmpfs" {
		want = size // there is nowhere else to keep them
	}
	cold := int64(-1)
	for begun := time.Now(); cold != want && time.Since(begun) < 10*time.Second; { // the kernel keeps pages that it is at
		if err := Drop(f); err != nil {
			t.Fatal(err)
		}
		if cold, err = Cached(f); err != nil {
			t.Fatal(err)
		}
	}
	if cold != want {
		t.Errorf("after dropping, %d bytes are cached, want %d", cold, want)
	}
}

func TestDirty(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	before, err := Dirty(f)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if before == 0 {
		t.Skip("nothing of a file that was just written is dirty: it is in memory")
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if after, err := Dirty(f); err != nil || after != 0 {
		t.Errorf("%d bytes are dirty after a sync, %d before, %v; want none", after, before, err)
	}
}

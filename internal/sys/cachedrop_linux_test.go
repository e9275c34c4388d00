package sys

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
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
	warm, err := CachedBytes(f)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil || warm != size {
		t.Fatalf("after writing %d bytes %d are cached, %v", size, warm, err)
	}
	info, err := StatFS(filepath.Dir(name))
	if err != nil {
		t.Fatal(err)
	}
	if err := DropCache(f); err != nil {
		t.Fatal(err)
	}
	cold, err := CachedBytes(f)
	if err != nil {
		t.Fatal(err)
	}
	want := int64(0)
	if FSName(info.Magic) == "tmpfs" {
		want = size // there is nowhere else to keep them
	}
	if cold != want {
		t.Errorf("after dropping, %d bytes are cached, want %d", cold, want)
	}
}

package scratch

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTune(t *testing.T) {
	needImages(t)
	needMkfs(t, "ext4")
	p := newImage(t, Options{FS: "ext4", Size: 32 << 20, Store: t.TempDir(), Tune: []string{"-L", "tuned"}})
	f, err := os.Open(filepath.Join(p.root, imageName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// ext4's superblock is at 1024, its label at 0x78 of that.
	label := make([]byte, 16)
	if _, err := f.ReadAt(label, 1024+0x78); err != nil {
		t.Fatal(err)
	}
	if got := string(bytes.TrimRight(label, "\x00")); got != "tuned" {
		t.Errorf("the file system is named %q, want what tune2fs was told", got)
	}
}

func TestTuneThatFails(t *testing.T) {
	needImages(t)
	needMkfs(t, "ext4")
	store := t.TempDir()
	_, err := Image(t.Context(), Options{FS: "ext4", Size: 32 << 20, Store: store, Tune: []string{"-i", "never"}})
	if err == nil || !strings.Contains(err.Error(), "tune2fs") {
		t.Errorf("a wrong argument gave %v", err)
	}
	if list, _ := os.ReadDir(store); len(list) != 0 {
		t.Errorf("%d entries left", len(list))
	}
}

func TestTuneIsForExt4(t *testing.T) {
	needImages(t) // elsewhere another reason comes first
	if _, err := Image(t.Context(), Options{FS: "tmpfs", Store: t.TempDir(), Tune: []string{"-i", "0"}}); err == nil {
		t.Error("tune2fs for a tmpfs gave no error")
	}
}

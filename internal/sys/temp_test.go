package sys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTemp(t *testing.T) {
	d, name := openDir(t, ForPath)
	long := strings.Repeat("n", 200)
	f, err := d.CreateTemp("t", 0o640)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.CreateTemp("t", 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the same again: %v", err)
	}
	if n, err := f.Write([]byte("content")); n != 7 || err != nil {
		t.Errorf("Write: %d, %v", n, err)
	}
	if n, err := f.Write(nil); n != 0 || err != nil {
		t.Errorf("Write of nothing: %d, %v", n, err)
	}
	f.StartWriteback()
	if err := f.Sync(); err != nil {
		t.Error(err)
	}
	if err := f.Chmod(0o400); err != nil {
		t.Error(err)
	}
	fi, err := f.Info()
	if err != nil || fi.Mode&0o777 != 0o400 && os.PathSeparator == '/' {
		t.Errorf("Info: %+v, %v", fi, err)
	}
	if err := f.Chmod(0o600); err != nil { // Windows does not rename a read-only file
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := d.Rename("t", long); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(name, long)); string(b) != "content" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if fi, err := d.Info(long); err != nil || fi.Mode.Type() != 0 {
		t.Errorf("Info: %+v, %v", fi, err)
	}
	if _, err := d.Info("no"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Info of nothing: %v", err)
	}
}

package sys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadlink(t *testing.T) {
	d, name := openDir(t, ForPath)
	for i, target := range []string{"x", strings.Repeat("y", 256), strings.Repeat("z/", 500)} {
		link := string(rune('a' + i))
		if err := os.Symlink(filepath.FromSlash(target), filepath.Join(name, link)); err != nil {
			t.Skip(err)
		}
		if got, err := d.Readlink(link); got != filepath.FromSlash(target) || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if _, err := d.Readlink("no"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
}

package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// names lists what is in a directory.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// realDir is a temporary directory without symlinks in its path.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestDir(t *testing.T) {
	parent := realDir(t)
	p, err := Dir(parent)
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != parent || filepath.Base(p.Path) != workName || !nameForm.MatchString(filepath.Base(filepath.Dir(p.Path))) {
		t.Errorf("Name %q, Path %q", p.Name, p.Path)
	}
	if got := names(t, p.Path); len(got) != 0 {
		t.Errorf("the directory is not empty: %q", got)
	}
	if err := os.MkdirAll(filepath.Join(p.Path, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if err := p.Close(); err != nil {
			t.Errorf("Close %d: %v", i+1, err)
		}
	}
	if got := names(t, parent); len(got) != 0 {
		t.Errorf("left behind: %q", got)
	}
}

func TestDirThroughSymlink(t *testing.T) {
	parent := realDir(t)
	real := filepath.Join(parent, "real")
	link := filepath.Join(parent, "link")
	if err := os.Mkdir(real, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Skip(err)
	}
	p, err := Dir(link)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.Name != link || !strings.HasPrefix(p.Path, real+string(filepath.Separator)) {
		t.Errorf("Name %q, Path %q", p.Name, p.Path)
	}
}

func TestDirRefuses(t *testing.T) {
	parent := realDir(t)
	if _, err := Dir(filepath.Join(parent, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing parent: %v", err)
	}
	file := filepath.Join(parent, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Dir(file); err == nil {
		t.Error("a file as parent: no error")
	}
	if got := names(t, parent); len(got) != 1 {
		t.Errorf("left behind: %q", got)
	}
}

// Sweeping all the time must not take a scratch directory from under its maker: that is
// the race between making a directory and locking it.
func TestClaimAgainstSweep(t *testing.T) {
	parent := realDir(t)
	stop, done := make(chan struct{}), make(chan error)
	for range 2 {
		go func() {
			for {
				select {
				case <-stop:
					done <- nil
					return
				default:
				}
				if _, err := Sweep(parent); concerns(t, err, parent) {
					done <- err
					return
				}
			}
		}()
	}
	for range 100 {
		p, err := Dir(parent)
		if err != nil {
			t.Error(err)
			break
		}
		if err := os.WriteFile(filepath.Join(p.Path, "x"), nil, 0o600); err != nil {
			t.Error(err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := names(t, parent); len(got) != 0 {
		t.Errorf("left behind: %q", got)
	}
}

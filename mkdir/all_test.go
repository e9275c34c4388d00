package mkdir_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stele-go/stele/internal/wine"
	"github.com/stele-go/stele/mkdir"
)

// conformance are cases for All and os.MkdirAll. Paths are relative to a
// working directory of the case's own.
var conformance = []struct {
	name  string
	setup func(t *testing.T)
	path  string
	perm  fs.FileMode
}{
	{"fresh", nil, "a", 0o755},
	{"fresh deep", nil, "a/b/c/d/e/f/g", 0o755},
	{"existing", dirs("a/b"), "a/b", 0o755},
	{"parent exists", dirs("a/b"), "a/b/c", 0o755},
	{"grandparent exists", dirs("a"), "a/b/c", 0o755},
	{"existing keeps its mode", dirs("a"), "a", 0o700},
	{"file at the leaf", file("f"), "f", 0o755},
	{"file at the leaf, slash", file("f"), "f/", 0o755},
	{"file below a directory", file("a/f"), "a/f", 0o755},
	{"file in the middle", file("f"), "f/a", 0o755},
	{"file far up", file("f"), "f/a/b/c", 0o755},
	{"file, doubled slash", file("f"), "f//a", 0o755},
	{"symlink to a directory", links("l", "d", "d"), "l", 0o755},
	{"symlinked parent", links("l", "d", "d"), "l/a/b", 0o755},
	{"symlink to a file", links("l", "f", ""), "l", 0o755},
	{"dangling symlink", links("l", "nowhere", ""), "l", 0o755},
	{"dangling symlink, slash", links("l", "nowhere", ""), "l/", 0o755},
	{"dangling symlink in the middle", links("l", "nowhere", ""), "l/a/b", 0o755},
	{"symlink to itself", links("l", "l", ""), "l/a", 0o755},
	{"symlink with missing parent", links("l", "x/y", ""), "l/a", 0o755},
	{"trailing slash", nil, "a/b/", 0o755},
	{"trailing slashes", nil, "a/b///", 0o755},
	{"doubled slashes", nil, "a//b///c", 0o755},
	{"only slashes", nil, "//", 0o755},
	{"dot", nil, ".", 0o755},
	{"dot slash", nil, "./a/./b", 0o755},
	{"ends in dot", nil, "a/b/.", 0o755},
	{"ends in dot, existing", dirs("a"), "a/.", 0o755},
	{"dot dot", nil, "a/../b", 0o755},
	{"dot dot below a file", file("f"), "f/../b", 0o755},
	{"dot dot at the end", nil, "a/b/..", 0o755},
	{"dot dot below a symlink", links("l", "d/e", "d/e"), "l/../x", 0o755},
	{"above", nil, "..", 0o755},
	{"mode 0700", nil, "a/b", 0o700},
	{"mode 0777 and umask", nil, "a/b/c", 0o777},
	{"mode with sticky", nil, "a/b", 0o777 | fs.ModeSticky},
	{"mode with setgid", nil, "a/b", 0o755 | fs.ModeSetgid},
	{"mode without x", nil, "a/b", 0o600},
	{"mode 0", nil, "a", 0},
	{"unwritable parent", mode("p", 0o555), "p/a", 0o755},
	{"unwritable parent, deep", mode("p", 0o555), "p/a/b", 0o755},
	{"unsearchable parent", mode("p", 0o666), "p/a/b", 0o755},
	{"name too long", nil, "a/" + strings.Repeat("n", 256), 0o755},
	{"name too long in the middle", nil, "a/" + strings.Repeat("n", 256) + "/b", 0o755},
	{"name just fits", nil, strings.Repeat("n", 255) + "/b", 0o755},
	{"path too long", nil, strings.Repeat("abcdefghi/", 410), 0o755},
	{"longer than a small buffer", nil, strings.Repeat("abcdefghi/", 40), 0o755},
	{"empty", nil, "", 0o755},
	{"NUL", nil, "a/b\x00c", 0o755},
	{"not UTF-8", nil, "a/\xff\xfe/b", 0o755},
}

func TestAllLikeOS(t *testing.T) {
	defer umask(0o027)()
	for _, c := range conformance {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "path too long" && wine.Running() {
				t.Skip("under Wine a path may be too long to look up, but none to create")
			}
			want := runCase(t, os.MkdirAll, c.setup, c.path, c.perm)
			got := runCase(t, mkdir.All, c.setup, c.path, c.perm)
			if got != want {
				t.Errorf("All and os.MkdirAll differ\n got %s\nwant %s", got, want)
			}
		})
	}
}

// runCase returns the visible results of a call: the error with its parts, and the
// tree with its modes.
func runCase(t *testing.T, all func(string, fs.FileMode) error, setup func(*testing.T), path string, perm fs.FileMode) string {
	dir := t.TempDir()
	t.Chdir(dir)
	defer os.Chdir("/")
	if setup != nil {
		setup(t)
	}
	got := describe(all(path, perm)) + "\n" + strings.Join(tree(t, "."), "\n")
	filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			os.Chmod(p, 0o755) // so that TempDir can be removed
		}
		return nil
	})
	return got
}

func describe(err error) string {
	if err == nil {
		return "no error"
	}
	pe, ok := err.(*fs.PathError)
	if !ok {
		return fmt.Sprintf("%T %v", err, err)
	}
	return fmt.Sprintf("%s | %q | %T %v", pe.Op, pe.Path, pe.Err, pe.Err)
}

// tree lists what is below dir, in lexical order, with type and mode.
func tree(t testing.TB, dir string) (lines []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if p == dir {
			return nil
		}
		if err != nil {
			lines = append(lines, fmt.Sprintf("%s unreadable", p))
			return nil
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("%s %v", filepath.ToSlash(p), fi.Mode()))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestAllReadOnly(t *testing.T) {
	dir := readOnlyFS(t, "there")
	for _, p := range []string{"there", "new", "new/er", "there/new", "there/new/er"} {
		p := filepath.Join(dir, p)
		want, got := describe(os.MkdirAll(p, 0o755)), describe(mkdir.All(p, 0o755))
		if got != want {
			t.Errorf("%s: got %s, want %s", p, got, want)
		}
	}
}

func TestAllOverlapping(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := range 40 {
				p := filepath.Join(dir, fmt.Sprint("a", i%7), fmt.Sprint("b", i), "c", fmt.Sprint("d", g%4))
				if err := mkdir.All(p, 0o755); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(tree(t, dir)); n != 7+40+40+160 {
		t.Errorf("%d directories, want %d", n, 7+40+40+160)
	}
}

func TestAllExistingAllocates0(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("All is os.MkdirAll here")
	}
	dir := t.TempDir()
	if n := testing.AllocsPerRun(100, func() {
		if err := mkdir.All(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func dirs(paths ...string) func(*testing.T) {
	return func(t *testing.T) {
		for _, p := range paths {
			if err := os.MkdirAll(p, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func file(path string) func(*testing.T) {
	return func(t *testing.T) {
		dirs(filepath.Dir(path))(t)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// links creates the symlink name to target, and the directory dir.
func links(name, target, dir string) func(*testing.T) {
	return func(t *testing.T) {
		if dir != "" {
			dirs(dir)(t)
		} else if target == "f" {
			file(target)(t)
		}
		if err := os.Symlink(target, name); err != nil {
			t.Skip(err) // Windows, without the privilege
		}
	}
}

func mode(path string, m fs.FileMode) func(*testing.T) {
	return func(t *testing.T) {
		if os.Geteuid() == 0 {
			t.Skip("root may write anywhere")
		}
		dirs(path)(t)
		if err := os.Chmod(path, m); err != nil {
			t.Fatal(err)
		}
	}
}

func wantErr(t testing.TB, err, target error, path string) {
	t.Helper()
	var pe *fs.PathError
	if !errors.Is(err, target) || !errors.As(err, &pe) || pe.Path != path {
		t.Errorf("got %s, want %v of %q", describe(err), target, path)
	}
}

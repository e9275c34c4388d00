package sys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// beneath is OpenBeneath in the form of Open.
func beneath(d Dir) func(string, DirUse) (Dir, error) {
	return func(path string, how DirUse) (Dir, error) { return d.OpenBeneath(path, how, false) }
}

func TestCleanBeneath(t *testing.T) {
	for _, c := range []struct{ path, want string }{
		{"a", "a"}, {"a/b", "a/b"}, {"a//b/", "a/b"}, {"./a", "a"}, {".", "."}, {"..a/b..", "..a/b.."},
		{"", ""}, {"/", ""}, {"/a", ""}, {"..", ""}, {"../a", ""}, {"a/..", ""}, {"a/../b", ""}, {"a/b/../../..", ""},
	} {
		got, err := CleanBeneath(c.path)
		if filepath.ToSlash(got) != c.want || (err != nil) != (c.want == "") {
			t.Errorf("CleanBeneath(%q): %q, %v; want %q", c.path, got, err, c.want)
		}
	}
}

// A tree with a link in each place of a path, and a directory outside that no path below
// the root may reach.
func plantedLinks(t *testing.T) (root *os.Root, outside string) {
	t.Helper()
	top := t.TempDir()
	in := filepath.Join(top, "in")
	outside = filepath.Join(top, "out")
	for _, dir := range []string{in, outside, filepath.Join(in, "a", "b")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{filepath.Join(outside, "f"), filepath.Join(in, "a", "b", "f")} {
		if err := os.WriteFile(f, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"abs": outside, "rel": "../out", "inside": "a", "a/up": "../../out", "a/b/file": filepath.Join(outside, "f"),
	} {
		if err := os.Symlink(target, filepath.Join(in, link)); err != nil {
			t.Skip("no symlinks here: ", err)
		}
	}
	r, err := os.OpenRoot(in)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, outside
}

func TestBeneathFollowsNothing(t *testing.T) {
	root, _ := plantedLinks(t)
	d, err := RootDir(root, ForPath)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	root.Close() // d does not depend on it
	try := func(t *testing.T) {
		for _, p := range []string{"abs", "rel", "inside", "inside/b", "a/up", "abs/x"} {
			if sub, err := d.OpenBeneath(p, ForPath, false); err == nil {
				sub.Close()
				t.Errorf("OpenBeneath followed %s", p)
			}
		}
		for _, p := range []string{"abs/f", "rel/f", "inside/b/f", "a/up/f", "a/b/file"} {
			if f, err := d.OpenFileBeneath(p, p, os.O_RDWR, 0, false); err == nil {
				f.Close()
				t.Errorf("OpenFileBeneath followed %s", p)
			}
		}
		for _, p := range []string{".", "a", "a/b"} {
			sub, err := d.OpenBeneath(p, ForSync, false)
			if err != nil {
				t.Errorf("OpenBeneath(%s): %v", p, err)
				continue
			}
			sub.Close()
		}
		f, err := d.OpenFileBeneath("a/b/f", "f", os.O_RDWR, 0, false)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		if f, err = d.OpenFileBeneath("a/new", "new", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o640, false); err != nil {
			t.Fatal(err)
		}
		if fi, err := f.Stat(); err != nil || runtime.GOOS != "windows" && fi.Mode() != 0o640 {
			t.Errorf("made with mode %v, %v", fi.Mode(), err)
		}
		f.Close()
		if err := d.Remove("a/new"); err != nil {
			t.Error(err)
		}
		if _, err := d.OpenFileBeneath("a/no/f", "f", os.O_RDONLY, 0, false); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a file of no directory: %v", err)
		}
	}
	t.Run("", try)
	withoutOpenat2(t, try)
}

func TestRootDirOfClosedRoot(t *testing.T) {
	root, _ := plantedLinks(t)
	root.Close()
	if d, err := RootDir(root, ForPath); err == nil {
		d.Close()
		t.Error("opened")
	}
}

package mkdir_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/wine"
	"github.com/stele-go/stele/mkdir"
)

// Changes of the tree by other processes while a Maker knows a/b/c and a/b/x, and
// the tree that the next creation of a/b/c/new must leave.
var behind = []struct {
	name string
	do   func(t *testing.T)
	fail error  // the creation's error, and
	path string // the path in it
	want []string
	only string // "confined" or "unconfined"
	// The Maker notices that a/b is gone, so a batch creates a/b/x again, though known.
	x bool
}{
	{name: "leaf removed", do: remove("a/b/c"), want: []string{"a", "a/b", "a/b/c", "a/b/c/new", "a/b/x"}},
	{name: "middle removed", do: remove("a/b"), want: []string{"a", "a/b", "a/b/c", "a/b/c/new"}, x: true},
	{name: "top removed", do: remove("a"), want: []string{"a", "a/b", "a/b/c", "a/b/c/new"}, x: true},
	{name: "renamed", do: rename("a/b", "z"), want: []string{"a", "a/b", "a/b/c", "a/b/c/new", "z", "z/c", "z/x"}, x: true},
	{name: "renamed, empty one in its place", do: steps(rename("a/b", "z"), dirs("a/b")),
		want: []string{"a", "a/b", "a/b/c", "a/b/c/new", "z", "z/c", "z/x"}, x: true},
	{name: "renamed, same tree in its place", do: steps(rename("a/b", "z"), dirs("a/b/c")),
		want: []string{"a", "a/b", "a/b/c", "a/b/c/new", "z", "z/c", "z/x"}},
	{name: "exchanged", do: steps(dirs("y/c"), rename("a/b", "z"), rename("y", "a/b"), rename("z", "y")),
		want: []string{"a", "a/b", "a/b/c", "a/b/c/new", "y", "y/c", "y/x"}},
	{name: "file in the middle", do: steps(remove("a/b"), file("a/b")), fail: syscall.ENOTDIR, path: "a/b",
		want: []string{"a", "a/b"}},
	{name: "file at the leaf", do: steps(remove("a/b/c"), file("a/b/c")), fail: syscall.ENOTDIR, path: "a/b/c",
		want: []string{"a", "a/b", "a/b/c", "a/b/x"}},
	{name: "symlink, confined", do: steps(rename("a/b", "z"), symlink("../z", "a/b")), fail: syscall.ELOOP, path: "a/b",
		want: []string{"a", "a/b", "z", "z/c", "z/x"}, only: "confined"},
	{name: "symlink at the parent, confined", do: steps(rename("a/b/c", "z"), symlink("../../z", "a/b/c")), fail: syscall.ELOOP, path: "a/b/c",
		want: []string{"a", "a/b", "a/b/c", "a/b/x", "z"}, only: "confined"},
	{name: "symlink, followed", do: steps(rename("a/b", "z"), symlink("../z", "a/b")),
		want: []string{"a", "a/b", "z", "z/c", "z/c/new", "z/x"}, only: "unconfined"},
	{name: "dangling symlink", do: steps(remove("a/b"), symlink("nowhere", "a/b")), fail: syscall.EEXIST, path: "a/b",
		want: []string{"a", "a/b"}, only: "unconfined"},
}

func TestBehindItsBack(t *testing.T) {
	for _, c := range behind {
		if runtime.GOOS != "linux" && c.fail != nil {
			continue // other errors, and symlinks as os.Root has them
		}
		t.Run(c.name, func(t *testing.T) {
			if strings.Contains(c.name, "symlink") && wine.Running() {
				t.Skip("Wine 8.0 does not follow the symlink")
			}
			modes(t, func(t *testing.T, o mkdir.Options) {
				if c.only == "confined" && !o.Confined || c.only == "unconfined" && o.Confined {
					return
				}
				for _, way := range []string{"All", "Batch"} {
					m, dir := open(t, o)
					t.Chdir(dir)
					must(t, m.All("a/b/c", 0o755))
					must(t, m.All("a/b/x", 0o755))
					c.do(t)
					want := c.want
					var err error
					if way == "All" {
						err = m.All("a/b/c/new", 0o755)
					} else {
						_, err = m.Batch(t.Context(), slices.Values([]string{"a/b/c/new", "a/b/x"}), 0o755)
						if c.x {
							want = slices.Sorted(slices.Values(append([]string{"a/b/x"}, want...)))
						}
					}
					if c.fail == nil {
						must(t, err)
					} else {
						wantErr(t, err, c.fail, filepath.Join(dir, c.path))
					}
					if got := names(t); !slices.Equal(got, want) {
						t.Errorf("%s: got %q, want %q", way, got, want)
					}
					os.Chdir("/")
				}
			})
		})
	}
}

// Once a removal is noticed, everything known below is looked up again.
func TestForgetsBelow(t *testing.T) {
	modes(t, func(t *testing.T, o mkdir.Options) {
		m, dir := open(t, o)
		for _, p := range []string{"a/b/c", "a/b/x/y", "a/z"} {
			must(t, m.All(p, 0o755))
		}
		must(t, os.RemoveAll(filepath.Join(dir, "a/b")))
		must(t, m.All("a/b/x/y", 0o755))
		if _, err := os.Stat(filepath.Join(dir, "a/b")); err == nil {
			t.Fatal("a known path was looked for on disk")
		}
		must(t, m.All("a/b/new", 0o755)) // notices
		for _, p := range []string{"a/b/x/y", "a/b/c", "a/z"} {
			must(t, m.All(p, 0o755))
			if _, err := os.Stat(filepath.Join(dir, p)); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestRootMovedAndRemoved(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the Maker holds the root by name")
	}
	modes(t, func(t *testing.T, o mkdir.Options) {
		top := t.TempDir()
		root, moved := filepath.Join(top, "root"), filepath.Join(top, "moved")
		must(t, os.Mkdir(root, 0o755))
		m := openAt(t, root, o)
		must(t, os.Rename(root, moved))
		must(t, m.All("a/b", 0o755))
		if _, err := os.Stat(filepath.Join(moved, "a/b")); err != nil {
			t.Error(err)
		}
		must(t, os.RemoveAll(moved))
		wantErr(t, m.All("a/b/c", 0o755), syscall.ENOENT, root)
		_, err := m.Batch(t.Context(), slices.Values([]string{"x", "y"}), 0o755)
		wantErr(t, err, syscall.ENOENT, root)
	})
}

func names(t *testing.T) (list []string) {
	t.Helper()
	for _, l := range tree(t, ".") {
		for i := range l {
			if l[i] == ' ' {
				list = append(list, l[:i])
				break
			}
		}
	}
	return list
}

func steps(fs ...func(*testing.T)) func(*testing.T) {
	return func(t *testing.T) {
		for _, f := range fs {
			f(t)
		}
	}
}

func remove(p string) func(*testing.T) {
	return func(t *testing.T) { must(t, os.RemoveAll(p)) }
}

func rename(from, to string) func(*testing.T) {
	return func(t *testing.T) { must(t, os.Rename(from, to)) }
}

func symlink(target, name string) func(*testing.T) {
	return func(t *testing.T) { must(t, os.Symlink(target, name)) }
}

// A known directory is renamed again and again while goroutines create others below
// it. Each new directory moves with its parent, or is in the new parent, but never
// elsewhere, and none is lost.
func TestRenamedMeanwhile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("All may fail with fs.ErrNotExist here after a rename during the call")
	}
	modes(t, func(t *testing.T, o mkdir.Options) {
		m, dir := open(t, o)
		must(t, m.All("a/b", 0o755))
		calling, done := make(chan struct{}), make(chan struct{})
		go func() { // one rename during each call
			defer close(done)
			for i := 0; ; i++ {
				if _, ok := <-calling; !ok {
					return
				}
				time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
				// Fails while a/b is not there again.
				os.Rename(filepath.Join(dir, "a/b"), filepath.Join(dir, fmt.Sprint("z", i)))
			}
		}()
		const calls = 25
		for i := range calls {
			calling <- struct{}{}
			must(t, m.All(fmt.Sprintf("a/b/c/n%d", i), 0o755))
			calling <- struct{}{}
			_, err := m.Batch(t.Context(), slices.Values([]string{fmt.Sprintf("a/b/c/m%d/p/q", i), fmt.Sprintf("a/b/c/m%d/p/r", i)}), 0o755)
			must(t, err)
		}
		close(calling)
		<-done
		t.Chdir(dir)
		defer os.Chdir("/")
		shape := regexp.MustCompile(`^(a|(a/b|z\d+)(/c(/n\d+|/m\d+(/p(/q|/r)?)?)?)?)$`)
		leaves := map[string]bool{}
		for _, p := range names(t) {
			if !shape.MatchString(p) {
				t.Errorf("in the wrong place: %s", p)
			}
			leaves[regexp.MustCompile(`^(a/b|z\d+)/`).ReplaceAllString(p, "")] = true
		}
		for i := range calls {
			for _, p := range []string{"c/n%d", "c/m%d/p/q", "c/m%d/p/r"} {
				if p := fmt.Sprintf(p, i); !leaves[p] {
					t.Errorf("%s is lost", p)
				}
			}
		}
	})
}

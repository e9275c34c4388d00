package mkdir_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/filetest"
	"github.com/stele-go/stele/internal/wine"
	"github.com/stele-go/stele/mkdir"
)

// manyPaths returns n distinct paths with shared prefixes, unsorted, and the number
// of distinct directories.
func manyPaths(n int) (paths []string, distinct int) {
	seen := map[string]bool{}
	for i := range n {
		j := i * 7919 % n
		p := fmt.Sprintf("src/m%02d/pkg%03d/v%d/leaf%05d", j%20, j/20%50, j%3, j)
		paths = append(paths, p)
		for ; p != "."; p = path.Dir(p) {
			seen[p] = true
		}
	}
	return paths, len(seen)
}

func TestBatch(t *testing.T) {
	if wine.Running() {
		t.Skip("hundreds of directories in each mode take minutes: each call goes through Wine's server")
	}
	paths, distinct := manyPaths(150)
	modes(t, func(t *testing.T, o mkdir.Options) {
		m, dir := open(t, o)
		must(t, os.MkdirAll(filepath.Join(dir, "src/m01"), 0o755)) // not by the Maker
		must(t, m.All("src/m02", 0o755))                           // known
		c, err := m.Batch(t.Context(), slices.Values(append(paths, paths[:min(50, len(paths))]...)), 0o755)
		must(t, err)
		if c.Len() != distinct-3 {
			t.Errorf("made %d, want %d", c.Len(), distinct-3)
		}
		if n := len(tree(t, dir)); n != distinct {
			t.Errorf("%d directories, want %d", n, distinct)
		}
		seen := map[string]bool{"": true, ".": true, "src": true, "src/m01": true, "src/m02": true}
		for p := range c.Paths() {
			if !seen[path.Dir(p)] || seen[p] {
				t.Fatalf("%s comes before its parent, or twice", p)
			}
			seen[p] = true
		}
		again, err := m.Batch(t.Context(), slices.Values(paths), 0o755)
		must(t, err)
		if again.Len() != 0 {
			t.Errorf("made %d again", again.Len())
		}
		must(t, again.Undo())

		// Two of the directories are in use; Undo removes all but these.
		keep := []string{paths[0], paths[17]}
		must(t, os.WriteFile(filepath.Join(dir, keep[0], "file"), nil, 0o644))
		must(t, os.Mkdir(filepath.Join(dir, keep[1], "sub"), 0o755))
		want := map[string]bool{keep[0] + "/file": true, keep[1] + "/sub": true, "src": true, "src/m01": true, "src/m02": true}
		for _, p := range keep {
			for ; p != "."; p = path.Dir(p) {
				want[p] = true
			}
		}
		for range 2 { // the second does nothing
			must(t, c.Undo())
			t.Chdir(dir)
			got := names(t)
			os.Chdir("/")
			for _, p := range got {
				if !want[p] {
					t.Errorf("%s is left", p)
				}
			}
			if len(got) != len(want) {
				t.Errorf("%d directories left, want %d", len(got), len(want))
			}
		}
		// The Maker knows that they are gone.
		_, err = m.Batch(t.Context(), slices.Values(paths), 0o755)
		must(t, err)
		if n := len(tree(t, dir)); n != distinct+2 {
			t.Errorf("%d directories, want %d", n, distinct+2)
		}
	})
}

func TestBatchEmpty(t *testing.T) {
	m, _ := open(t, mkdir.Options{Level: durability.Kill, Undo: true})
	for _, paths := range [][]string{nil, {"."}, {"a/..", "./"}} {
		c, err := m.Batch(t.Context(), slices.Values(paths), 0o755)
		must(t, err)
		must(t, c.Undo())
		if c.Len() != 0 {
			t.Errorf("%q made %d", paths, c.Len())
		}
	}
}

// A Batch may be fed by a sequence that uses the Maker itself.
func TestBatchSequenceUsesMaker(t *testing.T) {
	m, _ := open(t, mkdir.Options{Level: durability.Kill})
	_, err := m.Batch(t.Context(), func(yield func(string) bool) {
		must(t, m.All("a", 0o755))
		yield("a/b")
	}, 0o755)
	must(t, err)
}

func TestUndoLeavesWhatIsNotOurs(t *testing.T) {
	modes(t, func(t *testing.T, o mkdir.Options) {
		m, dir := open(t, o)
		t.Chdir(dir)
		defer os.Chdir("/")
		c, err := m.Batch(t.Context(), slices.Values([]string{"gone", "file", "dir", "moved/x", "fine"}), 0o755)
		must(t, err)
		remove("gone")(t)
		remove("file")(t)
		file("file")(t)
		remove("dir")(t)
		dirs("dir")(t)
		rename("moved", "elsewhere")(t)
		must(t, c.Undo())
		want := []string{"dir", "elsewhere", "elsewhere/x", "file"}
		got := names(t)
		if slices.Equal(got, []string{"elsewhere", "elsewhere/x", "file"}) && runtime.GOOS != "linux" {
			t.Skip("an empty directory of the same name is taken for the batch's here")
		}
		if !slices.Equal(got, want) {
			t.Errorf("left %q, want %q", got, want)
		}
	})
}

// A cancelled batch can be undone, or completed by another.
func TestBatchCancelled(t *testing.T) {
	paths, distinct := manyPaths(150)
	modes(t, func(t *testing.T, o mkdir.Options) {
		m, dir := open(t, o)
		for _, undo := range []bool{true, false} {
			ctx := &afterN{Context: t.Context()}
			ctx.n.Store(225) // 150 while the paths are read
			c, err := m.Batch(ctx, slices.Values(paths), 0o755)
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v", err)
			}
			if n := len(tree(t, dir)); n != c.Len() || n == 0 || n == distinct {
				t.Errorf("%d directories, Created says %d", n, c.Len())
			}
			if undo {
				must(t, c.Undo())
				if left := tree(t, dir); len(left) != 0 {
					t.Errorf("left after Undo: %q", left)
				}
			}
		}
		_, err := m.Batch(t.Context(), slices.Values(paths), 0o755)
		must(t, err)
		if n := len(tree(t, dir)); n != distinct {
			t.Errorf("%d directories, want %d", n, distinct)
		}
	})
}

func TestBatchCancelledWhileReading(t *testing.T) {
	m, dir := open(t, mkdir.Options{Level: durability.Kill})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := m.Batch(ctx, func(yield func(string) bool) {
		for i := 0; yield(fmt.Sprint(i)); i++ { // for ever
			if i == 10 {
				cancel()
			}
		}
	}, 0o755)
	if !errors.Is(err, context.Canceled) || len(tree(t, dir)) != 0 {
		t.Errorf("got %v, made %q", err, tree(t, dir))
	}
}

func TestBatchDenied(t *testing.T) {
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("root is denied nothing")
	}
	halfWay(t, func(t *testing.T, dir string) (cure func(), want error) {
		denied := filepath.Join(dir, "m")
		must(t, os.Mkdir(denied, 0o755))
		must(t, os.Chmod(denied, 0o555))
		return func() { os.Chmod(denied, 0o755) }, syscall.EACCES
	}, func(t *testing.T) string { return t.TempDir() })
}

func TestBatchDiskFull(t *testing.T) {
	halfWay(t, func(t *testing.T, dir string) (cure func(), want error) {
		return func() { remountInodes(t, filepath.Dir(dir), 1000) }, syscall.ENOSPC
	}, func(t *testing.T) string {
		dir := filepath.Join(filetest.Tmpfs(t, 0, "nr_inodes=61"), "d") // below the mount point, for OneMount
		must(t, os.Mkdir(dir, 0o755))
		return dir
	})
}

// halfWay runs a batch that fails half way, undoes it, runs it again, removes the
// cause and completes it.
func halfWay(t *testing.T, spoil func(*testing.T, string) (func(), error), place func(*testing.T) string) {
	var paths []string
	for _, top := range []string{"a", "m", "z"} {
		for i := range 40 {
			paths = append(paths, fmt.Sprintf("%s/%02d/x", top, i))
		}
	}
	modes(t, func(t *testing.T, o mkdir.Options) {
		dir := place(t)
		cure, want := spoil(t, dir)
		m := openAt(t, dir, o)
		before := tree(t, dir)
		for _, undo := range []bool{true, false} {
			c, err := m.Batch(t.Context(), slices.Values(paths), 0o755)
			var pe *fs.PathError
			if !errors.Is(err, want) || !errors.As(err, &pe) || !strings.HasPrefix(pe.Path, dir+"/") {
				t.Fatalf("got %v, want %v with a path", err, want)
			}
			if got := tree(t, dir); len(got)-len(before) != c.Len() {
				t.Errorf("%d directories, Created says %d", len(got)-len(before), c.Len())
			}
			if undo {
				must(t, c.Undo())
				if got := tree(t, dir); !slices.Equal(got, before) {
					t.Errorf("after Undo %q, before %q", got, before)
				}
			}
		}
		cure()
		_, err := m.Batch(t.Context(), slices.Values(paths), 0o755)
		must(t, err)
		if n := len(tree(t, dir)); n != 3+2*120 {
			t.Errorf("%d directories, want %d", n, 3+2*120)
		}
	})
}

// A batch makes at most 0.30 of the allocations of os.MkdirAll.
func TestBatchAllocations(t *testing.T) {
	paths, _ := manyPaths(1000)
	count := func(f func(dir string)) float64 {
		dir := t.TempDir()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f(dir)
		runtime.ReadMemStats(&after)
		return float64(after.Mallocs - before.Mallocs)
	}
	std := count(func(dir string) {
		for _, p := range paths {
			must(t, os.MkdirAll(dir+"/"+p, 0o755))
		}
	})
	batch := count(func(dir string) {
		m := openAt(t, dir, mkdir.Options{Level: durability.Kill})
		_, err := m.Batch(t.Context(), slices.Values(paths), 0o755)
		must(t, err)
	})
	t.Logf("os.MkdirAll %.0f, Batch %.0f: ratio %.4f", std, batch, batch/std)
	if runtime.GOOS == "linux" && batch > 0.30*std {
		t.Errorf("Batch makes %.0f allocations, os.MkdirAll %.0f", batch, std)
	}
}

// afterN is a context that is cancelled at the n-th call of Err.
type afterN struct {
	context.Context
	n atomic.Int64
}

func (c *afterN) Err() error {
	if c.n.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

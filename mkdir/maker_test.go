package mkdir_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/mkdir"
)

// open opens a Maker in a new directory. The level is Kill unless o says power.
func open(t testing.TB, o mkdir.Options) (*mkdir.Maker, string) {
	t.Helper()
	dir := t.TempDir()
	return openAt(t, dir, o), dir
}

// belowRoot stands for a Root that openAt opens at the parent directory.
var belowRoot = new(os.Root)

func openAt(t testing.TB, dir string, o mkdir.Options) *mkdir.Maker {
	t.Helper()
	if o.Root == belowRoot {
		r, err := os.OpenRoot(filepath.Dir(dir))
		must(t, err)
		defer r.Close() // the Maker does not need it
		o.Root, dir = r, filepath.Base(dir)
		o.Confined = false // Root implies it
	}
	m, err := mkdir.OpenRoot(dir, o)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// modes runs f with every kind of Maker.
func modes(t *testing.T, f func(t *testing.T, o mkdir.Options)) {
	for _, o := range []mkdir.Options{
		{Level: durability.Kill, Workers: 1},
		{Level: durability.Kill, Workers: 1, Confined: true},
		{Level: durability.Kill, Workers: 4},
		{Level: durability.Kill, Workers: 4, Confined: true},
		{Level: durability.Power, Workers: 2},
		{Level: durability.Power, Workers: 2, Confined: true},
		{Level: durability.Kill, Workers: 2, Confined: true, Root: belowRoot},
		{Level: durability.Power, Workers: 2, Confined: true, Root: belowRoot, OneMount: runtime.GOOS == "linux"},
	} {
		o.Undo = true
		name := fmt.Sprintf("level=%s/confined=%v/root=%v/workers=%d", o.Level, o.Confined, o.Root != nil, o.Workers)
		t.Run(name, func(t *testing.T) { f(t, o) })
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestMakerAll(t *testing.T) {
	modes(t, func(t *testing.T, o mkdir.Options) {
		m, dir := open(t, o)
		for range 2 {
			for _, p := range []string{"a", "a/b/c/d/e/f/g", "a/b/x", "./y//z/", "y/../w", "."} {
				must(t, m.All(p, 0o755))
			}
		}
		want := []string{"a", "a/b", "a/b/c", "a/b/c/d", "a/b/c/d/e", "a/b/c/d/e/f", "a/b/c/d/e/f/g", "a/b/x", "w", "y", "y/z"}
		if got := tree(t, dir); len(got) != len(want) {
			t.Errorf("got %q, want %q", got, want)
		}
		for _, p := range want {
			if fi, err := os.Stat(filepath.Join(dir, p)); err != nil || !fi.IsDir() {
				t.Errorf("%s: %v", p, err)
			}
		}
	})
}

func TestMakerErrors(t *testing.T) {
	modes(t, func(t *testing.T, o mkdir.Options) {
		m, dir := open(t, o)
		must(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "d/f"), nil, 0o644))
		for _, p := range []string{"", "/a", "..", "../a", "d/../../a", "a\x00b"} {
			if err := m.All(p, 0o755); !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("All(%q): %v", p, err)
			}
			c, err := m.Batch(t.Context(), slices.Values([]string{"never", p}), 0o755)
			if !errors.Is(err, fs.ErrInvalid) || c.Len() != 0 {
				t.Errorf("Batch(%q): %v, made %d", p, err, c.Len())
			}
		}
		if runtime.GOOS != "windows" {
			f := filepath.Join(dir, "d/f")
			for _, p := range []string{"d/f", "d/f/a", "d/f/a/b/c"} {
				wantErr(t, m.All(p, 0o755), syscall.ENOTDIR, f)
				_, err := m.Batch(t.Context(), slices.Values([]string{p}), 0o755)
				wantErr(t, err, syscall.ENOTDIR, f)
			}
		}
		if got := tree(t, dir); len(got) != 2 {
			t.Errorf("left behind: %q", got)
		}
	})
}

func TestOpenRootErrors(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "f"), nil, 0o644))
	kill := mkdir.Options{Level: durability.Kill}
	if _, err := mkdir.OpenRoot(filepath.Join(dir, "no"), kill); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing root: %v", err)
	}
	if _, err := mkdir.OpenRoot(filepath.Join(dir, "f"), kill); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("root is a file: %v", err)
	}
	for want, o := range map[string]mkdir.Options{
		"mkdir: Options.Level: durability.Level(9); want power or kill: a directory outlives the process that creates it": {Level: 9},
		"mkdir: Options.Level: none; want power or kill: a directory outlives the process that creates it":                {Level: durability.None},
		"mkdir: Options.Workers: -1; want 0 (GOMAXPROCS, at most 8) or more":                                              {Level: durability.Kill, Workers: -1},
		"mkdir: Options.CacheSize: -1; want 0 (65536 directories) or more":                                                {Level: durability.Kill, CacheSize: -1},
		"mkdir: Options.OneMount: true without Root or Confined; want one of them to be set":                              {Level: durability.Kill, OneMount: true},
	} {
		if _, err := mkdir.OpenRoot(dir, o); !errors.Is(err, fs.ErrInvalid) || err.Error() != want {
			t.Errorf("%+v: %v; want %s", o, err, want)
		}
	}
	r, err := os.OpenRoot(dir)
	must(t, err)
	defer r.Close()
	for _, p := range []string{"", dir, "..", "d/..", "d/../d"} {
		if _, err := mkdir.OpenRoot(p, mkdir.Options{Level: durability.Kill, Root: r}); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("OpenRoot(%q) below a Root: %v", p, err)
		}
	}
	if runtime.GOOS == "windows" {
		if _, err := mkdir.OpenRoot(dir, mkdir.Options{}); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("level power: %v", err)
		}
	}
}

func TestClosed(t *testing.T) {
	modes(t, func(t *testing.T, o mkdir.Options) {
		m, _ := open(t, o)
		must(t, m.All("known", 0o755))
		c, err := m.Batch(t.Context(), slices.Values([]string{"a"}), 0o755)
		must(t, err)
		must(t, m.Close())
		_, err = m.Batch(t.Context(), slices.Values([]string{"b"}), 0o755)
		for _, err := range []error{err, m.All("known", 0o755), m.All("new", 0o755), m.All(".", 0o755), c.Undo(), m.Close()} {
			if !errors.Is(err, fs.ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
		}
	})
}

// Close during other calls must neither break them nor let one succeed on a
// descriptor that belongs to another file by then.
func TestCloseWaits(t *testing.T) {
	m, _ := open(t, mkdir.Options{Level: durability.Kill, Confined: true})
	var wg sync.WaitGroup
	var created atomic.Int64
	for g := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				if err := m.All(fmt.Sprintf("%d/%d/x", g, i), 0o755); err != nil {
					if !errors.Is(err, fs.ErrClosed) {
						t.Error(err)
					}
					return
				}
				created.Add(1)
			}
		})
	}
	for created.Load() < 100 && !t.Failed() {
		time.Sleep(time.Millisecond)
	}
	must(t, m.Close())
	wg.Wait()
}

func TestKnownIsFree(t *testing.T) {
	modes(t, func(t *testing.T, o mkdir.Options) {
		m, _ := open(t, o)
		const p = "tenant-0042/2026/11/21/08/segments/index"
		must(t, m.All(p, 0o755))
		if n := testing.AllocsPerRun(1000, func() { m.All(p, 0o755) }); n != 0 {
			t.Errorf("%v allocations for a known path", n)
		}
	})
}

func TestSmallCache(t *testing.T) {
	modes(t, func(t *testing.T, o mkdir.Options) {
		o.CacheSize = 1
		m, dir := open(t, o)
		for range 2 {
			for i := range 10 {
				must(t, m.All(fmt.Sprintf("a/%d/b/c", i), 0o755))
			}
		}
		if n := len(tree(t, dir)); n != 31 {
			t.Errorf("%d directories, want 31", n)
		}
	})
}

func TestMakerOverlapping(t *testing.T) {
	modes(t, func(t *testing.T, o mkdir.Options) {
		m, dir := open(t, o)
		other := openAt(t, dir, o)
		var wg sync.WaitGroup
		for g := range 8 {
			m := []*mkdir.Maker{m, other}[g%2]
			wg.Go(func() {
				for i := range 12 {
					if g < 4 {
						if err := m.All(fmt.Sprintf("a%d/b%d/c/d%d", i%3, i, g), 0o755); err != nil {
							t.Error(err)
						}
						continue
					}
					if _, err := m.Batch(context.Background(), func(yield func(string) bool) {
						for d := range 6 {
							if !yield(fmt.Sprintf("a%d/b%d/c/d%d", i%3, i, d)) {
								return
							}
						}
					}, 0o755); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if n := len(tree(t, dir)); n != 3+12+12+72 {
			t.Errorf("%d directories, want %d", n, 3+12+12+72)
		}
	})
}

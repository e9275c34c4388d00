package mkdir_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/filetest"
	"github.com/stele-go/stele/mkdir"
	"github.com/stele-go/stele/newfile"
)

// A loop creates a file, and its directory if that is missing. All alone would answer
// from memory, and the loop would not end.
func TestCreateThenVerify(t *testing.T) {
	modes(t, func(t *testing.T, o mkdir.Options) {
		m, dir := open(t, o)
		create := func() error {
			d, err := newfile.OpenDir(filepath.Join(dir, "a/b"), newfile.Options{Level: durability.Kill})
			if err != nil {
				return err
			}
			defer d.Close()
			return d.Touch("f", 0o644)
		}
		must(t, m.All("a/b", 0o755))
		for _, gone := range []string{"a/b", "a"} {
			must(t, os.RemoveAll(filepath.Join(dir, gone)))
			if err := create(); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("got %v, want ErrNotExist", err)
			}
			must(t, m.All("a/b", 0o755)) // from memory
			if err := create(); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("got %v, want ErrNotExist: All asks the disk?", err)
			}
			must(t, m.Verify("a/b", 0o755))
			must(t, create())
		}
	})
}

func TestVerify(t *testing.T) {
	modes(t, func(t *testing.T, o mkdir.Options) {
		m, dir := open(t, o)
		must(t, m.Verify("a/b", 0o755)) // not known: as All
		must(t, m.Verify("a/b", 0o755))
		must(t, m.Verify(".", 0o755))
		must(t, os.RemoveAll(filepath.Join(dir, "a")))
		must(t, os.WriteFile(filepath.Join(dir, "a"), nil, 0o644))
		if err := m.Verify("a/b", 0o755); err == nil {
			t.Error("a file is taken for a directory")
		}
		must(t, os.Remove(filepath.Join(dir, "a")))
		must(t, m.Verify("a/b", 0o755))
		if got := tree(t, dir); len(got) != 2 {
			t.Errorf("made %q", got)
		}
		for _, p := range []string{"", "/a", "..", "a\x00"} {
			if err := m.Verify(p, 0o755); !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("Verify(%q): %v", p, err)
			}
			m.Forget(p)
		}
		must(t, m.Close())
		m.Forget("a")
		if err := m.Verify("a", 0o755); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

func TestForget(t *testing.T) {
	modes(t, func(t *testing.T, o mkdir.Options) {
		m, dir := open(t, o)
		paths := []string{"a/b/c", "a/bc", "d"}
		for _, c := range []struct {
			forget string
			made   []string // again
		}{
			{"a/b", []string{"a", "a/b", "a/b/c"}},
			{"a/b/../b/c/", []string{"a", "a/b", "a/b/c"}},
			{"a", []string{"a", "a/b", "a/b/c", "a/bc"}},
			{"nothing", nil},
			{".", []string{"a", "a/b", "a/b/c", "a/bc", "d"}},
		} {
			for _, p := range paths {
				must(t, m.All(p, 0o755))
			}
			must(t, os.RemoveAll(filepath.Join(dir, "a")))
			must(t, os.RemoveAll(filepath.Join(dir, "d")))
			m.Forget(c.forget)
			if slices.Contains(c.made, "a/b") {
				must(t, m.All("a/b/c", 0o755)) // notices that a is gone
			}
			if slices.Contains(c.made, "d") {
				must(t, m.All("d", 0o755))
			}
			got := tree(t, dir)
			want := slices.DeleteFunc(slices.Clone(c.made), func(p string) bool { return p == "a/bc" })
			if len(got) != len(want) {
				t.Errorf("Forget(%q): made %q, want %q", c.forget, got, want)
			}
			m.Forget(".")
		}
	})
}

// The zero Maker and Created are not open, and do not use descriptor 0.
func TestZero(t *testing.T) {
	var m mkdir.Maker
	var c mkdir.Created
	m.Forget("a")
	batch, err := m.Batch(t.Context(), slices.Values([]string{"a"}), 0o755)
	for name, err := range map[string]error{
		"Batch": err, "Batch.Undo": batch.Undo(), "All": m.All("a", 0o755), "All(.)": m.All(".", 0o755),
		"Verify": m.Verify("a", 0o755), "Close": m.Close(), "Undo": c.Undo(),
	} {
		if !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	if c.Len() != 0 || len(slices.Collect(c.Paths())) != 0 {
		t.Error("a zero Created tells of directories")
	}
	if _, err := os.Stdin.Stat(); err != nil {
		t.Error("standard input: ", err)
	}
}

// Level power needs read permission on directories, and its error says so.
func TestReadPermission(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o733))
	for d := filepath.Dir(dir); len(d) > len(os.TempDir()); d = filepath.Dir(d) {
		must(t, os.Chmod(d, 0o755))
	}
	filetest.AsNobody(t, func() {
		if _, err := os.Stat(dir + "/."); err != nil {
			t.Skip("other users cannot reach TMPDIR: ", err)
		}
		const want = ": permission denied: level power opens a directory for reading, to sync it: grant read permission, or set Options.Level to durability.Kill"
		if _, err := mkdir.OpenRoot(dir, mkdir.Options{}); !errors.Is(err, fs.ErrPermission) || err.Error() != "mkdir.OpenRoot "+dir+want {
			t.Errorf("OpenRoot: %v", err)
		}
		m, err := mkdir.OpenRoot(dir, mkdir.Options{Level: durability.Kill})
		must(t, err)
		must(t, m.All("a", 0o755))
		must(t, m.Close())
		must(t, os.Chmod(filepath.Join(dir, "a"), 0o777))
	})
	must(t, os.Chmod(dir, 0o755))
	must(t, os.Chmod(filepath.Join(dir, "a"), 0o333)) // nobody's own
	filetest.AsNobody(t, func() {
		m, err := mkdir.OpenRoot(dir, mkdir.Options{})
		must(t, err)
		defer m.Close()
		sub := filepath.Join(dir, "a")
		var pe *fs.PathError
		if err := m.All("a/b", 0o755); !errors.As(err, &pe) || pe.Op != "sync" || pe.Path != sub || !errors.Is(err, fs.ErrPermission) ||
			len(pe.Err.Error()) < 100 {
			t.Errorf("All: %v", err)
		}
	})
}

package header_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/header"
)

// rooted returns a directory with d/e/file, and outside of it a directory with the same
// files, to which links lead.
func rooted(t *testing.T) (root *os.Root, dir, outside string) {
	t.Helper()
	top := home(t)
	top, err := os.MkdirTemp(top, "rooted")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(top) })
	dir, outside = filepath.Join(top, "root"), filepath.Join(top, "outside")
	for _, d := range []string{dir, outside} {
		must(t, os.MkdirAll(filepath.Join(d, "d", "e"), 0o755))
		must(t, os.WriteFile(filepath.Join(d, "d", "e", "file"), []byte("content of "+filepath.Base(d)+"\n"), 0o644))
	}
	must(t, os.Symlink(filepath.Join(outside, "d"), filepath.Join(dir, "to-d")))
	must(t, os.Symlink("d", filepath.Join(dir, "inside")))
	must(t, os.Symlink(filepath.Join(outside, "d", "e", "file"), filepath.Join(dir, "d", "e", "to-file")))
	root, err = os.OpenRoot(dir)
	must(t, err)
	t.Cleanup(func() { root.Close() })
	return root, dir, outside
}

func TestRoot(t *testing.T) {
	root, dir, outside := rooted(t)
	for op := range locking {
		for name, want := range map[string]error{
			"to-d/e/file": syscall.ELOOP, "inside/e/file": syscall.ELOOP, "d/e/to-file": syscall.ELOOP,
			"d/e": syscall.EISDIR, "../outside/d/e/file": nil, filepath.Join(outside, "d", "e", "file"): nil, "": nil, "d/../d/e/file": nil,
			"d/e/none": os.ErrNotExist,
		} {
			o := header.Options{Root: root}
			var err error
			switch op {
			case "insert":
				err = second(header.Insert(t.Context(), name, top, o))
			case "read":
				err = second(header.Read(t.Context(), name, o))
			case "recover":
				err = second(header.Recover(t.Context(), name, o))
			case "swap":
				o.Mode = header.InPlace
				err = second(header.Swap(t.Context(), name, []byte("c"), []byte("C"), o))
			default:
				continue
			}
			if err == nil || want != nil && !errors.Is(err, want) {
				t.Errorf("%s %q: %v, want %v", op, name, err, want)
			}
		}
	}
	pad := header.PadByte(' ')
	for i, o := range []header.Options{
		{}, {Level: durability.Kill}, {Mode: header.InPlace, Pad: pad}, {OneMount: true}, {Strategy: header.KernelCopy},
	} {
		o.Root = root
		if _, err := header.Insert(t.Context(), "d/e/file", []byte("a"), o); err != nil {
			t.Errorf("%d: %v", i, err)
		}
		if got, err := header.Read(t.Context(), "d//./e/file", o); err != nil || string(got) != "a" {
			t.Errorf("%d: read %q, %v", i, got, err)
		}
		if _, err := header.Remove(t.Context(), "d/e/file", o); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	o := header.AllOptions{Options: header.Options{Root: root}}
	if _, err := header.InsertAll(t.Context(), slices.Values([]string{"d/e/file"}), headOf, o); err != nil {
		t.Error(err)
	}
	holds(t, filepath.Join(dir, "d/e/file"), []byte("head of file\ncontent of root\n"))
	holds(t, filepath.Join(outside, "d/e/file"), []byte("content of outside\n"))
	only(t, filepath.Join(dir, "d/e"), "file", "to-file")
	if _, err := header.Insert(t.Context(), "file", top, header.Options{OneMount: true}); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("OneMount without Root: %v", err)
	}
}

func TestRootOneMount(t *testing.T) {
	root, dir, _ := rooted(t)
	at := filepath.Join(dir, "d", "e")
	if err := unix.Mount("none", at, "tmpfs", 0, ""); err != nil {
		t.Skipf("needs the right to mount: %v", err)
	}
	defer unix.Unmount(at, unix.MNT_DETACH)
	must(t, os.WriteFile(filepath.Join(at, "file"), []byte("content"), 0o644))
	_, err := header.Insert(t.Context(), "d/e/file", top, header.Options{Root: root, OneMount: true})
	if !errors.Is(err, syscall.EXDEV) {
		t.Errorf("%v", err)
	}
	_, err = header.Insert(t.Context(), "d/e/file", top, header.Options{Root: root})
	must(t, err)
}

// While directories are swapped with links to the outside, nothing there changes.
func TestRootSwaps(t *testing.T) {
	root, dir, outside := rooted(t)
	must(t, os.Symlink(filepath.Join(outside, "d", "e"), filepath.Join(dir, "d", "to-e")))
	i := 0
	stop := repeating(func() error {
		a, b := filepath.Join(dir, "d"), filepath.Join(dir, "to-d")
		if i%2 == 1 {
			a, b = filepath.Join(dir, "d", "e"), filepath.Join(dir, "d", "to-e")
		}
		for range 2 {
			if err := exchange(a, b); err != nil && i%2 == 0 {
				return err
			}
		}
		i++
		return nil
	})
	done, refused := 0, 0
	for n := 0; n < 5000 || n < 50_000 && (done == 0 || refused == 0); n++ {
		o := header.Options{Root: root, Level: durability.Kill}
		if n%2 == 1 {
			o.Mode, o.Pad = header.InPlace, header.PadByte(' ')
		}
		_, err := header.Swap(t.Context(), "d/e/file", []byte("content of"), []byte("content of"+" "), o)
		if err == nil {
			done++
			_, err = header.Swap(t.Context(), "d/e/file", []byte("content of "), []byte("content of"), o)
		}
		if err != nil {
			refused++
		}
	}
	must(t, stop())
	holds(t, filepath.Join(outside, "d/e/file"), []byte("content of outside\n"))
	for _, d := range []string{"", "d", "d/e"} {
		entries, err := os.ReadDir(filepath.Join(outside, d))
		must(t, err)
		if len(entries) != 1 {
			t.Errorf("outside/%s holds %v", d, entries)
		}
	}
	t.Logf("%d done, %d refused", done, refused)
	if done == 0 || refused == 0 {
		t.Skip("the two did not meet")
	}
}

// Errors have the name that was given, not the one that it leads to.
func TestRootErrors(t *testing.T) {
	root, dir, _ := rooted(t)
	const name, immutable, appendOnly = "d//e/file", 0x10, 0x20 // <linux/fs.h>
	at, err := os.Open(filepath.Join(dir, "d", "e"))
	must(t, err)
	defer at.Close()
	flags := func(flags int) error { return unix.IoctlSetPointerInt(int(at.Fd()), unix.FS_IOC_SETFLAGS, flags) }
	t.Cleanup(func() { flags(0) })
	for op, forbid := range map[string]int{"create": immutable, "rename": appendOnly} {
		if err := flags(forbid); err != nil {
			t.Skip("making a directory immutable needs permission: ", err)
		}
		for _, level := range []durability.Level{durability.Kill, durability.Power} {
			o := header.Options{Root: root, Level: level}
			_, err := header.Insert(t.Context(), name, top, o)
			if pe, ok := errors.AsType[*os.PathError](err); !ok || pe.Op != op || pe.Path != name || !errors.Is(err, syscall.EPERM) {
				t.Errorf("insert, %v: %v, want %s %s", level, err, op, name)
			}
			results, err := header.InsertAll(t.Context(), slices.Values([]string{name}), headOf, header.AllOptions{Options: o})
			if pe, ok := errors.AsType[*os.PathError](err); !ok || pe.Op != op || pe.Path != name || results[0].Name != name || results[0].Err != error(pe) {
				t.Errorf("insert all, %v: %v, want %s %s", level, err, op, name)
			}
		}
		must(t, flags(0))
	}
	must(t, unix.Setxattr(filepath.Join(dir, name), "user.stele.intent", []byte("x"), 0))
	_, err = header.Recover(t.Context(), name, header.Options{Root: root})
	if damaged, ok := errors.AsType[*header.DamagedError](err); !ok || damaged.Path != name {
		t.Errorf("recover: %v, want the path %s", err, name)
	}
}

// Files below a Root are committed in groups, as other files are.
func TestRootInsertAll(t *testing.T) {
	for _, level := range []durability.Level{durability.Power, durability.Kill} {
		dir, names := manyFiles(t, 150)
		for i, name := range names {
			rel, err := filepath.Rel(dir, name)
			must(t, err)
			names[i] = rel
		}
		must(t, os.Symlink("0", filepath.Join(dir, "link")))
		asked := slices.Concat(names, []string{"link/f0", "0/missing", "none/f", "0//f0"})
		root, err := os.OpenRoot(dir)
		must(t, err)
		defer root.Close()
		o := header.AllOptions{Options: header.Options{Root: root, Level: level}, Workers: 3}
		results, err := header.InsertAll(t.Context(), slices.Values(asked), headOf, o)
		if err == nil || len(results) != len(asked) {
			t.Fatalf("%d results, %v", len(results), err)
		}
		for i, r := range results {
			want := map[string]error{"link/f0": syscall.ELOOP, "0/missing": syscall.ENOENT, "none/f": syscall.ENOENT}[asked[i]]
			if r.Name != asked[i] || !errors.Is(r.Err, want) || r.Err != nil && !strings.Contains(r.Err.Error(), " "+asked[i]+": ") {
				t.Errorf("%+v, want %v", r, want)
			}
		}
		for i, name := range names {
			head := fmt.Sprintf("head of f%d\n", i)
			if i == 0 {
				head += head
			}
			holds(t, filepath.Join(dir, name), fmt.Appendf(nil, "%scontent %d\n", head, i))
		}
		entries, err := os.ReadDir(filepath.Join(dir, "0"))
		if err != nil || len(entries) != 50 {
			t.Errorf("%d entries, %v", len(entries), err)
		}
	}
}

// A directory that is moved while a group of its files is made keeps its files as
// they are, or all of them are done there; what comes to its name stays as it was.
func TestRootInsertAllMoved(t *testing.T) {
	root, dir, outside := rooted(t)
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprintf("d/e/f%d", i))
		for _, d := range []string{dir, outside} {
			must(t, os.WriteFile(filepath.Join(d, names[i]), []byte("content\n"), 0o644))
		}
	}
	stop := repeating(func() error { return exchange(filepath.Join(dir, "d"), filepath.Join(dir, "to-d")) })
	done, refused := 0, 0
	for n := 0; n < 50 || n < 2000 && (done == 0 || refused == 0); n++ {
		o := header.AllOptions{Options: header.Options{Root: root}, Workers: 2}
		header.SwapAll(t.Context(), slices.Values(names), func(string) (old, data []byte, err error) {
			return []byte("content"), []byte("content" + " "), nil
		}, reporting(o, func(r header.FileResult) {
			if r.Err == nil {
				done++
			} else {
				refused++
			}
		}))
	}
	must(t, stop())
	for i, name := range names {
		holds(t, filepath.Join(outside, name), []byte("content\n"))
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil { // it is swapped now
			b, err = os.ReadFile(filepath.Join(dir, "to-d", name[2:]))
		}
		if err != nil || strings.TrimRight(strings.TrimPrefix(string(b), "content"), " \n") != "" {
			t.Errorf("%d: %q, %v", i, b, err)
		}
	}
	entries, err := os.ReadDir(filepath.Join(outside, "d/e"))
	if err != nil || len(entries) != len(names)+1 {
		t.Errorf("outside holds %d entries, %v", len(entries), err)
	}
	t.Logf("%d done, %d refused", done, refused)
	if done == 0 || refused == 0 {
		t.Skip("the two did not meet")
	}
}

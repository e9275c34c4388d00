package atomicfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/wine"
)

var kill = atomicfile.Options{Level: durability.Kill}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t testing.TB, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	must(t, os.WriteFile(path, []byte(content), 0o644))
	return path
}

// holds checks the content of the file that path leads to.
func holds(t testing.TB, path, want string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil || string(b) != want {
		t.Errorf("%s holds %.20q, %v; want %.20q", path, b, err, want)
	}
}

// only checks that the directory holds these names alone, so no temporary ones.
func only(t testing.TB, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s holds %q, want %q", dir, got, want)
	}
}

func noTemps(t *testing.T, dir string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.Contains(filepath.Base(path), "stele-") {
			t.Errorf("%s is left", path)
		}
		return err
	}))
}

func TestFile(t *testing.T) {
	for _, o := range []atomicfile.Options{{}, kill, {Sync: atomicfile.SyncEach}} {
		dir := t.TempDir()
		path := put(t, dir, "f", "old")
		f, err := atomicfile.Create(path, 0o600, o)
		must(t, err)
		_, err = io.WriteString(f, "new ")
		must(t, err)
		// A reader that returns one byte at a time, and io.EOF with the last.
		n, err := io.Copy(f, iotest.DataErrReader(iotest.OneByteReader(strings.NewReader("content"))))
		if n != 7 || err != nil {
			t.Errorf("copied %d, %v", n, err)
		}
		holds(t, path, "old")
		must(t, f.Commit())
		holds(t, path, "new content")
		only(t, dir, "f")
		f.Abort()
		holds(t, path, "new content")
		if _, err := f.Write([]byte("x")); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("Write after Commit: %v", err)
		}
		if err := f.Commit(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("Commit again: %v", err)
		}
	}
}

func TestAbort(t *testing.T) {
	dir := t.TempDir()
	path := put(t, dir, "f", "old")
	f, err := atomicfile.Create(path, 0o600, atomicfile.Options{})
	must(t, err)
	_, err = f.Write([]byte("new"))
	must(t, err)
	f.Abort()
	f.Abort()
	if err := f.Commit(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Commit after Abort: %v", err)
	}
	holds(t, path, "old")
	only(t, dir, "f")
}

// A File whose ReadFrom failed cannot be committed by mistake.
func TestReaderFails(t *testing.T) {
	dir := t.TempDir()
	path := put(t, dir, "f", "old")
	f, err := atomicfile.Create(path, 0o600, kill)
	must(t, err)
	broken := errors.New("broken")
	if n, err := f.ReadFrom(io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken))); n != 4 || !errors.Is(err, broken) {
		t.Errorf("ReadFrom: %d, %v", n, err)
	}
	if err := f.Commit(); !errors.Is(err, broken) {
		t.Errorf("Commit: %v", err)
	}
	holds(t, path, "old")
	only(t, dir, "f")
}

func TestNoReplace(t *testing.T) {
	dir := t.TempDir()
	o := atomicfile.Options{Level: durability.Kill, NoReplace: true}
	for i, want := range []error{nil, fs.ErrExist} {
		f, err := atomicfile.Create(filepath.Join(dir, "f"), 0o600, o)
		must(t, err)
		fmt.Fprint(f, i)
		if err := f.Commit(); !errors.Is(err, want) {
			t.Errorf("%d: %v, want %v", i, err, want)
		}
		holds(t, filepath.Join(dir, "f"), "0")
		only(t, dir, "f")
	}
}

func TestLinks(t *testing.T) {
	if wine.Running() {
		t.Skip("Wine does not tell a symlink from its target")
	}
	for _, c := range []struct {
		links  atomicfile.Links
		err    error
		f, t   string
		isLink bool
	}{
		{atomicfile.ReplaceLinks, nil, "new", "old", false},
		{atomicfile.FollowLinks, nil, "new", "new", true},
		{atomicfile.RefuseLinks, syscall.ELOOP, "old", "old", true},
	} {
		for _, held := range []bool{false, true} {
			dir := t.TempDir()
			must(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
			target := put(t, dir, "d/t", "old")
			path := filepath.Join(dir, "f")
			if err := os.Symlink(filepath.FromSlash("d/t"), path); err != nil {
				t.Skip(err)
			}
			o := atomicfile.Options{Links: c.links}
			err := func() error {
				if held {
					d, err := atomicfile.OpenDir(dir, o)
					must(t, err)
					defer d.Close()
					return d.WriteFile("f", []byte("new"), 0o600)
				}
				f, err := atomicfile.Create(path, 0o600, o)
				if err != nil {
					return err
				}
				fmt.Fprint(f, "new")
				return f.Commit()
			}()
			if !errors.Is(err, c.err) {
				t.Errorf("links %v, held %v: %v, want %v", c.links, held, err, c.err)
			}
			holds(t, path, c.f)
			holds(t, target, c.t)
			fi, err := os.Lstat(path)
			must(t, err)
			if isLink := fi.Mode()&fs.ModeSymlink != 0; isLink != c.isLink {
				t.Errorf("links %v, held %v: the name is a symlink: %v", c.links, held, isLink)
			}
			noTemps(t, dir)
		}
	}
}

func TestOptions(t *testing.T) {
	dir := t.TempDir()
	for _, o := range []atomicfile.Options{
		{Level: durability.None}, {Level: 9}, {OneMount: true}, {Sync: 9}, {Keep: 1 << 7}, {Links: 9},
		{Temp: "no star"}, {Temp: "two**"}, {Temp: "a/*"}, {Temp: "*\x00"},
	} {
		_, err1 := atomicfile.OpenDir(dir, o)
		_, err2 := atomicfile.Create(filepath.Join(dir, "f"), 0o600, o)
		b := atomicfile.NewBatch(o)
		err3, err4 := b.Add(filepath.Join(dir, "f"), nil, 0o600), b.Commit()
		for _, err := range []error{err1, err2, err3, err4} {
			if !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%+v: %v", o, err)
			}
		}
	}
	f, err := atomicfile.Create(filepath.Join(dir, "f"), 0o600, atomicfile.Options{Level: durability.Kill, Temp: "x-*-y"})
	must(t, err)
	found, err := filepath.Glob(filepath.Join(dir, "x-stele-*-y"))
	if len(found) != 1 || err != nil {
		t.Errorf("found %q, %v", found, err)
	}
	f.Abort()
	only(t, dir)
}

func TestDir(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows refuses to replace a file that another replaces or reads")
	}
	for _, o := range []atomicfile.Options{{}, {Sync: atomicfile.SyncEach}, kill} {
		dir := t.TempDir()
		d, err := atomicfile.OpenDir(dir, o)
		must(t, err)
		for _, bad := range []string{"", ".", "..", "a/b", "/a"} {
			if err := d.WriteFile(bad, nil, 0o600); !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%q: %v", bad, err)
			}
		}
		// Many goroutines, some with the same name.
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for i := range 5 {
					name := fmt.Sprint((g*5 + i) % 10)
					content := strings.Repeat(name, 1000)
					if err := d.WriteFile(name, []byte(content), 0o600); err != nil {
						t.Error(err)
					}
					holds(t, filepath.Join(dir, name), content)
				}
			})
		}
		wg.Wait()
		only(t, dir, "0", "1", "2", "3", "4", "5", "6", "7", "8", "9")

		f, err := d.Create("late", 0o600)
		must(t, err)
		must(t, d.Close())
		must(t, f.Commit())
		holds(t, filepath.Join(dir, "late"), "")
		for _, err := range []error{d.Close(), d.WriteFile("f", nil, 0o600), d.Exchange("0", "1"), d.Batch().Add("f", nil, 0o600)} {
			if !errors.Is(err, fs.ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
		}
	}
}

func TestExchange(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	a, b := put(t, dir, "a", "A"), put(t, dir, "d/b", "B")
	err := atomicfile.Exchange(a, b, atomicfile.Options{})
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		t.Skip(err)
	}
	must(t, err)
	holds(t, a, "B")
	holds(t, b, "A")
	c := put(t, dir, "c", "C")
	d, err := atomicfile.OpenDir(dir, atomicfile.Options{})
	must(t, err)
	defer d.Close()
	must(t, d.Exchange("a", "c"))
	holds(t, a, "C")
	holds(t, c, "B")
	if err := d.Exchange("a", "no"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if err := d.Exchange("a", "d/b"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	only(t, dir, "a", "c", "d")
}

// A reader always finds the whole old content or the whole new.
func TestReaders(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows refuses to replace a file that another replaces or reads")
	}
	dir := t.TempDir()
	d, err := atomicfile.OpenDir(dir, kill)
	must(t, err)
	defer d.Close()
	content := func(i int) []byte { return bytes.Repeat([]byte{byte('a' + i%26)}, 20_000+i) }
	must(t, d.WriteFile("f", content(0), 0o600))
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				b, err := os.ReadFile(filepath.Join(dir, "f"))
				if err != nil || len(b) < 20_000 || !bytes.Equal(b, content(len(b)-20_000)) {
					t.Errorf("read %d bytes, %v", len(b), err)
					return
				}
			}
		})
	}
	for i := range 300 {
		must(t, d.WriteFile("f", content(i), 0o600))
	}
	close(done)
	wg.Wait()
}

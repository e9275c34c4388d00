package states_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stele-go/stele/crashtest/states"
)

func TestFS(t *testing.T) {
	fsys := states.NewFS()
	must(t, fsys.MkdirAll("a/b/c", 0o755))
	must(t, fsys.Mkdir("empty", 0o700))
	must(t, fsys.WriteFile("a/b/f", []byte("content"), 0o644))
	must(t, fsys.WriteFile("g", nil, 0o600))
	must(t, fsys.Link("g", "a/h"))
	if err := fstest.TestFS(fsys, "a", "a/b", "a/b/c", "a/b/f", "a/h", "empty", "g"); err != nil {
		t.Error(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// osFS has the calls of an FS by package os.
type osFS string

func (d osFS) path(name string) string                { return filepath.Join(string(d), name) }
func (d osFS) Mkdir(name string, m fs.FileMode) error { return os.Mkdir(d.path(name), m) }
func (d osFS) MkdirAll(name string, m fs.FileMode) error {
	return os.MkdirAll(d.path(name), m)
}
func (d osFS) Remove(name string) error               { return os.Remove(d.path(name)) }
func (d osFS) Rename(a, b string) error               { return os.Rename(d.path(a), d.path(b)) }
func (d osFS) Link(a, b string) error                 { return os.Link(d.path(a), d.path(b)) }
func (d osFS) Truncate(name string, size int64) error { return os.Truncate(d.path(name), size) }
func (d osFS) open(name string, flag int) (osFile, error) {
	return os.OpenFile(d.path(name), flag, 0o644)
}

type memFS struct{ *states.FS }

func (m memFS) open(name string, flag int) (osFile, error) { return m.OpenFile(name, flag, 0o644) }

type osFile interface {
	io.ReadWriteSeeker
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(int64) error
	Sync() error
}

type osLike interface {
	Mkdir(string, fs.FileMode) error
	MkdirAll(string, fs.FileMode) error
	Remove(string) error
	Rename(string, string) error
	Link(string, string) error
	Truncate(string, int64) error
	open(string, int) (osFile, error)
}

// Random calls do the same in memory as on a disk, and fail alike.
func TestFSLikeOS(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 0))
		mem, disk := memFS{states.NewFS()}, osFS(t.TempDir())
		for i := range 150 {
			name, do := randomCall(rng)
			got, gotErr := do(mem)
			want, wantErr := do(disk)
			same := (gotErr == nil) == (wantErr == nil) && errors.Is(gotErr, fs.ErrNotExist) == errors.Is(wantErr, fs.ErrNotExist)
			if got != want || !same {
				t.Fatalf("seed %d, call %d, %s: %q, %v; package os: %q, %v", seed, i, name, got, gotErr, want, wantErr)
			}
		}
		if got, want := dump(t, mem.FS), dump(t, os.DirFS(string(disk))); got != want {
			t.Fatalf("seed %d: there is %s; with package os %s", seed, got, want)
		}
	}
}

func randomCall(rng *rand.Rand) (string, func(osLike) (string, error)) {
	names := []string{"a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "e"}
	name, other := names[rng.IntN(len(names))], names[rng.IntN(len(names))]
	size, off := rng.IntN(700), int64(rng.IntN(700))
	nothing := func(f func(osLike) error) func(osLike) (string, error) {
		return func(l osLike) (string, error) { return "", f(l) }
	}
	flags := []int{0, os.O_CREATE, os.O_CREATE | os.O_TRUNC, os.O_CREATE | os.O_EXCL, os.O_APPEND}[rng.IntN(5)]
	switch n := rng.IntN(10); n {
	case 0:
		return "mkdir " + name, nothing(func(l osLike) error { return l.Mkdir(name, 0o755) })
	case 1:
		return "mkdirall " + name, nothing(func(l osLike) error { return l.MkdirAll(name, 0o755) })
	case 2:
		return "remove " + name, nothing(func(l osLike) error { return l.Remove(name) })
	case 3, 4:
		return "rename " + name + " " + other, nothing(func(l osLike) error { return l.Rename(name, other) })
	case 5:
		return "link " + name + " " + other, nothing(func(l osLike) error { return l.Link(name, other) })
	case 6:
		return fmt.Sprint("truncate ", name, size), nothing(func(l osLike) error { return l.Truncate(name, int64(size)) })
	default:
		return fmt.Sprint("file ", name, flags), func(l osLike) (string, error) {
			f, err := l.open(name, os.O_RDWR|flags)
			if err != nil {
				return "", err
			}
			defer f.Close()
			n, err := f.Write([]byte(strings.Repeat("x", size)))
			if err != nil || n != size {
				return fmt.Sprint(n), err
			}
			if flags&os.O_APPEND == 0 {
				if _, err := f.WriteAt([]byte("at"), off); err != nil {
					return "", err
				}
			}
			at, err := f.Seek(-1, io.SeekEnd)
			if err != nil {
				return "seek", nil // the file is empty
			}
			b := make([]byte, 10)
			n, err = f.Read(b)
			m, errAt := f.ReadAt(b[n:], 3)
			return fmt.Sprint(at, n, err, m, errAt, b), errors.Join(f.Truncate(at), f.Sync())
		}
	}
}

// dump returns the content of a file system, on one line.
func dump(t *testing.T, fsys fs.FS) string {
	t.Helper()
	s, err := render(fsys)
	must(t, err)
	return s
}

func render(fsys fs.FS) (string, error) {
	var parts []string
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
		case d.IsDir():
			parts = append(parts, name+"/")
		default:
			b, err := fs.ReadFile(fsys, name)
			if err != nil {
				return err
			}
			parts = append(parts, fmt.Sprintf("%s=%q", name, b))
		}
		return nil
	})
	return strings.Join(parts, " "), err
}

func TestFileErrors(t *testing.T) {
	fsys := states.NewFS()
	must(t, fsys.WriteFile("f", []byte("abc"), 0o600))
	f, err := fsys.OpenFile("f", os.O_RDONLY, 0)
	must(t, err)
	if _, err := f.Write([]byte("x")); err == nil {
		t.Error("a file that is open for reading is written")
	}
	must(t, f.Close())
	if err := f.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("closed twice: %v", err)
	}
	if _, err := f.Stat(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Stat of a closed file: %v", err)
	}
	if _, err := fsys.OpenFile("f", os.O_CREATE|os.O_EXCL, 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("O_EXCL: %v", err)
	}
	if _, err := fsys.OpenFile("/f", os.O_RDONLY, 0); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("/f: %v", err)
	}
	if err := fsys.SyncDir("f"); err == nil {
		t.Error("a file is synced as a directory")
	}
	// A file without a name exists until it is closed.
	if f, err = fsys.Create("gone"); err != nil {
		t.Fatal(err)
	}
	must(t, fsys.Remove("gone"))
	if n, err := f.WriteAt([]byte("abc"), 2); n != 3 || err != nil {
		t.Errorf("write to a removed file: %d, %v", n, err)
	}
	must(t, errors.Join(f.Allocate(0, 9), f.Datasync()))
	if fi, err := f.Stat(); err != nil || fi.Size() != 9 {
		t.Errorf("a removed file: %v, %v", fi, err)
	}
}

// Many goroutines may use an FS; this is for the race detector.
func TestFSParallel(t *testing.T) {
	h, err := states.RecordFS(nil, func(fsys *states.FS, ack func(int)) error {
		errs := make([]error, 8)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				name := fmt.Sprint("f", i)
				f, err := fsys.Create(name)
				if err != nil {
					errs[i] = err
					return
				}
				_, err = f.Write([]byte(name))
				errs[i] = errors.Join(err, f.Sync(), fsys.SyncDir("."), f.Close())
				ack(i)
			})
		}
		wg.Wait()
		return errors.Join(errs...)
	})
	must(t, err)
	rep := h.CheckFS(states.Options{Max: 2000}, func(fsys *states.FS, acked []int) error {
		for _, i := range acked {
			name := fmt.Sprint("f", i)
			if b, err := fsys.ReadFile(name); err != nil || string(b) != name {
				return fmt.Errorf("%s holds %q, %w", name, b, err)
			}
		}
		return nil
	})
	if t.Log(rep); rep.Err() != nil {
		t.Error(rep)
	}
}

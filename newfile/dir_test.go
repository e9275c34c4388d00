package newfile_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/newfile"
)

var kill = newfile.Options{Level: durability.Kill}

func levels(t *testing.T, f func(t *testing.T, l durability.Level)) {
	for _, l := range []durability.Level{durability.Power, durability.Kill} {
		t.Run(l.String(), func(t *testing.T) {
			if l == durability.Power && runtime.GOOS == "windows" {
				t.Skip("no directory can be synced here")
			}
			f(t, l)
		})
	}
}

func TestCreate(t *testing.T) {
	levels(t, func(t *testing.T, l durability.Level) {
		for _, shards := range []int{0, 16, 256, 4096} {
			d, dir := open(t, newfile.Options{Level: l, Shards: shards})
			for i := range 20 {
				name := fileName(i)
				f, err := d.Create(name, 0o640)
				must(t, err)
				_, err = f.WriteString(name)
				must(t, err)
				must(t, f.Sync())
				b := make([]byte, len(name))
				if _, err := f.ReadAt(b, 0); err != nil || string(b) != name {
					t.Errorf("read %q, %v", b, err)
				}
				must(t, f.Close())
				if got, err := os.ReadFile(d.Path(name)); err != nil || string(got) != name {
					t.Errorf("%s: %q, %v", d.Path(name), got, err)
				}
				if f.Name() != d.Path(name) {
					t.Errorf("the file's name is %s, Path says %s", f.Name(), d.Path(name))
				}
				must(t, d.Touch("t"+name, 0o600))
				if fi, err := os.Stat(d.Path("t" + name)); err != nil || fi.Size() != 0 || !fi.Mode().IsRegular() {
					t.Errorf("touched: %v, %v", fi, err)
				}
				_, err = d.Create(name, 0o640)
				wantErr(t, err, fs.ErrExist, d.Path(name))
				wantErr(t, d.Touch(name, 0o640), fs.ErrExist, d.Path(name))
			}
			if got := countFiles(t, dir); got != 40 {
				t.Errorf("%d shards: %d files, want 40", shards, got)
			}
		}
	})
}

func TestOrdinaryFile(t *testing.T) {
	d, dir := open(t, kill)
	want, err := os.Create(filepath.Join(dir, "by os"))
	must(t, err)
	defer want.Close()
	got, err := d.Create("by us", 0o666)
	must(t, err)
	defer got.Close()
	describe := func(f *os.File) string {
		deadline := f.SetDeadline(time.Now())
		_, eof := f.Read(make([]byte, 1))
		_, err := f.Write([]byte("abc"))
		pos, seek := f.Seek(1, io.SeekStart)
		sync := f.Sync()
		fi, stat := f.Stat()
		_, list := f.ReadDir(1)
		return fmt.Sprint(deadline, errors.Is(deadline, os.ErrNoDeadline), eof, err, pos, seek, sync, fi.Mode(), fi.Size(), stat, list != nil)
	}
	if g, w := describe(got), describe(want); g != w {
		t.Errorf("a file of Create behaves like\n%s\none of os.Create like\n%s", g, w)
	}
}

func TestNames(t *testing.T) {
	d, _ := open(t, newfile.Options{Level: durability.Kill, Shards: 16})
	for _, name := range []string{"", ".", "..", "a/b", "/a", "../a", "a/", "a\x00b"} {
		_, err := d.Create(name, 0o600)
		wantErr(t, err, fs.ErrInvalid, name)
		wantErr(t, d.Touch(name, 0o600), fs.ErrInvalid, name)
		if p := d.Path(name); p != "" {
			t.Errorf("Path(%q) is %q", name, p)
		}
	}
	for _, name := range []string{"...", ".hidden", "a b", "-", "ü", strings.Repeat("n", 255)} {
		if name == "..." && runtime.GOOS == "windows" {
			continue // not a valid name there
		}
		must(t, d.Touch(name, 0o600))
	}
	_, err := d.Create(strings.Repeat("n", 256), 0o600)
	if err == nil {
		t.Error("a name of 256 bytes was taken")
	}
}

func TestOptions(t *testing.T) {
	for want, o := range map[string]newfile.Options{
		"Options.Level: durability.Level(9); want power or kill: a name outlives the process that creates it": {Level: 9},
		"Options.Level: none; want power or kill: a name outlives the process that creates it":                {Level: durability.None},
		"Options.Shards: 7; want 0, 16, 256 or 4096":                                                          {Level: durability.Kill, Shards: 7},
		"Options.Shards: -16; want 0, 16, 256 or 4096":                                                        {Level: durability.Kill, Shards: -16},
		"Options.Existing: 3; want Refuse, Truncate or Reuse":                                                 {Level: durability.Kill, Existing: 3},
		"Options.OneMount: true without Root; want Root to be set":                                            {Level: durability.Kill, OneMount: true},
	} {
		if _, err := newfile.OpenDir(t.TempDir(), o); !errors.Is(err, fs.ErrInvalid) || err.Error() != "newfile: "+want {
			t.Errorf("%+v: %v, want %s", o, err, want)
		}
	}
	r, err := os.OpenRoot(t.TempDir())
	must(t, err)
	defer r.Close()
	for _, dir := range []string{"", "/tmp", "..", "a/.."} {
		if _, err := newfile.OpenDir(dir, newfile.Options{Level: durability.Kill, Root: r}); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%q below a Root: %v", dir, err)
		}
	}
	for _, dir := range []string{"", "nowhere"} {
		if _, err := newfile.OpenDir(dir, kill); err == nil {
			t.Errorf("opening %q gave no error", dir)
		}
	}
}

// The layout is a promise: these values never change.
func TestLayout(t *testing.T) {
	dir := t.TempDir()
	for shards, want := range map[int]map[string]string{
		0:    {"a": "a", "00000001.seg": "00000001.seg"},
		16:   {"a": "0/a", "00000001.seg": "5/00000001.seg"},
		256:  {"a": "20/a", "00000001.seg": "65/00000001.seg"},
		4096: {"a": "d20/a", "00000001.seg": "b65/00000001.seg"},
	} {
		d := openAt(t, dir, newfile.Options{Level: durability.Kill, Shards: shards})
		for name, rel := range want {
			if got := d.Path(name); got != filepath.Join(dir, filepath.FromSlash(rel)) {
				t.Errorf("%d shards: Path(%q) is %s, want %s below %s", shards, name, got, rel, dir)
			}
		}
	}
}

// Names of the usual kinds are spread evenly.
func TestSpread(t *testing.T) {
	const perShard = 64
	for _, shards := range []int{16, 256, 4096} {
		d, _ := open(t, newfile.Options{Level: durability.Kill, Shards: shards})
		for kind, name := range map[string]func(int) string{
			"counted": func(i int) string { return fmt.Sprintf("%d", i) },
			"padded":  fileName,
			"hex":     func(i int) string { return fmt.Sprintf("%016x", uint64(i)*0x9e3779b97f4a7c15) },
			"dated":   func(i int) string { return time.Unix(1_700_000_000+int64(i), 0).UTC().Format(time.RFC3339) },
		} {
			if kind == "dated" && runtime.GOOS == "windows" {
				continue // no name may have a colon
			}
			n := map[string]int{}
			for i := range perShard * shards {
				n[filepath.Dir(d.Path(name(i)))]++
			}
			most := 0
			for _, k := range n {
				most = max(most, k)
			}
			// Thrown at random, the fullest of 4,096 shards has less than 64
			// and six times its square root.
			if len(n) != shards || most > perShard+6*8 {
				t.Errorf("%s names in %d shards: %d are used, the fullest has %d, the mean %d", kind, shards, len(n), most, perShard)
			}
		}
	}
}

func TestExisting(t *testing.T) {
	for _, c := range []struct {
		existing newfile.Existing
		want     string
	}{{newfile.Truncate, ""}, {newfile.Reuse, "old"}} {
		d, _ := open(t, newfile.Options{Level: durability.Kill, Existing: c.existing})
		for _, by := range []func() error{
			func() error { return closed(d.Create("f", 0o600)) },
			func() error { return d.Touch("f", 0o600) },
		} {
			must(t, os.WriteFile(d.Path("f"), []byte("old"), 0o600))
			must(t, by())
			if got, err := os.ReadFile(d.Path("f")); err != nil || string(got) != c.want {
				t.Errorf("Existing %d leaves %q, %v; want %q", c.existing, got, err, c.want)
			}
		}
	}
}

// A symlink in the place of a file does not redirect a Dir.
func TestSymlinks(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("followed here")
	}
	for _, e := range []newfile.Existing{newfile.Refuse, newfile.Truncate, newfile.Reuse} {
		d, dir := open(t, newfile.Options{Level: durability.Kill, Existing: e})
		out := filepath.Join(t.TempDir(), "out")
		must(t, os.Symlink(out, filepath.Join(dir, "link")))
		want := error(syscall.ELOOP)
		if e == newfile.Refuse {
			want = fs.ErrExist
		}
		_, err := d.Create("link", 0o600)
		wantErr(t, err, want, d.Path("link"))
		wantErr(t, d.Touch("link", 0o600), want, d.Path("link"))
		if _, err := os.Lstat(out); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the link's target: %v", err)
		}
	}
}

// Sub-directories that another process removes are created again.
func TestShardsRemoved(t *testing.T) {
	levels(t, func(t *testing.T, l durability.Level) {
		d, dir := open(t, newfile.Options{Level: l, Shards: 16})
		for i := range 30 {
			must(t, d.Touch(fileName(i), 0o600))
			must(t, closed(d.Create("c"+fileName(i), 0o600)))
			if i%10 == 5 {
				entries, err := os.ReadDir(dir)
				must(t, err)
				for _, e := range entries {
					must(t, os.RemoveAll(filepath.Join(dir, e.Name())))
				}
			}
		}
		if got := countFiles(t, dir); got != 8 {
			t.Errorf("%d files, want 8: four of each since the last removal", got)
		}
	})
}

// Of many goroutines that create one name, one succeeds.
func TestRace(t *testing.T) {
	levels(t, func(t *testing.T, l durability.Level) {
		d, dir := open(t, newfile.Options{Level: l, Shards: 16})
		var made atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for i := range 20 {
					switch f, err := d.Create(fileName(i), 0o600); {
					case err == nil:
						made.Add(1)
						f.Close()
					case !errors.Is(err, fs.ErrExist):
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if made.Load() != 20 || countFiles(t, dir) != 20 {
			t.Errorf("%d made, %d there, want 20", made.Load(), countFiles(t, dir))
		}
	})
}

func TestClosedDir(t *testing.T) {
	d, _ := open(t, kill)
	f, err := d.Create("f", 0o600)
	must(t, err)
	must(t, d.Close())
	if _, err := f.WriteString("still open"); err != nil {
		t.Error(err)
	}
	must(t, f.Close())
	_, err = d.Create("g", 0o600)
	wantErr(t, err, fs.ErrClosed, d.Path("g"))
	wantErr(t, d.Touch("g", 0o600), fs.ErrClosed, d.Path("g"))
	if err := d.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("closing again: %v", err)
	}
	if _, err := newfile.Anonymous(d, 0o600); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Anonymous: %v", err)
	}
}

func wantErr(t testing.TB, err, target error, path string) {
	t.Helper()
	var pe *fs.PathError
	if !errors.Is(err, target) || !errors.As(err, &pe) || pe.Path != path {
		t.Errorf("got %v, want %v of %q", err, target, path)
	}
}

func countFiles(t testing.TB, dir string) (n int) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	}))
	return n
}

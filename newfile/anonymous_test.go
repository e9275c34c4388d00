package newfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/newfile"
)

// kinds are the two kinds of anonymous files: with O_TMPFILE, and hidden.
func kinds(t *testing.T, f func(t *testing.T, d *newfile.Dir, dir string)) {
	for _, hidden := range []bool{false, true} {
		name := map[bool]string{false: "unnamed", true: "hidden"}[hidden]
		t.Run(name, func(t *testing.T) {
			levels(t, func(t *testing.T, l durability.Level) {
				for _, shards := range []int{0, 16} {
					d, dir := open(t, newfile.Options{Level: l, Shards: shards})
					if hidden {
						newfile.WithoutUnnamed(d)
					}
					fds := openDescriptors(t)
					f(t, d, dir)
					if now := openDescriptors(t); now != fds {
						t.Errorf("%d descriptors before, %d after", fds, now)
					}
				}
			})
		})
	}
}

func TestPublish(t *testing.T) {
	kinds(t, func(t *testing.T, d *newfile.Dir, dir string) {
		f, err := newfile.Anonymous(d, 0o640)
		must(t, err)
		_, err = f.WriteString("new")
		must(t, err)
		must(t, os.MkdirAll(filepath.Dir(d.Path("there")), 0o755))
		must(t, os.WriteFile(d.Path("there"), []byte("old"), 0o600))
		wantErr(t, f.Publish("there"), fs.ErrExist, d.Path("there"))
		wantErr(t, f.Publish("../x"), fs.ErrInvalid, "../x")
		must(t, f.Publish("f"))
		wantErr(t, f.Publish("g"), fs.ErrInvalid, d.Path("g"))
		must(t, f.Close())
		wantFile(t, d, "f", "new")
		wantFile(t, d, "there", "old")
		if n := countFiles(t, dir); n != 2 {
			t.Errorf("%d files, want 2", n)
		}
	})
}

func TestReplace(t *testing.T) {
	kinds(t, func(t *testing.T, d *newfile.Dir, dir string) {
		for _, content := range []string{"first", "second"} {
			f, err := newfile.Anonymous(d, 0o640)
			must(t, err)
			_, err = f.WriteString(content)
			must(t, err)
			must(t, f.Replace("f"))
			must(t, f.Close())
			wantFile(t, d, "f", content)
		}
		if n := countFiles(t, dir); n != 1 {
			t.Errorf("%d files, want 1", n)
		}
	})
}

// A Replace that fails leaves no temporary file.
func TestReplaceDirectory(t *testing.T) {
	kinds(t, func(t *testing.T, d *newfile.Dir, dir string) {
		must(t, os.MkdirAll(d.Path("d"), 0o755))
		f, err := newfile.Anonymous(d, 0o640)
		must(t, err)
		if err := f.Replace("d"); err == nil {
			t.Error("a directory was replaced")
		}
		must(t, f.Close())
		if n := countFiles(t, dir); n != 0 {
			t.Errorf("%d files are left", n)
		}
	})
}

func TestUnpublishedIsGone(t *testing.T) {
	kinds(t, func(t *testing.T, d *newfile.Dir, dir string) {
		f, err := newfile.Anonymous(d, 0o640)
		must(t, err)
		_, err = f.WriteString("nobody shall see this")
		must(t, err)
		must(t, f.Close())
		if n := countFiles(t, dir); n != 0 {
			t.Errorf("%d files are left", n)
		}
		if err := f.Publish("f"); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("publishing a closed file: %v", err)
		}
	})
}

func wantFile(t testing.TB, d *newfile.Dir, name, want string) {
	t.Helper()
	if got, err := os.ReadFile(d.Path(name)); err != nil || string(got) != want {
		t.Errorf("%s holds %q, %v; want %q", d.Path(name), got, err, want)
	}
}

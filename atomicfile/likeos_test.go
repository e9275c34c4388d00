package atomicfile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stele-go/stele/atomicfile"
)

// WriteFile does what os.WriteFile does.
func TestLikeOS(t *testing.T) {
	big := strings.Repeat("stele", 100_000)
	type state struct {
		content string
		mode    fs.FileMode
		link    string
		err     string
	}
	for _, c := range []struct {
		name   string
		before func(dir string) error
		file   string
		data   string
		perm   fs.FileMode
		differ bool // as documented; only err is compared
		want   string
	}{
		{name: "new", file: "f", data: "new", perm: 0o644},
		{name: "new, umask", file: "f", data: "new", perm: 0o666},
		{name: "new, read-only", file: "f", data: "new", perm: 0o400},
		{name: "empty", file: "f", perm: 0o600},
		{name: "big", file: "f", data: big, perm: 0o600},
		{name: "over another", before: file("f", 0o640), file: "f", data: "n", perm: 0o777},
		{name: "over one the umask would not allow", before: file("f", 0o666), file: "f", data: "n", perm: 0o600},
		{name: "over a setuid file", before: file("f", 0o755|fs.ModeSetuid), file: "f", data: "n", perm: 0o600, differ: runtime.GOOS == "linux"},
		{name: "through a symlink", before: both(file("t", 0o640), link("f", "t")), file: "f", data: "n", perm: 0o600},
		{name: "through two", before: both(file("t", 0o640), link("g", "t"), link("f", "g")), file: "f", data: "n", perm: 0o600},
		{name: "through a dangling one", before: link("f", "t"), file: "f", data: "n", perm: 0o600},
		{name: "into another directory", before: both(directory("d"), file("d/t", 0o600), link("f", "d/t")), file: "f", data: "n", perm: 0o600},
		{name: "through a directory's symlink", before: both(directory("d/e"), link("l", "d/e"), file("d/t", 0o600), link("f", "l/../t")), file: "f", data: "n", perm: 0o600},
		{name: "a circle", before: both(link("f", "g"), link("g", "f")), file: "f", data: "n", perm: 0o600},
		{name: "a directory", before: directory("f"), file: "f", data: "n", perm: 0o600},
		{name: "a trailing slash", before: directory("f"), file: "f/", data: "n", perm: 0o600},
		{name: "no directory", file: "no/f", data: "n", perm: 0o600},
		{name: "a file for a directory", before: file("d", 0o600), file: "d/f", data: "n", perm: 0o600},
		{name: "a long name", file: strings.Repeat("n", 255), data: "n", perm: 0o600},
		{name: "too long a name", file: strings.Repeat("n", 256), data: "n", perm: 0o600},
		{name: "an unclean path", before: directory("d"), file: "d/..//./f", data: "n", perm: 0o600},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := func(write func(string, []byte, fs.FileMode) error) (state, string) {
				dir := t.TempDir()
				if c.before != nil {
					if err := c.before(dir); err != nil {
						t.Skip(err)
					}
				}
				err := write(dir+"/"+c.file, []byte(c.data), c.perm)
				var s state
				if no := syscall.Errno(0); errors.As(err, &no) {
					s.err = no.Error()
				} else if err != nil {
					s.err = err.Error()
				}
				if b, err := os.ReadFile(dir + "/" + c.file); err == nil {
					s.content = string(b)
				}
				if fi, err := os.Stat(dir + "/" + c.file); err == nil {
					s.mode = fi.Mode()
				}
				s.link, _ = os.Readlink(dir + "/" + c.file)
				return s, dir
			}
			want, _ := run(os.WriteFile)
			got, dir := run(atomicfile.WriteFile)
			if c.differ {
				got.mode, want.mode = 0, 0
			}
			if runtime.GOOS == "windows" && c.name == "no directory" {
				got.err, want.err = "", "" // one error for a file, another for a directory
			}
			if got != want {
				t.Errorf("got %.200v\nwant %.200v", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
			}
			noTemps(t, dir)
		})
	}
}

func file(name string, mode fs.FileMode) func(string) error {
	return func(dir string) error {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("old, and longer"), 0o600); err != nil {
			return err
		}
		return os.Chmod(path, mode)
	}
}

func link(name, target string) func(string) error {
	return func(dir string) error { return os.Symlink(target, filepath.Join(dir, name)) }
}

func directory(name string) func(string) error {
	return func(dir string) error { return os.MkdirAll(filepath.Join(dir, name), 0o755) }
}

func both(steps ...func(string) error) func(string) error {
	return func(dir string) error {
		for _, step := range steps {
			if err := step(dir); err != nil {
				return err
			}
		}
		return nil
	}
}

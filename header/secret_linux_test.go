package header

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
)

// A program that may rename in a directory puts another file in the place of a secret
// one, while the new file is made or before it is committed. The new file has the
// content and the permissions of the locked one, and replaces no other file: so no one
// else can read the secret, and it is not lost.
func TestPermissionsOfLockedFile(t *testing.T) {
	for _, batch := range []bool{false, true} {
		for when, swapped := range []string{"create", "commit", "never"} {
			t.Run(fmt.Sprintf("batch %v swapped at %s", batch, swapped), func(t *testing.T) { swapLocked(t, batch, when) })
		}
	}
}

func swapLocked(t *testing.T, batch bool, when int) {
	dir := t.TempDir()
	secret, public := filepath.Join(dir, "secret"), filepath.Join(dir, "public")
	for name, mode := range map[string]fs.FileMode{secret: 0o600, public: 0o644} {
		must(t, os.WriteFile(name, []byte(filepath.Base(name)), mode))
		if err := unix.Setxattr(name, "user.of", []byte(filepath.Base(name)), 0); err != nil {
			t.Skip("no extended attributes here: ", err)
		}
	}
	exchange := func(now int) {
		if now == when {
			must(t, unix.Renameat2(unix.AT_FDCWD, secret, unix.AT_FDCWD, public, unix.RENAME_EXCHANGE))
		}
	}
	o := Options{Level: durability.Kill, Strategy: Copy}
	target, err := lockTarget(t.Context(), secret, false, o, 0)
	must(t, err)
	defer target.close()
	e, err := insertion([]byte("head of "))(target, o)
	must(t, err)
	w := worker{}
	f, _, err := target.perform(e, o, func(ao atomicfile.Options, perm fs.FileMode, fill func(content) error) (*atomicfile.File, error) {
		exchange(0)
		if batch {
			return nil, w.create(target, perm, ao, fill)
		}
		return target.create(ao, perm, fill)
	})
	if err == nil {
		exchange(1)
		if batch {
			err = w.batch.Commit()
		} else {
			err = f.Commit()
		}
	}
	want := "head of secret"
	if when < 2 {
		if !errors.Is(err, syscall.EBUSY) {
			t.Errorf("got %v", err)
		}
		exchange(when) // back
		want = "secret"
	} else {
		must(t, err)
	}
	for name, want := range map[string]string{secret: want, public: "public"} {
		b, err := os.ReadFile(name)
		must(t, err)
		fi, err := os.Stat(name)
		must(t, err)
		value := make([]byte, 10)
		n, err := unix.Getxattr(name, "user.of", value)
		must(t, err)
		if string(b) != want || (fi.Mode() == 0o600) != (name == secret) || string(value[:n]) != filepath.Base(name) {
			t.Errorf("%s: mode %v, content %q, attribute %q", filepath.Base(name), fi.Mode(), b, value[:n])
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

package header

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
)

// Whoever may rename in a folder has another file there while the new one is
// made, and the old one back before it is looked at again. Then content and
// permissions are both the old one's: else everybody might read its secret.
func TestPermissionsOfLockedFile(t *testing.T) {
	for _, batch := range []bool{false, true} {
		dir := t.TempDir()
		secret, public := filepath.Join(dir, "secret"), filepath.Join(dir, "public")
		exchange := func() {
			must(t, unix.Renameat2(unix.AT_FDCWD, secret, unix.AT_FDCWD, public, unix.RENAME_EXCHANGE))
		}
		for name, mode := range map[string]fs.FileMode{secret: 0o600, public: 0o644} {
			must(t, os.WriteFile(name, []byte(filepath.Base(name)), mode))
			if err := unix.Setxattr(name, "user.of", []byte(filepath.Base(name)), 0); err != nil {
				t.Skip("no extended attributes here: ", err)
			}
		}
		o := Options{Level: durability.Kill, Strategy: Copy}
		target, err := lockTarget(t.Context(), secret, false, o, 0)
		must(t, err)
		e, err := insertion([]byte("head of "))(target, o)
		must(t, err)
		w := worker{}
		f, _, err := target.make(e, o, func(ao atomicfile.Options, perm fs.FileMode, fill func(content) error) (*atomicfile.File, error) {
			exchange()
			back := func(to content) error {
				exchange()
				return fill(to)
			}
			if batch {
				return nil, w.create(target, perm, ao, back)
			}
			return target.create(ao, perm, back)
		})
		must(t, err)
		exchange()
		if batch {
			must(t, w.batch.Commit())
		} else {
			must(t, f.Commit())
		}
		target.close()
		fi, err := os.Stat(secret)
		must(t, err)
		content, err := os.ReadFile(secret)
		must(t, err)
		value := make([]byte, 10)
		n, err := unix.Getxattr(secret, "user.of", value)
		must(t, err)
		if fi.Mode() != 0o600 || string(content) != "head of secret" || string(value[:n]) != "secret" {
			t.Errorf("batch %v: mode %v, content %q, attribute %q", batch, fi.Mode(), content, value[:n])
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

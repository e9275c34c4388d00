package sys

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/filetest"
)

// The kernel's rule for symlinks in directories that everybody may write to holds
// whatever its setting, and is applied to the very symlink that is read.
func TestFollowLink(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("giving files away needs root")
	}
	const me, other = 0, 1001
	for _, c := range []struct {
		mode     uint32
		dir, own int
		want     error
	}{
		{0o1777, me, me, nil},
		{0o1777, other, me, nil},
		{0o1777, other, other, nil},
		{0o1777, me, other, unix.EACCES},
		{0o1773, me, other, unix.EACCES},
		{0o1770, me, other, nil}, // not world-writable
		{0o0777, me, other, nil}, // not sticky
	} {
		d, name := openDir(t, ForPath)
		link := filepath.Join(name, "link")
		err := errors.Join(os.Symlink("a/b", link), os.Lchown(link, c.own, c.own), os.Chown(name, c.dir, c.dir), unix.Chmod(name, c.mode))
		if err != nil {
			t.Fatal(err)
		}
		if target, err := d.FollowLink("link"); err != c.want || err == nil && target != "a/b" {
			t.Errorf("directory %o of %d, symlink of %d: %q, %v, want %v", c.mode, c.dir, c.own, target, err, c.want)
		}
	}
	d, name := openDir(t, ForPath)
	if err := os.WriteFile(filepath.Join(name, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if target, err := d.FollowLink("file"); err != unix.EINVAL {
		t.Errorf("of a file: %q, %v", target, err)
	}
	if target, err := d.FollowLink("no"); err != unix.ENOENT {
		t.Errorf("of nothing: %q, %v", target, err)
	}
}

// The caller is the user that the kernel takes its thread for.
func TestFollowLinkAs(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("giving a symlink away needs root")
	}
	d, name := openDir(t, ForPath)
	const nobody = 65534
	link := filepath.Join(name, "link")
	if err := errors.Join(os.Symlink("x", link), os.Lchown(link, nobody, nobody), unix.Chmod(name, 0o1777)); err != nil {
		t.Fatal(err)
	}
	filetest.AsNobody(t, func() {
		if _, err := d.FollowLink("link"); err != nil {
			t.Error(err)
		}
	})
}

func TestFollowLinkOfMount(t *testing.T) {
	name := filetest.Tmpfs(t, unix.MS_NOSYMFOLLOW, "")
	if err := os.Symlink("x", filepath.Join(name, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(name, "link")); !errors.Is(err, unix.ELOOP) {
		t.Skip("no nosymfollow here: ", err)
	}
	d, err := OpenDir(name, ForPath)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if target, err := d.FollowLink("link"); err != unix.ELOOP {
		t.Errorf("%q, %v", target, err)
	}
}

package sys

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAttributes(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd := int(f.Fd())
	long := bytes.Repeat([]byte("x"), 900) // longer than the first buffer
	if err := SetAttr(fd, "user.long", long); NoRoomForAttr(err) {
		t.Skip("no user attributes here: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	if got, err := GetAttr(fd, "user.long"); err != nil || !bytes.Equal(got, long) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := GetAttr(fd, "user.none"); !NoXattr(err) {
		t.Errorf("%v", err)
	}
}

func TestCopyXattrs(t *testing.T) {
	d, name := openDir(t, ForPath)
	path := filepath.Join(name, "f")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := d.CreateTemp("t", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Setxattr(path, "user.a", []byte("1"), 0); err != nil {
		t.Skip("no extended attributes here: ", err)
	}
	for _, attr := range []string{"user.a", "user.b"} {
		if err := unix.Fsetxattr(f.fd(), attr, []byte("old"), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.CopyXattrs("f", f); err != nil {
		t.Error(err)
	}
	if b, err := getXattr(f.fd(), "user.a"); string(b) != "1" || err != nil {
		t.Errorf("user.a is %q, %v", b, err)
	}
	if _, err := getXattr(f.fd(), "user.b"); err != unix.ENODATA {
		t.Errorf("user.b is still there: %v", err)
	}
	if err := d.CopyXattrs("no", f); err != unix.ENOENT {
		t.Errorf("of nothing: %v", err)
	}
}

func TestCarried(t *testing.T) {
	for attr, want := range map[string]bool{
		"user.a": true, "trusted.x": true, "security.selinux": true, "btrfs.compression": true,
		"security.ima": false, "security.evm": false, "security.capability": false, "system.nfs4_acl": false, aclName: false,
		"trusted.SGI_ACL_FILE": false, "trusted.SGI_ACL_DEFAULT": false, "trusted.overlay.metacopy": false,
		"user.overlay.metacopy": false, "user.stele.header": false, "bcachefs_effective.compression": false,
	} {
		if got := carried(attr); got != want {
			t.Errorf("%s: %v", attr, got)
		}
	}
}

// A FUSE file system may claim any length.
func TestSized(t *testing.T) {
	value := func(n int) func([]byte) (int, error) {
		return func(b []byte) (int, error) {
			switch {
			case len(b) == 0:
				return n, nil
			case len(b) < n:
				return 0, unix.ERANGE
			}
			return copy(b, bytes.Repeat([]byte("x"), n)), nil
		}
	}
	for _, n := range []int{0, 1, 256, 257, maxAttr} {
		if b, err := sized(value(n)); len(b) != n || err != nil {
			t.Errorf("of %d bytes: %d, %v", n, len(b), err)
		}
	}
	for _, told := range []int{0, 300, maxAttr, maxAttr + 1} {
		never := func(b []byte) (int, error) {
			if len(b) == 0 {
				return told, nil
			}
			return 0, unix.ERANGE
		}
		if _, err := sized(never); err != unix.E2BIG {
			t.Errorf("that says %d bytes and gives none: %v", told, err)
		}
	}
	if _, err := sized(func([]byte) (int, error) { return 0, unix.ERANGE }); err != unix.ERANGE {
		t.Errorf("that never tells: %v", err)
	}
}

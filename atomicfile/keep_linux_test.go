package atomicfile_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/filetest"
)

// acl is an access ACL that gives user 1 rwx: owner rw-, group r--, mask rwx,
// others none (the format of posix_acl_xattr.h).
func acl() []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	const none = 0xffffffff
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, 6, none}, {2, 7, 1}, {4, 4, none}, {0x10, 7, none}, {0x20, 0, none}} {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, e.perm)
		b = binary.LittleEndian.AppendUint32(b, e.id)
	}
	return b
}

const aclName = "system.posix_acl_access"

func setAttr(t *testing.T, path, name string, value []byte) {
	t.Helper()
	if err := unix.Setxattr(path, name, value, 0); err != nil {
		t.Skip("no extended attributes here: ", err)
	}
}

func attr(path, name string) []byte {
	b := make([]byte, 1<<16)
	n, err := unix.Getxattr(path, name, b)
	if err != nil {
		return nil
	}
	return b[:n]
}

func TestKeep(t *testing.T) {
	for _, c := range []struct {
		keep             atomicfile.Keep
		mode             uint32
		attr, acl, owner bool
	}{
		{0, 0o600, false, false, false},
		// The owner differs: no setuid, and group and others get what both had.
		{atomicfile.KeepMode, 0o644, false, false, false},
		{atomicfile.KeepMode | atomicfile.KeepOwner, 0o4674, false, false, true},
		{atomicfile.KeepXattrs, 0o600, true, false, false},
		{atomicfile.KeepACL | atomicfile.KeepOwner, 0o4670, false, true, true},
		{atomicfile.KeepOwner, 0o600, false, false, true},
		{atomicfile.KeepAll, 0o4670, true, true, true},
	} {
		t.Run("", func(t *testing.T) {
			if c.owner && os.Geteuid() != 0 {
				t.Skip("giving a file away needs root")
			}
			if c.keep == atomicfile.KeepMode && os.Geteuid() != 0 {
				c.mode = 0o4674 // the owner is the same
			}
			dir := t.TempDir()
			path := put(t, dir, "f", "old")
			large := bytes.Repeat([]byte("v"), 500)
			setAttr(t, path, "user.stele", large)
			setAttr(t, path, "user.empty", nil)
			if os.Geteuid() == 0 {
				must(t, os.Chown(path, 1, 2))
			}
			must(t, syscall.Chmod(path, 0o4640))
			if c.acl {
				setAttr(t, path, aclName, acl())
			} else {
				must(t, syscall.Chmod(path, 0o4674))
			}
			f, err := atomicfile.Create(path, 0o600, atomicfile.Options{Level: durability.Kill, Keep: c.keep})
			must(t, err)
			_, err = f.Write([]byte("new"))
			must(t, err)
			must(t, f.Commit())
			holds(t, path, "new")
			var st unix.Stat_t
			must(t, unix.Stat(path, &st))
			if st.Mode&0o7777 != c.mode {
				t.Errorf("keep %b: mode %o, want %o", c.keep, st.Mode&0o7777, c.mode)
			}
			if owner := st.Uid == 1 && st.Gid == 2; owner != c.owner {
				t.Errorf("keep %b: owner %d:%d", c.keep, st.Uid, st.Gid)
			}
			if kept := bytes.Equal(attr(path, "user.stele"), large) && attr(path, "user.empty") != nil; kept != c.attr {
				t.Errorf("keep %b: attributes kept: %v", c.keep, kept)
			}
			if kept := bytes.Equal(attr(path, aclName), acl()); kept != c.acl {
				t.Errorf("keep %b: ACL %x", c.keep, attr(path, aclName))
			}
			only(t, dir, "f")
		})
	}
}

// A directory's default ACL does not apply to a file that had no ACL, except with
// KeepNothing.
func TestKeepNoACL(t *testing.T) {
	dir := t.TempDir()
	path := put(t, dir, "f", "old")
	setAttr(t, dir, "system.posix_acl_default", acl())
	for _, keep := range []atomicfile.Keep{atomicfile.KeepNothing, 0, atomicfile.KeepACL} {
		f, err := atomicfile.Create(path, 0o640, atomicfile.Options{Level: durability.Kill, Keep: keep})
		must(t, err)
		must(t, f.Commit())
		if has := attr(path, aclName) != nil; has != (keep == atomicfile.KeepNothing) {
			t.Errorf("keep %b: has an ACL: %v", keep, has)
		}
		must(t, os.Remove(path))
		must(t, unix.Removexattr(dir, "system.posix_acl_default"))
		put(t, dir, "f", "old")
		setAttr(t, dir, "system.posix_acl_default", acl())
	}
}

// Before Commit only users that may read the old content may read the new.
func TestPrivateUntilCommit(t *testing.T) {
	dir := t.TempDir()
	path := put(t, dir, "f", "old")
	must(t, os.Chmod(path, 0o600))
	f, err := atomicfile.Create(path, 0o644, atomicfile.Options{Level: durability.Kill, Keep: atomicfile.KeepMode})
	must(t, err)
	defer f.Abort()
	temps, err := filepath.Glob(filepath.Join(dir, ".stele-*"))
	if err != nil || len(temps) != 1 {
		t.Fatal(temps, err)
	}
	fi, err := os.Stat(temps[0])
	must(t, err)
	if fi.Mode().Perm() != 0o600 {
		t.Errorf("meanwhile the mode is %v", fi.Mode())
	}
}

func TestNotRegular(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "fifo")
	must(t, unix.Mkfifo(path, 0o600))
	if err := atomicfile.WriteFile(path, []byte("x"), 0o600); err == nil {
		t.Error("a FIFO was replaced")
	}
	var st unix.Stat_t
	must(t, unix.Stat(path, &st))
	if st.Mode&unix.S_IFMT != unix.S_IFIFO {
		t.Error("the FIFO is gone")
	}
	only(t, dir, "fifo")
}

func TestNoPermissionOnDirectory(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	path := put(t, dir, "f", "old")
	must(t, os.Chmod(dir, 0o555))
	defer os.Chmod(dir, 0o755)
	if err := atomicfile.WriteFile(path, []byte("x"), 0o600); !errors.Is(err, os.ErrPermission) {
		t.Errorf("got %v", err)
	}
	holds(t, path, "old")
}

// Setting user attributes needs write permission, which the mode of the old file
// need not give. Root always has it, so the test becomes another user.
func TestKeepOfReadOnly(t *testing.T) {
	dir := t.TempDir()
	path := put(t, dir, "f", "old")
	setAttr(t, path, "user.mine", []byte("v"))
	must(t, os.Chmod(path, 0o444))
	try := func() {
		for _, keep := range []atomicfile.Keep{atomicfile.KeepAll &^ atomicfile.KeepOwner, atomicfile.KeepMode | atomicfile.KeepXattrs} {
			f, err := atomicfile.Create(path, 0o600, atomicfile.Options{Level: durability.Kill, Keep: keep})
			must(t, err)
			must(t, f.Commit())
			fi, err := os.Stat(path)
			must(t, err)
			if fi.Mode() != 0o444 || string(attr(path, "user.mine")) != "v" {
				t.Errorf("keep %b: mode %v, attribute %q", keep, fi.Mode(), attr(path, "user.mine"))
			}
		}
		f, err := atomicfile.Create(path, 0o400, atomicfile.Options{Level: durability.Kill, Keep: atomicfile.KeepXattrs})
		must(t, err)
		must(t, f.Commit())
		fi, err := os.Stat(path)
		must(t, err)
		if fi.Mode() != 0o400 || string(attr(path, "user.mine")) != "v" {
			t.Errorf("attributes only: mode %v, attribute %q", fi.Mode(), attr(path, "user.mine"))
		}
	}
	if os.Geteuid() != 0 {
		try()
		return
	}
	const nobody = 65534
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	must(t, os.Chown(dir, nobody, nobody))
	must(t, os.Chown(path, nobody, nobody))
	filetest.AsNobody(t, try)
}

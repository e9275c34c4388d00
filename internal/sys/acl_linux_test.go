package sys

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// aclOfOne is an access ACL with an entry for one user.
func aclOfOne() []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range [][3]uint32{{1, 6, 1<<32 - 1}, {2, 4, 7}, {4, 0, 1<<32 - 1}, {0x10, 4, 1<<32 - 1}, {0x20, 0, 1<<32 - 1}} {
		b = binary.LittleEndian.AppendUint16(b, uint16(e[0]))
		b = binary.LittleEndian.AppendUint16(b, uint16(e[1]))
		b = binary.LittleEndian.AppendUint32(b, e[2])
	}
	return b
}

func TestACL(t *testing.T) {
	dir := t.TempDir()
	d, err := OpenDir(dir, ForPath)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	long := strings.Repeat("n", 250) // too long for the buffer for paths
	for _, name := range []string{"f", long} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o640); err != nil {
			t.Fatal(err)
		}
		if acl, _, err := d.ACL(name); acl != nil || err != nil {
			t.Errorf("none: %x, %v", acl, err)
		}
		if err := unix.Setxattr(path, aclName, aclOfOne(), 0); err != nil {
			t.Skip("no ACLs here: ", err)
		}
		if acl, known, err := d.ACL(name); !bytes.Equal(acl, aclOfOne()) || !known || err != nil {
			t.Errorf("%x, %v, %v", acl, known, err)
		}
	}
	if err := os.Symlink("f", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if acl, _, _ := d.ACL("link"); acl != nil {
		t.Error("a symlink is followed")
	}
	if _, _, err := d.ACL("no"); err != unix.ENOENT {
		t.Errorf("of nothing: %v", err)
	}

	f, err := d.CreateTemp("t", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, acl := range [][]byte{aclOfOne(), nil} {
		if err := f.SetACL(acl); err != nil {
			t.Fatal(err)
		}
		if has, err := f.HasACL(); has != (acl != nil) || err != nil {
			t.Errorf("has %v, %v", has, err)
		}
	}
}

func TestNamesSomebody(t *testing.T) {
	acl := func(names ...string) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(len(names)))
		for _, name := range names {
			b = append(b, make([]byte, 12)...)
			b = binary.BigEndian.AppendUint32(b, uint32(len(name)))
			b = append(b, name...)
			b = append(b, make([]byte, -len(name)&3)...)
		}
		return b
	}
	for _, c := range []struct {
		acl  []byte
		want bool
	}{
		{acl(), false},
		{acl("OWNER@", "GROUP@", "EVERYONE@"), false},
		{acl("OWNER@", "7", "EVERYONE@"), true},
		{acl("alice@example.org"), true},
		{nil, true},
		{acl("OWNER@")[:20], true},
		{binary.BigEndian.AppendUint32(nil, 1<<32-1), true},
		{append(acl("OWNER@")[:16], 0xff, 0xff, 0xff, 0xff), true},
	} {
		if got := namesSomebody(c.acl); got != c.want {
			t.Errorf("%q: %v", c.acl, got)
		}
	}
}

// An ACL that cannot be read is an error, not a missing ACL.
func TestPlainNFS4(t *testing.T) {
	somebody := append(make([]byte, 16), "\x00\x00\x00\x017\x00\x00\x00"...)
	somebody[3] = 1
	for _, c := range []struct {
		acl       []byte
		err, want error
	}{
		{make([]byte, 4), nil, nil},
		{somebody, nil, ErrNFS4ACL},
		{nil, unix.ENODATA, nil},
		{nil, unix.EOPNOTSUPP, nil},
		{nil, unix.EIO, unix.EIO},
		{nil, unix.EACCES, unix.EACCES},
	} {
		get := func(attr string) ([]byte, error) {
			if attr == aclName {
				return nil, unix.EOPNOTSUPP
			}
			return c.acl, c.err
		}
		if _, known, err := aclFrom(get, nil); !errors.Is(err, c.want) || err != nil && c.want == nil || known {
			t.Errorf("%q, %v: known %v, %v, want %v", c.acl, c.err, known, err, c.want)
		}
	}
}

// A file system without POSIX ACLs may have NFSv4 ACLs, so these are read too.
func TestHasACLWithout(t *testing.T) {
	name := t.TempDir()
	if err := unix.Mount("none", name, "ramfs", 0, ""); err != nil {
		t.Skip("mount: ", err)
	}
	t.Cleanup(func() { unix.Unmount(name, unix.MNT_DETACH) })
	d, err := OpenDir(name, ForPath)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	f, err := d.CreateTemp("t", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if has, err := f.HasACL(); has || err != nil {
		t.Errorf("%v, %v", has, err)
	}
	if acl, known, err := d.ACL("t"); acl != nil || known || err != nil {
		t.Errorf("%x, %v, %v", acl, known, err)
	}
}

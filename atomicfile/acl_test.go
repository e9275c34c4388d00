package atomicfile

import (
	"encoding/binary"
	"io/fs"
	"testing"
)

// aclOf makes an ACL of tags and permissions.
func aclOf(entries ...[2]uint16) acl {
	b := binary.LittleEndian.AppendUint32(nil, aclVersion)
	for i, e := range entries {
		b = binary.LittleEndian.AppendUint16(b, e[0])
		b = binary.LittleEndian.AppendUint16(b, e[1])
		b = binary.LittleEndian.AppendUint32(b, uint32(i))
	}
	return b
}

// secret is the ACL that getfacl shows as user::rw- user:x:r-- group::--- mask::r--
// other::---, and stat as 0640.
var secret = aclOf([2]uint16{aclUserObj, 6}, [2]uint16{aclUser, 4}, [2]uint16{aclGroupObj, 0}, [2]uint16{aclMask, 4}, [2]uint16{aclOther, 0})

func TestWithoutACL(t *testing.T) {
	for _, c := range []struct {
		what string
		p    permissions
		want fs.FileMode
	}{
		{"no ACL", permissions{mode: 0o2664 | fs.ModeSetuid}, 0o2664 | fs.ModeSetuid},
		{"the group's bits are the mask", permissions{0o640, secret}, 0o600},
		{"the mask bounds the group",
			permissions{0o640, aclOf([2]uint16{aclUserObj, 6}, [2]uint16{aclGroupObj, 7}, [2]uint16{aclMask, 4}, [2]uint16{aclOther, 0})}, 0o640},
		{"a barred user may be in the group",
			permissions{0o664, aclOf([2]uint16{aclUserObj, 6}, [2]uint16{aclUser, 0}, [2]uint16{aclGroupObj, 6}, [2]uint16{aclMask, 6}, [2]uint16{aclOther, 4})}, 0o600},
		{"a barred group's members may be among the others, and not only in the group",
			permissions{0o664, aclOf([2]uint16{aclUserObj, 6}, [2]uint16{aclGroupObj, 6}, [2]uint16{aclGroup, 0}, [2]uint16{aclMask, 6}, [2]uint16{aclOther, 4})}, 0o660},
		{"setgid stays", permissions{0o640 | fs.ModeSetgid, secret}, 0o600 | fs.ModeSetgid},
	} {
		if got := c.p.withoutACL(); got.mode != c.want || got.acl != nil {
			t.Errorf("%s: %v %x, want %v", c.what, got.mode, got.acl, c.want)
		}
	}
}

func TestForOwner(t *testing.T) {
	const setuid, setgid = fs.ModeSetuid, fs.ModeSetgid
	for _, c := range []struct {
		mode          fs.FileMode
		user, group   bool
		want, created fs.FileMode
	}{
		{0o640 | setuid | setgid, true, true, 0o640 | setuid | setgid, 0o600},
		{0o640 | setuid | setgid, false, true, 0o640 | setgid, 0o600},
		{0o640 | setuid | setgid, true, false, 0o600 | setuid, 0o600},
		{0o664, false, false, 0o644, 0o644},
		{0o604, true, false, 0o600, 0o600}, // members of the old group become others
		{0o755 | fs.ModeSticky, false, false, 0o755 | fs.ModeSticky, 0o755},
		{0o666, false, false, 0o666, 0o644}, // no one else writes to an unfinished file
	} {
		p := permissions{mode: c.mode}
		if got := p.forOwner(c.user, c.group); got.mode != c.want {
			t.Errorf("%v, same user %v, same group %v: %v, want %v", c.mode, c.user, c.group, got.mode, c.want)
		}
		if got := p.initialMode(); got != c.created {
			t.Errorf("%v is created with %v, want %v", c.mode, got, c.created)
		}
	}
	a := aclOf([2]uint16{aclUserObj, 6}, [2]uint16{aclUser, 6}, [2]uint16{aclGroupObj, 6}, [2]uint16{aclGroup, 4}, [2]uint16{aclMask, 6}, [2]uint16{aclOther, 4})
	got := permissions{0o664, a}.forOwner(true, false)
	want := aclOf([2]uint16{aclUserObj, 6}, [2]uint16{aclUser, 6}, [2]uint16{aclGroupObj, 4}, [2]uint16{aclGroup, 4}, [2]uint16{aclMask, 6}, [2]uint16{aclOther, 4})
	if got.mode != 0o664 || string(got.acl) != string(want) {
		t.Errorf("%v %x, want %x", got.mode, got.acl, want)
	}
}

func TestACLForm(t *testing.T) {
	if err := secret.check(); err != nil {
		t.Error(err)
	}
	for _, bad := range []acl{{}, {2, 0, 0}, append(acl{3}, secret[1:]...), secret[:len(secret)-1]} {
		if bad.check() == nil {
			t.Errorf("%x is taken for an ACL", []byte(bad))
		}
		permissions{0o640, bad}.summary() // and does not panic
	}
}

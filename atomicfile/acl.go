package atomicfile

import (
	"encoding/binary"
	"fmt"
	"io/fs"
)

// An acl is a POSIX access ACL (acl(5)) in the kernel's encoding
// (linux/posix_acl_xattr.h), little endian:
//
//	version 4 bytes, 2
//	entries 8 bytes each: tag 2, permissions 2, id 4
type acl []byte

const (
	aclHead, aclEntry = 4, 8
	aclVersion        = 2
)

// Tags of entries.
const (
	aclUserObj  = 0x01 // the owner
	aclUser     = 0x02
	aclGroupObj = 0x04 // the group
	aclGroup    = 0x08
	aclMask     = 0x10 // bounds all entries but the owner's and the others'
	aclOther    = 0x20
)

// check returns an error unless the encoding of a is known; nil is no ACL.
func (a acl) check() error {
	if a == nil {
		return nil
	}
	if len(a) < aclHead || (len(a)-aclHead)%aclEntry != 0 || binary.LittleEndian.Uint32(a) != aclVersion {
		return fmt.Errorf("an ACL of %d bytes in an unknown encoding; want version %d: %w", len(a), aclVersion, fs.ErrInvalid)
	}
	return nil
}

// entries calls f for each entry and sets its permissions to the result.
func (a acl) entries(f func(tag uint16, perm fs.FileMode) fs.FileMode) {
	for e := a[min(len(a), aclHead):]; len(e) >= aclEntry; e = e[aclEntry:] {
		perm := f(binary.LittleEndian.Uint16(e), fs.FileMode(binary.LittleEndian.Uint16(e[2:])))
		binary.LittleEndian.PutUint16(e[2:], uint16(perm))
	}
}

// permissions are a file's mode and its ACL, nil if the mode says it all. With an
// ACL the group bits of the mode are the ACL's mask.
type permissions struct {
	mode fs.FileMode
	acl  acl
}

// summary holds the effective permissions of owner, group and others, those that
// every named user has, those that every named group has, and the mask.
type summary struct{ owner, group, other, users, groups, mask fs.FileMode }

func (p permissions) summary() summary {
	s := summary{owner: p.mode >> 6 & 7, group: p.mode >> 3 & 7, other: p.mode & 7, users: 7, groups: 7, mask: 7}
	if p.acl == nil {
		return s
	}
	p.acl.entries(func(tag uint16, perm fs.FileMode) fs.FileMode {
		switch tag {
		case aclUserObj:
			s.owner = perm
		case aclGroupObj:
			s.group = perm
		case aclOther:
			s.other = perm
		case aclMask:
			s.mask = perm
		case aclUser:
			s.users &= perm
		case aclGroup:
			s.groups &= perm
		}
		return perm
	})
	s.group &= s.mask
	s.users &= s.mask
	s.groups &= s.mask
	return s
}

// initialMode returns the mode that a new file may be created with before its
// owner, group and inherited ACL entries are known: for all but the owner, the
// permissions that every user has, without write. It is often the final mode.
func (p permissions) initialMode() fs.FileMode {
	s := p.summary()
	all := s.group & s.other & s.users & s.groups &^ 2
	return s.owner<<6 | all<<3 | all
}

// withoutACL returns the most permissions without an ACL that grant nobody more
// than p. Named users become members of the group or others, and members of named
// groups become others, so group and others get the least that any of those had.
func (p permissions) withoutACL() permissions {
	if p.acl == nil {
		return p
	}
	s := p.summary()
	s.group &= s.users
	s.other &= s.users & s.groups
	return permissions{mode: p.mode&^0o777 | s.owner<<6 | s.group<<3 | s.other}
}

// forOwner returns the most permissions that grant nobody more than p if the owner
// or the group changes. Members of the new group were others, or in a named
// group; members of the old group become others. Owners do not matter: each can
// give itself any permission.
func (p permissions) forOwner(sameUser, sameGroup bool) permissions {
	if !sameUser {
		p.mode &^= fs.ModeSetuid
	}
	if sameGroup {
		return p
	}
	p.mode &^= fs.ModeSetgid
	s := p.summary()
	group, other := s.group&s.other&s.groups, s.other&s.group
	if p.acl == nil {
		p.mode = p.mode&^0o077 | group<<3 | other
		return p
	}
	p.mode = p.mode&^0o007 | other
	p.acl.entries(func(tag uint16, perm fs.FileMode) fs.FileMode {
		switch tag {
		case aclGroupObj:
			return group
		case aclOther:
			return other
		}
		return perm
	})
	return p
}

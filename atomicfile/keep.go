package atomicfile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/stele-go/stele/internal/oldfile"
	"github.com/stele-go/stele/internal/sys"
)

func init() {
	oldfile.Set = func(to any, old *os.File) {
		switch to := to.(type) {
		case *Options:
			to.old = old
		case *Batch:
			to.o.old = old
		}
	}
}

// Keep is a set of what the new file takes over from the old one: permissions,
// owner and ACL as they were when the new one was created, and extended
// attributes as they are at Commit, none if the name is gone by then. What
// else is changed of them meanwhile is lost. The zero value is a package's
// default: here nothing, in package header all.
//
// With KeepMode or KeepACL nobody may do to the new file, or to the temporary
// one meanwhile, what the old file denied; only its owner and its writer may
// do with it as they like. Where less than all is kept that leaves less:
//
//   - Without KeepOwner, where the new file has another group, the group's bits
//     and the others' become those that both had, and the ACL's likewise; the
//     set-group-ID bit goes. With another owner the set-user-ID bit goes.
//   - Without KeepACL an old file with an ACL leaves its group what the group's
//     entry and the mask allow, and the others what they had, less what a named
//     user or group lacks.
//   - A default ACL of the folder gives the new file no entries. Without
//     KeepMode and KeepACL it does, as it does every new file, and umask does
//     not count; the group bits of perm bound what the entries allow.
//
// KeepXattrs has the new file have the attributes of the old one, and no
// others, but for what is the file system's or a security module's own, or
// holds of the old content or inode only: system.*, security.ima, security.evm,
// security.capability, which a write in place removes too; XFS's
// trusted.SGI_*, the layers' trusted.overlay.* and user.overlay.*; and
// user.stele.*, which is what package header notes of a file. So a header that
// was recorded is plain content afterwards. trusted.* are seen by CAP_SYS_ADMIN
// only. A label of a security module that the old file has is set, and it is
// an error if the module refuses.
//
// Not kept are inode flags (chattr(1)), a project ID, the times and the time of
// birth. An NFSv4 ACL with entries for users or groups is an error, where the
// permissions or the ACL are to be kept.
type Keep uint8

const (
	KeepMode    Keep = 1 << iota // permissions, setuid, setgid and sticky bits
	KeepOwner                    // owner and group; Linux only
	KeepXattrs                   // extended attributes; Linux only
	KeepACL                      // the POSIX access ACL, and so KeepMode; Linux only
	KeepNothing                  // alone: nothing, also where that is not the default

	KeepAll = KeepMode | KeepOwner | KeepXattrs | KeepACL
)

// grants reports whether k bounds what the new file may grant.
func (k Keep) grants() bool { return k&(KeepMode|KeepACL) != 0 }

// remember notes what the new file is to take over from the one that is there,
// and returns the permissions to create it with.
func (f *File) remember(old sys.FileInfo, perm fs.FileMode) (_ fs.FileMode, err error) {
	f.keep, f.old = true, old
	if f.o.Keep&KeepXattrs != 0 {
		f.lent = 0o200 // which setting those takes (xattr(7))
	}
	if f.o.Keep.grants() {
		err = f.rememberACL()
		if errors.Is(err, fs.ErrNotExist) {
			f.keep = false // somebody has removed it meanwhile
			return perm, nil
		}
		perm = permissions{mode: f.old.Mode, acl: f.oldACL}.untilOwned()
	}
	f.lent &^= perm
	return perm | f.lent, err
}

// maxLooks is how often in a row the old file may change while its permissions
// and its ACL are read, in two calls.
const maxLooks = 100

// rememberACL notes the old file's ACL, and its permissions and owner anew if
// those are not known to be of the same file at the same time. A mode whose
// group bits are the mask of an ACL that is gone would grant the group what
// nobody gave it; so would an ACL with another file's group.
func (f *File) rememberACL() error {
	for range maxLooks {
		acl, known, err := f.readACL()
		if err != nil {
			return err
		}
		f.oldACL, f.noACLs = acl, !known
		if !known || acl == nil && f.old.Mode>>3&^f.old.Mode&7 == 0 {
			return nil
		}
		now, err := f.readInfo()
		if err != nil {
			return err
		}
		if now == f.old {
			return f.oldACL.check()
		}
		if f.old = now; !now.Mode.IsRegular() {
			return cmp.Or(unfit(now, f.o.Links), fs.ErrNotExist)
		}
	}
	return fmt.Errorf("changed %d times while it was looked at: %w", maxLooks, syscall.EBUSY)
}

func (f *File) readACL() (acl, bool, error) {
	if f.o.old != nil {
		b, known, err := sys.ACLOf(f.o.old)
		return b, known, err
	}
	b, known, err := f.at.dir.ACL(f.base)
	return b, known, err
}

func (f *File) readInfo() (sys.FileInfo, error) {
	if f.o.old != nil {
		return sys.InfoOf(f.o.old)
	}
	return f.at.dir.Info(f.base)
}

// copyXattrs gives the new file the attributes of the old one, if that is
// still there.
func (f *File) copyXattrs() error {
	if f.o.old != nil {
		return sys.CopyXattrsOf(f.o.old, f.t)
	}
	err := f.at.dir.CopyXattrs(f.base, f.t)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// adopt takes over what is to be kept, after the writes, which clear setuid
// and setgid bits. Whoever may read the old file may read the new one from
// the last step on.
func (f *File) adopt() error {
	if !f.keep {
		return nil
	}
	now, err := f.t.Info()
	if err != nil {
		return f.fatal("stat", err)
	}
	want := permissions{mode: now.Mode &^ f.lent}
	if f.o.Keep.grants() && (f.oldACL == nil || f.o.Keep&KeepACL == 0) && !f.noACLs {
		inherited, err := f.t.HasACL()
		if err == nil && inherited {
			err = f.t.SetACL(nil)
		}
		if err != nil {
			return f.fatal("remove ACL", err)
		}
	}
	if f.o.Keep&KeepXattrs != 0 {
		if err := f.copyXattrs(); err != nil {
			return f.fatal("copy attributes", err)
		}
	}
	if f.o.Keep&KeepOwner != 0 && (now.UID != f.old.UID || now.GID != f.old.GID) {
		if err := f.t.Chown(f.old.UID, f.old.GID); err != nil {
			return f.fatal("chown", err)
		}
		now.UID, now.GID = f.old.UID, f.old.GID
		now.Mode &^= fs.ModeSetuid | fs.ModeSetgid
	}
	if f.o.Keep.grants() {
		want = f.kept(now)
	}
	if want.acl != nil {
		if err := f.t.SetACL(want.acl); err != nil {
			return f.fatal("set ACL", err)
		}
		now.Mode = now.Mode&^0o777 | want.mode&0o777
	}
	if now.Mode != want.mode {
		if err := f.t.Chmod(want.mode); err != nil {
			return f.fatal("chmod", err)
		}
	}
	return nil
}

// kept are the permissions of the new file, which has the owner that now tells.
func (f *File) kept(now sys.FileInfo) permissions {
	p := permissions{mode: f.old.Mode, acl: f.oldACL}
	if p.acl != nil {
		// The ACL is what holds, should both not agree.
		s := p.summary()
		p.mode = p.mode&^0o777 | s.owner<<6 | s.mask<<3 | s.other
	}
	if f.o.Keep&KeepACL == 0 {
		p = p.withoutACL()
	}
	return p.forOwner(now.UID == f.old.UID, now.GID == f.old.GID)
}

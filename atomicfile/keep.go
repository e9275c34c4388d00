package atomicfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
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
// attributes as they are at Commit, none if the name is gone by then. The zero
// value is a package's default: here none of these, in package header all.
//
// Unless KeepNothing is set, nobody may do to the new file, or to the temporary
// one meanwhile, what the old file denied; only its owner and its writer may do
// with it as they like. Without KeepMode and KeepACL the group and the others may do
// what both perm and the old file grant, and the owner what perm does; setuid,
// setgid and sticky bits are those that both have. A symlink that is replaced
// denies nothing, nor does a file that gets the name after Create. Where less
// than all is kept that leaves less:
//
//   - Without KeepOwner, or with File.Chown, where the new file has another
//     group, the group's bits and the others' become those that both had, and
//     the ACL's likewise; the set-group-ID bit goes. With another owner the
//     set-user-ID bit goes. A set-group-ID bit that is to be kept and that the
//     kernel leaves out, as the writer is not in the group, is an error (EPERM).
//   - Without KeepACL an old file with an ACL leaves its group what the group's
//     entry and the mask allow, and the others what they had, less what a named
//     user or group lacks.
//   - A default ACL of the folder gives the new file no entries. They stay, but
//     masked so that they grant nothing, where Keep is 0 and perm and the old
//     file share no bit of the group's or the others'.
//
// What is denied between Create and Commit stays denied. Commit begins with a
// second look at the file that has the name by then, and the new one grants what
// both looks allow. Where owner or ACL are to be kept and have changed, Commit
// fails with syscall.EBUSY instead. What is granted meanwhile is lost, and so is
// what is changed after that look. WriteFile, WriteFileWith and Dir.WriteFile,
// which write and commit at once, look once, unless KeepXattrs is set.
//
// With KeepNothing the new file has perm as it would if there were no old one. A
// default ACL of the folder then gives it entries, as it does every new file, and
// umask does not count; the group bits of perm bound what the entries allow.
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
// birth. An NFSv4 ACL with entries for users or groups, of the old file or
// inherited by the new one, is an error; but not with KeepNothing, nor, without
// KeepACL, where the mode grants nothing to anybody but the owner.
type Keep uint8

const (
	KeepMode    Keep = 1 << iota // permissions, setuid, setgid and sticky bits
	KeepOwner                    // owner and group; Linux only
	KeepXattrs                   // extended attributes; Linux only
	KeepACL                      // the POSIX access ACL, and so KeepMode; Linux only
	KeepNothing                  // alone: nothing; not even what the old file denied

	KeepAll = KeepMode | KeepOwner | KeepXattrs | KeepACL
)

// grants reports whether the new file has the permissions of the old one, and
// not those that it is created with.
func (k Keep) grants() bool { return k&(KeepMode|KeepACL) != 0 }

// remember notes what the new file is to take over from the one that is there,
// and returns the permissions to create it with.
func (f *File) remember(old sys.FileInfo, perm fs.FileMode) (fs.FileMode, error) {
	f.keep, f.old, f.perm = true, old, perm
	err := f.rememberACL()
	if errors.Is(err, fs.ErrNotExist) {
		f.keep = false // somebody has removed it meanwhile
		return perm, nil
	}
	until := permissions{mode: f.old.Mode, acl: f.oldACL}.untilOwned()
	if f.o.Keep.grants() {
		f.created = until
	} else {
		f.created = perm & (0o700 | until&reach)
	}
	if f.o.Keep&KeepXattrs != 0 {
		f.lent = 0o200 &^ f.created // which setting those takes (xattr(7))
	}
	if err == nil && !f.o.Keep.grants() && !f.o.ExactMode && f.withheld()&reach != 0 {
		f.umask, err = sys.Umask() // of which the new file's mode does not tell enough
	}
	return f.created | f.lent, err
}

// maxLooks is how often in a row the old file may change while its permissions
// and its ACL are read, in two calls.
const maxLooks = 100

// reach are the bits of a mode that grant somebody but the owner something.
const reach = 0o077

const special = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// rememberACL notes the old file's ACL, and its permissions and owner anew if
// those are not known to be of the same file at the same time. A mode whose
// group bits are the mask of an ACL that is gone would grant the group what
// nobody gave it, whatever others may do; so would an ACL with another file's
// group. Only where the mode grants nothing does no ACL matter.
func (f *File) rememberACL() error {
	if !f.asksACL() {
		return nil
	}
	for range maxLooks {
		acl, known, err := f.readACL()
		if err != nil {
			return err
		}
		f.oldACL, f.noACLs = acl, !known
		if !known || acl == nil && f.old.Mode&f.asked()&reach == 0 {
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

// asksACL reports whether it matters if the old file has an ACL, whose mask are
// the group bits.
func (f *File) asksACL() bool {
	return f.o.Keep&KeepACL != 0 || f.old.Mode&f.asked()&reach != 0
}

// asked are the permissions that the new file has if the old one grants them.
func (f *File) asked() fs.FileMode {
	if f.o.Keep.grants() {
		return reach | special
	}
	return f.perm
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

// A look is what an old file was found to grant.
type look struct {
	info sys.FileInfo
	acl  acl
}

// errChanged: what the old file has become is not what the new one takes over.
var errChanged = fmt.Errorf("its permissions or its owner were changed meanwhile: %w", syscall.EBUSY)

// lookAgain bounds the new file by what the old one, or another that has its
// name, grants by now. What is to be kept whole is an error if it has changed.
// It reports false if there is no such file.
func (f *File) lookAgain() (there bool, err error) {
	was := look{f.old, f.oldACL}
	defer func() { f.old, f.oldACL = was.info, was.acl }()
	if f.o.old != nil {
		f.old, err = f.at.is(f.base, was.info) // off Linux the caller's file may be closed by now
	} else {
		f.old, err = f.readInfo()
	}
	f.oldACL = nil
	if err == nil && f.old.Mode.IsRegular() {
		var same bool
		if same, err = f.unchanged(was); same || err != nil {
			return same, err
		}
		err = f.rememberACL()
	} else if err == nil {
		err = fs.ErrNotExist
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	now := look{f.old, f.oldACL}
	sameOwner, sameACL := now.info.UID == was.info.UID && now.info.GID == was.info.GID, bytes.Equal(now.acl, was.acl)
	switch {
	case !sameOwner && f.o.Keep&KeepOwner != 0, !(sameACL && (sameOwner || was.acl == nil)) && f.o.Keep&KeepACL != 0:
		return true, errChanged
	case !sameOwner, !sameACL, now.info.Mode != was.info.Mode:
		f.later = append(f.later, now)
	}
	return true, nil
}

// unchanged reports whether the old file, which has just been looked at, still
// is as it was. Then the ACL need not be looked at between two looks at the mode.
func (f *File) unchanged(was look) (bool, error) {
	if f.old != was.info {
		return false, nil
	}
	if !f.asksACL() {
		return true, nil
	}
	acl, _, err := f.readACL()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // as the next look finds
	}
	return err == nil && bytes.Equal(acl, was.acl), err
}

// mayNarrow reports whether the old file can have come to grant less than it
// did, so that the new one has to.
func (f *File) mayNarrow() bool {
	return f.o.Keep&KeepOwner != 0 || f.old.Mode&f.asked()&(reach|special) != 0 || f.oldACL != nil
}

// stillHeld refuses a name that no longer is the caller's file, which has to be
// as it was when it was looked at last: what the new file grants is settled.
func (f *File) stillHeld() error {
	was := f.old
	if n := len(f.later); n > 0 {
		was = f.later[n-1].info
	}
	now, err := f.at.is(f.base, was)
	if err == nil && (now.UID != was.UID || now.GID != was.GID || was.Mode&^now.Mode&(reach|special) != 0) {
		err = errChanged
	}
	return err
}

// copyXattrs gives the new file the attributes of the old one, if that is
// still there. They may be of what was denied since Create, so it is looked at
// once more.
func (f *File) copyXattrs() error {
	if f.o.old != nil {
		if err := sys.CopyXattrsOf(f.o.old, f.t); err != nil {
			return err
		}
	} else if err := f.at.dir.CopyXattrs(f.base, f.t); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	there, err := f.lookAgain()
	if err == nil && !there {
		return errChanged
	}
	return err
}

// adopt takes over what is to be kept, after the writes, which clear setuid
// and setgid bits. Whoever may read the old file may read the new one from
// the last step on.
func (f *File) adopt() error {
	if f.o.Keep&KeepXattrs == 0 && !f.brief && f.mayNarrow() {
		if _, err := f.lookAgain(); err != nil {
			return f.fatal("commit", err)
		}
	}
	done := f.hasAll()
	if done && f.asked()&f.old.Mode&reach == 0 {
		return nil // what the folder's default ACL has given it is masked
	}
	inherited, err := f.disinherit()
	if err != nil {
		return f.fatal("remove ACL", err)
	}
	if done && !inherited {
		return nil
	}
	now, err := f.t.Info()
	if err != nil {
		return f.fatal("stat", err)
	}
	if f.o.Keep&KeepXattrs != 0 {
		if err := f.copyXattrs(); err != nil {
			return f.fatal("copy attributes", err)
		}
	}
	if err := f.own(&now); err != nil {
		return f.fatal("chown", err)
	}
	want := f.wanted(now)
	if want.acl != nil {
		if err := f.t.SetACL(want.acl); err != nil {
			return f.fatal("set ACL", err)
		}
		now.Mode = now.Mode&^0o777 | want.mode&0o777
	}
	if now.Mode != want.mode {
		return f.setMode(want.mode)
	}
	return nil
}

// withheld is what the new file was not created with, and may yet get.
func (f *File) withheld() fs.FileMode {
	return f.perm & f.old.Mode & (reach | special) &^ f.created
}

// hasAll reports whether the new file was created with what it is to have,
// whatever its group, unless it has inherited an ACL.
func (f *File) hasAll() bool {
	return f.withheld() == 0 && f.o.Keep == 0 && !f.o.ExactMode && !f.chown && !f.chmod && len(f.later) == 0
}

// disinherit takes from the new file the ACL that the folder's default ACL has
// given it, if it is to have none.
func (f *File) disinherit() (inherited bool, err error) {
	if f.noACLs || f.oldACL != nil && f.o.Keep&KeepACL != 0 {
		return false, nil
	}
	if inherited, err = f.t.HasACL(); inherited {
		err = f.t.SetACL(nil)
	}
	return inherited, err
}

// wanted are the permissions of the new file, of which now tells.
func (f *File) wanted(now sys.FileInfo) permissions {
	p := f.kept(now)
	if f.o.Keep.grants() {
		return p
	}
	want := f.perm
	if !f.o.ExactMode {
		want &^= f.umask | f.created&^now.Mode
	}
	return permissions{mode: want & (0o700 | p.mode&(reach|special))}
}

// own gives the new file, of which now tells, its owner and group: those of
// Chown before those of the old file.
func (f *File) own(now *sys.FileInfo) error {
	uid, gid := -1, -1
	if f.o.Keep&KeepOwner != 0 && (now.UID != f.old.UID || now.GID != f.old.GID) {
		uid, gid = f.old.UID, f.old.GID
	}
	if f.chown && f.uid != -1 {
		uid = f.uid
	}
	if f.chown && f.gid != -1 {
		gid = f.gid
	}
	if uid == -1 && gid == -1 && !f.chown {
		return nil
	}
	if err := f.t.Chown(uid, gid); err != nil {
		return err
	}
	if uid != -1 {
		now.UID = uid
	}
	if gid != -1 {
		now.GID = gid
	}
	now.Mode &^= fs.ModeSetuid | fs.ModeSetgid
	return nil
}

// errSetgid: chmod(2) leaves out the bit then, and says nothing.
var errSetgid = fmt.Errorf("only a member of the file's group may set its set-group-ID bit: %w", syscall.EPERM)

// setMode gives the new file these permissions, setuid, setgid and sticky bits.
func (f *File) setMode(mode fs.FileMode) error {
	err := f.t.Chmod(mode)
	if err == nil && mode&fs.ModeSetgid != 0 && runtime.GOOS == "linux" {
		var now sys.FileInfo
		if now, err = f.t.Info(); err == nil && now.Mode&fs.ModeSetgid == 0 {
			err = errSetgid
		}
	}
	if err != nil {
		return f.fatal("chmod", err)
	}
	return nil
}

// kept are the permissions of the new file, which has the owner that now tells:
// what the old file granted whenever it was looked at.
func (f *File) kept(now sys.FileInfo) permissions {
	p := look{f.old, f.oldACL}.kept(now, f.o.Keep)
	for _, later := range f.later {
		// The ACLs are the same, or none is kept.
		p.mode &= later.kept(now, f.o.Keep).mode
	}
	return p
}

func (l look) kept(now sys.FileInfo, keep Keep) permissions {
	p := permissions{mode: l.info.Mode, acl: l.acl}
	if p.acl != nil {
		// The ACL is what holds, should both not agree.
		s := p.summary()
		p.mode = p.mode&^0o777 | s.owner<<6 | s.mask<<3 | s.other
		p.acl = bytes.Clone(p.acl)
	}
	if keep&KeepACL == 0 {
		p = p.withoutACL()
	}
	return p.forOwner(now.UID == l.info.UID, now.GID == l.info.GID)
}

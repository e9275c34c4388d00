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
			to.keepFrom = old
		case *Batch:
			to.o.keepFrom = old
		}
	}
}

// Keep is a set of properties that the new file takes over from the old one:
// permissions, owner and ACL as they were at Create, and extended attributes as
// they are at Commit, none if the name no longer exists. The zero value is the
// default of the package: none of these here, all in package header.
//
// Unless KeepNothing is set, the new file and the temporary file never grant
// anything to anybody that the old file denied; only the file's owner and its
// writer are exempt. Without KeepMode and KeepACL, group and others have the
// permissions that both perm and the old file grant, and the owner those of perm;
// setuid, setgid and sticky bits are those that both have. A symlink that is
// replaced denies nothing, nor does a file that gets the name after Create.
// Keeping less than everything removes more permissions:
//
//   - Without KeepOwner, or with File.Chown, if the new file has another group,
//     the bits of group and others become those that both had, those of the ACL
//     likewise, and the set-group-ID bit is dropped. With another owner the
//     set-user-ID bit is dropped. If the kernel ignores a set-group-ID bit that
//     is to be kept, because the writer is not in the group, that is an error
//     (EPERM).
//   - Without KeepACL, an old file with an ACL leaves its group what the group's
//     entry and the mask allow, and the others what they had without what any
//     named user or group lacks.
//   - A default ACL of the directory gives the new file no entries, except that the
//     entries stay, masked so that they grant nothing, if Keep is 0 and perm and
//     the old file share no bit of group and others.
//
// Permissions denied between Create and Commit stay denied: Commit first reads the
// permissions of the file that then has the name, and the new file grants only
// those that both readings allow. If owner or ACL are to be kept and have changed,
// Commit fails with syscall.EBUSY instead. Permissions granted between Create and
// Commit are lost, and so is every change after the second reading. WriteFile,
// WriteFileWith and Dir.WriteFile, which write and commit in one call, read once,
// unless KeepXattrs is set.
//
// With KeepNothing the new file has perm as if there were no old file. A default
// ACL of the directory then gives it entries, as it does every new file, and the
// umask is not applied; the group bits of perm bound what the entries allow.
//
// KeepXattrs gives the new file exactly the attributes of the old one, except
// those that belong to the file system or a security module, or that describe the
// old content or inode only: system.*, security.ima, security.evm,
// security.capability, which a write in place removes too; XFS's trusted.SGI_*;
// trusted.overlay.* and user.overlay.* of overlay layers; and user.stele.*, the
// records of package header. A recorded header is plain content afterwards.
// trusted.* are seen by CAP_SYS_ADMIN
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

	KeepAll = KeepMode | KeepOwner | KeepXattrs | KeepACL // everything that can be kept
)

// grants reports whether the new file has the permissions of the old one rather
// than perm.
func (k Keep) grants() bool { return k&(KeepMode|KeepACL) != 0 }

// inspectOld records what the new file takes over from the old one, and returns the
// permissions to create the temporary file with.
func (f *File) inspectOld(old sys.FileInfo, perm fs.FileMode) (fs.FileMode, error) {
	f.hasOld, f.oldInfo, f.perm = true, old, perm
	err := f.readOldACL()
	if errors.Is(err, fs.ErrNotExist) {
		f.hasOld = false // removed since
		return perm, nil
	}
	initial := permissions{mode: f.oldInfo.Mode, acl: f.oldACL}.initialMode()
	if f.o.Keep.grants() {
		f.initialPerm = initial
	} else {
		f.initialPerm = perm & (0o700 | initial&groupOtherBits)
	}
	if f.o.Keep&KeepXattrs != 0 {
		f.extraMode = 0o200 &^ f.initialPerm // setting attributes needs it (xattr(7))
	}
	if err == nil && !f.o.Keep.grants() && !f.o.ExactMode && f.missingBits()&groupOtherBits != 0 {
		f.umask, err = sys.Umask() // the new file's mode does not show all of it
	}
	return f.initialPerm | f.extraMode, err
}

// maxReads is how often in a row the old file may change between the two calls that
// read its permissions and its ACL.
const maxReads = 100

// groupOtherBits are the permission bits of group and others.
const groupOtherBits = 0o077

const specialBits = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// readOldACL records the old file's ACL, and its permissions and owner again unless
// both are known to be of the same file at the same time. The group bits of a mode
// are the mask if there is an ACL: without the ACL they would grant the group more
// than it ever had; so would an ACL read from another file. Only if the mode grants
// nothing does the ACL not matter.
func (f *File) readOldACL() error {
	if !f.needsACL() {
		return nil
	}
	for range maxReads {
		acl, known, err := f.readACL()
		if err != nil {
			return err
		}
		f.oldACL, f.noACLs = acl, !known
		if !known || acl == nil && f.oldInfo.Mode&f.requested()&groupOtherBits == 0 {
			return nil
		}
		now, err := f.readOldInfo()
		if err != nil {
			return err
		}
		if now == f.oldInfo {
			return f.oldACL.check()
		}
		if f.oldInfo = now; !now.Mode.IsRegular() {
			return cmp.Or(checkReplaceable(now, f.o.Links), fs.ErrNotExist)
		}
	}
	return fmt.Errorf("changed %d times while its permissions were read: %w", maxReads, syscall.EBUSY)
}

// needsACL reports whether the old file's ACL affects the new file.
func (f *File) needsACL() bool {
	return f.o.Keep&KeepACL != 0 || f.oldInfo.Mode&f.requested()&groupOtherBits != 0
}

// requested returns the permissions that the new file has if the old one grants
// them.
func (f *File) requested() fs.FileMode {
	if f.o.Keep.grants() {
		return groupOtherBits | specialBits
	}
	return f.perm
}

func (f *File) readACL() (acl, bool, error) {
	if f.o.keepFrom != nil {
		b, known, err := sys.ACLOf(f.o.keepFrom)
		return b, known, err
	}
	b, known, err := f.at.dir.ACL(f.base)
	return b, known, err
}

func (f *File) readOldInfo() (sys.FileInfo, error) {
	if f.o.keepFrom != nil {
		return sys.InfoOf(f.o.keepFrom)
	}
	return f.at.dir.Info(f.base)
}

// An oldState is one reading of the old file's permissions.
type oldState struct {
	info sys.FileInfo
	acl  acl
}

// errChanged is the error if the old file's owner or ACL, which are to be kept, have
// changed since Create.
var errChanged = fmt.Errorf("the permissions or the owner of the file changed since Create; write it again: %w", syscall.EBUSY)

// recheckOld reads the permissions of the file that has the name now, and limits the
// new file to what both readings grant. If owner or ACL are to be kept and have
// changed, it returns errChanged. It reports false if no regular file has the
// name.
func (f *File) recheckOld() (there bool, err error) {
	was := oldState{f.oldInfo, f.oldACL}
	defer func() { f.oldInfo, f.oldACL = was.info, was.acl }()
	if f.o.keepFrom != nil {
		f.oldInfo, err = f.at.infoIfSame(f.base, was.info) // off Linux the caller's file may be closed by now
	} else {
		f.oldInfo, err = f.readOldInfo()
	}
	f.oldACL = nil
	if err == nil && f.oldInfo.Mode.IsRegular() {
		var same bool
		if same, err = f.unchanged(was); same || err != nil {
			return same, err
		}
		err = f.readOldACL()
	} else if err == nil {
		err = fs.ErrNotExist
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	now := oldState{f.oldInfo, f.oldACL}
	sameOwner, sameACL := now.info.UID == was.info.UID && now.info.GID == was.info.GID, bytes.Equal(now.acl, was.acl)
	switch {
	case !sameOwner && f.o.Keep&KeepOwner != 0, !(sameACL && (sameOwner || was.acl == nil)) && f.o.Keep&KeepACL != 0:
		return true, errChanged
	case !sameOwner, !sameACL, now.info.Mode != was.info.Mode:
		f.changes = append(f.changes, now)
	}
	return true, nil
}

// unchanged reports whether the old file, whose info has just been read, is as it
// was. If so, the ACL need not be read between two readings of the mode.
func (f *File) unchanged(was oldState) (bool, error) {
	if f.oldInfo != was.info {
		return false, nil
	}
	if !f.needsACL() {
		return true, nil
	}
	acl, _, err := f.readACL()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // as readOldACL finds
	}
	return err == nil && bytes.Equal(acl, was.acl), err
}

// canLosePermissions reports whether a change of the old file since Create could
// take permissions from the new one.
func (f *File) canLosePermissions() bool {
	return f.o.Keep&KeepOwner != 0 || f.oldInfo.Mode&f.requested()&(groupOtherBits|specialBits) != 0 || f.oldACL != nil
}

// verifyOld returns an error unless the name still leads to the caller's file and
// that grants no less than at the last reading: the new file's permissions are
// already set.
func (f *File) verifyOld() error {
	was := f.oldInfo
	if n := len(f.changes); n > 0 {
		was = f.changes[n-1].info
	}
	now, err := f.at.infoIfSame(f.base, was)
	if err == nil && (now.UID != was.UID || now.GID != was.GID || was.Mode&^now.Mode&(groupOtherBits|specialBits) != 0) {
		err = errChanged
	}
	return err
}

// copyXattrs copies the attributes of the old file, if it still exists. The old file
// may have been restricted since Create, so its permissions are read once more
// afterwards.
func (f *File) copyXattrs() error {
	if f.o.keepFrom != nil {
		if err := sys.CopyXattrsOf(f.o.keepFrom, f.t); err != nil {
			return err
		}
	} else if err := f.at.dir.CopyXattrs(f.base, f.t); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	there, err := f.recheckOld()
	if err == nil && !there {
		return errChanged
	}
	return err
}

// applyKeep applies Options.Keep after the writes, which clear setuid and setgid
// bits. Its last step grants the final permissions.
func (f *File) applyKeep() error {
	if f.o.Keep&KeepXattrs == 0 && !f.oneShot && f.canLosePermissions() {
		if _, err := f.recheckOld(); err != nil {
			return f.fatal("commit", err)
		}
	}
	done := f.isComplete()
	if done && f.requested()&f.oldInfo.Mode&groupOtherBits == 0 {
		return nil // entries of the directory's default ACL are masked
	}
	inherited, err := f.dropInheritedACL()
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
	if err := f.applyOwner(&now); err != nil {
		return f.fatal("chown", err)
	}
	want := f.finalPermissions(now)
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

// missingBits returns the permissions that the temporary file was created without
// and that the new file may have.
func (f *File) missingBits() fs.FileMode {
	return f.perm & f.oldInfo.Mode & (groupOtherBits | specialBits) &^ f.initialPerm
}

// isComplete reports whether the temporary file was created with its final
// permissions, whatever its group, unless it inherited an ACL.
func (f *File) isComplete() bool {
	return f.missingBits() == 0 && f.o.Keep == 0 && !f.o.ExactMode && !f.chown && !f.chmod && len(f.changes) == 0
}

// dropInheritedACL removes the ACL inherited from the directory's default ACL, if the
// new file is to have none.
func (f *File) dropInheritedACL() (inherited bool, err error) {
	if f.noACLs || f.oldACL != nil && f.o.Keep&KeepACL != 0 {
		return false, nil
	}
	if inherited, err = f.t.HasACL(); inherited {
		err = f.t.SetACL(nil)
	}
	return inherited, err
}

// finalPermissions returns the permissions of the new file, whose info is now.
func (f *File) finalPermissions(now sys.FileInfo) permissions {
	p := f.keptPermissions(now)
	if f.o.Keep.grants() {
		return p
	}
	want := f.perm
	if !f.o.ExactMode {
		want &^= f.umask | f.initialPerm&^now.Mode
	}
	return permissions{mode: want & (0o700 | p.mode&(groupOtherBits|specialBits))}
}

// applyOwner sets the owner and group of the new file, whose info is now: those of
// Chown, else those of the old file.
func (f *File) applyOwner(now *sys.FileInfo) error {
	uid, gid := -1, -1
	if f.o.Keep&KeepOwner != 0 && (now.UID != f.oldInfo.UID || now.GID != f.oldInfo.GID) {
		uid, gid = f.oldInfo.UID, f.oldInfo.GID
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

// errSetgid is the error where chmod(2) ignores the bit without an error.
var errSetgid = fmt.Errorf("only a member of the file's group may set its set-group-ID bit: %w", syscall.EPERM)

// setMode sets the permissions, setuid, setgid and sticky bits of the new file.
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

// keptPermissions returns the permissions that every reading of the old file grants,
// for the owner and group in now.
func (f *File) keptPermissions(now sys.FileInfo) permissions {
	p := oldState{f.oldInfo, f.oldACL}.keptPermissions(now, f.o.Keep)
	for _, later := range f.changes {
		// The ACLs are equal, or not kept.
		p.mode &= later.keptPermissions(now, f.o.Keep).mode
	}
	return p
}

func (l oldState) keptPermissions(now sys.FileInfo, keep Keep) permissions {
	p := permissions{mode: l.info.Mode, acl: l.acl}
	if p.acl != nil {
		// If mode and ACL disagree, the ACL counts.
		s := p.summary()
		p.mode = p.mode&^0o777 | s.owner<<6 | s.mask<<3 | s.other
		p.acl = bytes.Clone(p.acl)
	}
	if keep&KeepACL == 0 {
		p = p.withoutACL()
	}
	return p.forOwner(now.UID == l.info.UID, now.GID == l.info.GID)
}

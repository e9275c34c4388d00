package atomicfile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/oldfile"
)

func modeOf(t *testing.T, path string) uint32 {
	t.Helper()
	var st unix.Stat_t
	must(t, unix.Stat(path, &st))
	return st.Mode & 0o7777
}

// Commit does not grant again what was denied between Create and Commit, however the
// new file was created.
func TestDeniedMeanwhile(t *testing.T) {
	const mode, own, attrs, acls = atomicfile.KeepMode, atomicfile.KeepOwner, atomicfile.KeepXattrs, atomicfile.KeepACL
	chmod := func(mode uint32) func(t *testing.T, path string) {
		return func(t *testing.T, path string) { must(t, syscall.Chmod(path, mode)) }
	}
	for _, c := range []struct {
		name   string
		keep   atomicfile.Keep
		mode   uint32
		acl    bool
		change func(t *testing.T, path string)
		want   uint32
		err    error
	}{
		{"nothing", mode, 0o644, false, func(*testing.T, string) {}, 0o644, nil},
		{"chmod", mode, 0o644, false, chmod(0o600), 0o600, nil},
		{"chmod, all kept", atomicfile.KeepAll, 0o644, false, chmod(0o600), 0o600, nil},
		{"chmod of one of two", mode, 0o664, false, chmod(0o646), 0o644, nil},
		{"granted meanwhile", mode, 0o600, false, chmod(0o644), 0o600, nil},
		{"setuid", mode | own, 0o4755, false, chmod(0o755), 0o755, nil},
		{"attribute of a secret", mode | attrs, 0o644, false, func(t *testing.T, path string) {
			chmod(0o600)(t, path)
			setAttr(t, path, "user.secret", []byte("s"))
		}, 0o600, nil},
		{"ACL, kept", acls, 0o640, true, func(t *testing.T, path string) { must(t, unix.Removexattr(path, aclName)) }, 0o640, syscall.EBUSY},
		{"ACL, not kept", mode, 0o640, true, chmod(0o600), 0o600, nil},
		{"ACL is new", acls, 0o660, false, func(t *testing.T, path string) { setAttr(t, path, aclName, acl()) }, 0o660, syscall.EBUSY},
		{"ACL is new, not kept", mode, 0o664, false, func(t *testing.T, path string) { setAttr(t, path, aclName, acl()) }, 0o640, nil},
		{"owner, kept", mode | own, 0o644, false, func(t *testing.T, path string) { must(t, os.Chown(path, 1, 1)) }, 0o644, syscall.EBUSY},
		{"group, not kept", mode, 0o640, false, func(t *testing.T, path string) { must(t, os.Chown(path, -1, 1)) }, 0o600, nil},
		{"removed", mode, 0o640, false, func(t *testing.T, path string) { must(t, os.Remove(path)) }, 0o640, nil},
		{"removed, by all that is kept", atomicfile.KeepAll, 0o640, false, func(t *testing.T, path string) { must(t, os.Remove(path)) }, 0o640, nil},
		{"another file", mode, 0o644, false, func(t *testing.T, path string) {
			must(t, os.Remove(path))
			must(t, os.WriteFile(path, nil, 0o600))
		}, 0o600, nil},
	} {
		for _, way := range []string{"Create", "Batch", "held"} {
			t.Run(c.name+" "+way, func(t *testing.T) {
				if os.Geteuid() != 0 && (c.keep&own != 0 || c.acl) {
					t.Skip("needs root")
				}
				dir := t.TempDir()
				path := put(t, dir, "f", "old")
				if c.acl {
					setAttr(t, path, aclName, acl())
				}
				must(t, syscall.Chmod(path, c.mode))
				o := atomicfile.Options{Level: durability.Kill, Keep: c.keep}
				if way == "held" {
					old, err := os.Open(path)
					must(t, err)
					defer old.Close()
					oldfile.Set(&o, old)
				}
				var err error
				if way == "Batch" {
					b := atomicfile.NewBatch(o)
					must(t, b.Add(path, []byte("new"), 0o600))
					c.change(t, path)
					err = b.Commit()
				} else {
					f, e := atomicfile.Create(path, 0o600, o)
					must(t, e)
					_, e = f.Write([]byte("new"))
					must(t, e)
					c.change(t, path)
					err = f.Commit()
				}
				want := c.err
				if _, e := os.Lstat(path); way == "held" && (e != nil || len(c.name) > 6 && (c.name[:7] == "removed" || c.name == "another file")) {
					want = syscall.EBUSY // its name belongs to another file now
				}
				if !errors.Is(err, want) || err != nil && want == nil {
					t.Fatalf("got %v, want %v", err, want)
				}
				if want != nil {
					return
				}
				holds(t, path, "new")
				if got := modeOf(t, path); got != c.want {
					t.Errorf("mode %o, want %o", got, c.want)
				}
				if c.acl && c.keep&acls == 0 && attr(path, aclName) != nil {
					t.Error("an ACL is kept")
				}
			})
		}
	}
}

// Permissions are limited to those that the new owner and group may have, also if
// Chown sets these.
func TestKeepModeAndChown(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("giving a file away needs root")
	}
	for _, c := range []struct {
		keep     atomicfile.Keep
		uid, gid int
		want     uint32
	}{
		{atomicfile.KeepMode, -1, 4242, 0o4600},
		{atomicfile.KeepMode, 4242, -1, 0o640},
		{atomicfile.KeepMode | atomicfile.KeepOwner, -1, 4242, 0o4600},
		{atomicfile.KeepMode | atomicfile.KeepOwner, 4242, -1, 0o640},
		{atomicfile.KeepACL, 0, 0, 0o4640},
		{atomicfile.KeepMode | atomicfile.KeepOwner, -1, -1, 0o4640},
	} {
		path := put(t, t.TempDir(), "f", "old")
		must(t, syscall.Chmod(path, 0o4640))
		f, err := atomicfile.Create(path, 0o600, atomicfile.Options{Level: durability.Kill, Keep: c.keep})
		must(t, err)
		_, err = f.Write([]byte("new"))
		must(t, err)
		must(t, f.Chown(c.uid, c.gid))
		must(t, f.Commit())
		var st unix.Stat_t
		must(t, unix.Stat(path, &st))
		if st.Mode&0o7777 != c.want || st.Uid != uint32(max(0, c.uid)) || st.Gid != uint32(max(0, c.gid)) {
			t.Errorf("keep %b, Chown(%d, %d): mode %o, owner %d:%d, want mode %o", c.keep, c.uid, c.gid, st.Mode&0o7777, st.Uid, st.Gid, c.want)
		}
	}
}

// In a directory that gives its files a group which the writer is not in, the kernel
// drops the set-group-ID bit without an error.
func TestKeepSetgidOfStrangers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("becoming another user needs root")
	}
	const nobody, team = 65534, 4242
	dir := t.TempDir()
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	path := put(t, dir, "f", "old")
	must(t, os.Chown(dir, nobody, team))
	must(t, syscall.Chmod(dir, 0o2777))
	must(t, os.Chown(path, nobody, team))
	must(t, syscall.Chmod(path, 0o2755))
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		done <- func() error {
			if err := unix.Setfsgid(nobody); err != nil {
				return err
			}
			if err := unix.Setfsuid(nobody); err != nil {
				return err
			}
			head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			var caps [2]unix.CapUserData
			if err := unix.Capset(&head, &caps[0]); err != nil {
				return err
			}
			err := atomicfile.WriteFileWith(path, []byte("new"), 0o755, atomicfile.Options{Level: durability.Kill, Keep: atomicfile.KeepMode})
			if !errors.Is(err, syscall.EPERM) {
				return fmt.Errorf("got %v, want EPERM", err)
			}
			return nil
		}()
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
	holds(t, path, "old")
	only(t, dir, "f")
}

// By default the new file grants what both perm and the old file grant. With
// KeepNothing it grants what perm does.
func TestDefaultGrants(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("giving a file away needs root")
	}
	const none = ^uint32(0)
	noKeep, exact := atomicfile.Options{}, atomicfile.Options{ExactMode: true}
	bare, bareExact := atomicfile.Options{Keep: atomicfile.KeepNothing}, atomicfile.Options{Keep: atomicfile.KeepNothing, ExactMode: true}
	for i, c := range []struct {
		o       atomicfile.Options
		umask   int
		perm    os.FileMode
		old     uint32 // none: there is no old file
		gid     int
		acl     bool // that of acl()
		inherit bool // the directory's default ACL is acl()
		want    uint32
	}{
		{o: noKeep, umask: 0o022, perm: 0o644, old: 0o600, want: 0o600},
		{o: noKeep, umask: 0o022, perm: 0o644, old: 0o644, want: 0o644},
		{o: noKeep, umask: 0o022, perm: 0o644, old: 0o444, want: 0o644}, // the owner gets perm
		{o: noKeep, umask: 0o022, perm: 0o600, old: 0o644, want: 0o600},
		{o: noKeep, umask: 0o022, perm: 0o640, old: 0o640, want: 0o640},
		{o: noKeep, umask: 0o077, perm: 0o640, old: 0o640, want: 0o600},
		{o: noKeep, umask: 0o077, perm: 0o644, old: 0o644, want: 0o600},
		{o: noKeep, umask: 0o022, perm: 0o666, old: 0o664, want: 0o644},
		{o: noKeep, umask: 0o002, perm: 0o666, old: 0o664, want: 0o664},
		{o: noKeep, umask: 0o022, perm: 0o755, old: 0o750, want: 0o750},
		{o: noKeep, umask: 0o022, perm: 0o644, old: 0o640, gid: 1, want: 0o600}, // another group
		{o: noKeep, umask: 0o022, perm: 0o644, old: 0o604, gid: 1, want: 0o600},
		{o: noKeep, umask: 0o022, perm: 0o644, old: 0o644, gid: 1, want: 0o644},
		{o: noKeep, umask: 0o022, perm: 0o664, old: 0o664, gid: 1, want: 0o644},
		{o: noKeep, umask: 0o022, perm: 0o755 | os.ModeSetuid, old: 0o755, want: 0o755},
		{o: noKeep, umask: 0o022, perm: 0o755 | os.ModeSetuid, old: 0o4755, want: 0o4755},
		{o: noKeep, umask: 0o022, perm: 0o755, old: 0o4755, want: 0o755},
		{o: noKeep, umask: 0o022, perm: 0o755 | os.ModeSetgid, old: 0o2755, gid: 1, want: 0o755},
		{o: noKeep, perm: 0o666, old: 0o660, acl: true, want: 0o640}, // acl's group has r, and its mask says rwx
		{o: noKeep, umask: 0o022, perm: 0o644, old: none, want: 0o644},
		{o: noKeep, umask: 0o077, perm: 0o644, old: 0o644, inherit: true, want: 0o640}, // acl gives others nothing, and the umask does not count
		{o: noKeep, umask: 0o022, perm: 0o644, old: 0o600, inherit: true, want: 0o600},
		{o: exact, umask: 0o077, perm: 0o644, old: 0o640, want: 0o640},
		{o: exact, umask: 0o077, perm: 0o644, old: 0o600, want: 0o600},
		{o: exact, umask: 0o077, perm: 0o644, old: none, want: 0o644},
		{o: bare, umask: 0o022, perm: 0o666, old: 0o600, want: 0o644},
		{o: bare, umask: 0o022, perm: 0o755 | os.ModeSetuid, old: none, want: 0o4755},
		{o: bareExact, umask: 0o077, perm: 0o644, old: 0o600, want: 0o644},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		if c.old != none {
			put(t, dir, "f", "old")
			must(t, os.Chown(path, 0, c.gid))
			if c.acl {
				setAttr(t, path, aclName, acl())
			}
			must(t, syscall.Chmod(path, c.old))
		}
		if c.inherit {
			setAttr(t, dir, "system.posix_acl_default", acl())
		}
		c.o.Level = durability.Kill
		ways := map[string]func() error{
			"WriteFileWith": func() error { return atomicfile.WriteFileWith(path, []byte("new"), c.perm, c.o) },
			"Dir.WriteFile": func() error {
				d, err := atomicfile.OpenDir(dir, c.o)
				must(t, err)
				defer d.Close()
				return d.WriteFile("f", []byte("new"), c.perm)
			},
			"Batch": func() error {
				b := atomicfile.NewBatch(c.o)
				return errors.Join(b.Add(path, []byte("new"), c.perm), b.Commit())
			},
		}
		for name, write := range ways {
			keep := filepath.Join(dir, "kept")
			if c.old != none {
				must(t, os.Link(path, keep))
			}
			umask := syscall.Umask(c.umask)
			err := write()
			syscall.Umask(umask)
			must(t, err)
			if got := modeOf(t, path); got != c.want {
				t.Errorf("%d, %s: %+v: mode %o", i, name, c, got)
			}
			if c.old != none && c.old&0o077 != 0 && attr(path, aclName) != nil {
				t.Errorf("%d, %s: %+v: has an ACL", i, name, c)
			}
			must(t, os.Remove(path))
			if c.old != none {
				must(t, os.Rename(keep, path))
			}
		}
	}
}

// On a file system without ACLs the mode is kept.
func TestKeepWithoutACLs(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "ramfs", 0, ""); err != nil {
		t.Skip("mount: ", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	for _, keep := range []atomicfile.Keep{0, atomicfile.KeepMode, atomicfile.KeepAll} {
		path := put(t, dir, "f", "old")
		must(t, os.Chmod(path, 0o640))
		must(t, atomicfile.WriteFileWith(path, []byte("new"), 0o644, atomicfile.Options{Level: durability.Kill, Keep: keep}))
		if got := modeOf(t, path); got != 0o640 {
			t.Errorf("keep %b: mode %o", keep, got)
		}
	}
}

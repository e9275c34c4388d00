package sys

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestExchange(t *testing.T) {
	d, name := openDir(t, ForPath)
	e, other := openDir(t, ForPath)
	for path, content := range map[string]string{filepath.Join(name, "a"): "A", filepath.Join(other, "b"): "B"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Exchange("a", e, "b"); err != nil {
		t.Skip("no RENAME_EXCHANGE here: ", err)
	}
	if b, err := os.ReadFile(filepath.Join(name, "a")); string(b) != "B" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if err := d.Exchange("no", e, "b"); err != unix.ENOENT {
		t.Errorf("got %v", err)
	}
}

// What is copied is counted, and goes on where the last write ended.
func TestCopyFrom(t *testing.T) {
	d, name := openDir(t, ForPath)
	path := filepath.Join(name, "source")
	if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	src, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	raw, err := src.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.CreateTemp("t", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write([]byte("<")); err != nil {
		t.Fatal(err)
	}
	if n := f.CopyFrom(raw, 4); n == 0 {
		t.Skip("no copy_file_range(2) here")
	} else if n != 4 {
		t.Errorf("%d of 4 bytes", n)
	}
	if n := f.CopyFrom(raw, math.MaxInt64); n != 6 {
		t.Errorf("%d of the 6 that are left", n)
	}
	if n := f.CopyFrom(raw, 1); n != 0 {
		t.Errorf("%d after the end", n)
	}
	if b, err := os.ReadFile(filepath.Join(name, "t")); string(b) != "<0123456789" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

func TestTempAllocatesNothing(t *testing.T) {
	d, _ := openDir(t, ForPath)
	if n := leastAllocs(20, func() {
		f, err := d.CreateTemp("t", 0o600)
		if err != nil {
			t.Fatal(err)
		}
		f.Write([]byte("x"))
		f.Writeback()
		f.Close()
		d.Remove("t")
	}); n > 1 { // package unix copies the name in unlinkat(2)
		t.Errorf("%v allocations", n)
	}
}

func TestProcess(t *testing.T) {
	me, err := ThisProcess()
	if err != nil {
		t.Skip(err)
	}
	if start, err := StartOf(me.PID); err != nil || start != me.Start || start == 0 {
		t.Errorf("this process started at %d, and at %d, %v", me.Start, start, err)
	}
	if len(me.Boot) != 32 || me.Namespace == 0 {
		t.Errorf("%+v", me)
	}
	if _, err := StartOf(math.MaxInt32); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such process: %v", err)
	}
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Skip(err)
	}
	if start, err := StartOf(cmd.Process.Pid); err == nil && start == me.Start {
		t.Errorf("a process that has ended started at %d", start)
	}
}

// A process that nobody has waited for is gone all the same.
func TestStartOfUnreaped(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer cmd.Wait()
	if start, err := StartOf(cmd.Process.Pid); err != nil || start == 0 {
		t.Errorf("it lives: %d, %v", start, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var err error
	for begun := time.Now(); time.Since(begun) < 2*time.Minute; time.Sleep(10 * time.Millisecond) {
		if _, err = StartOf(cmd.Process.Pid); errors.Is(err, os.ErrNotExist) {
			return
		}
	}
	t.Errorf("killed: %v", err)
}

func TestParseStart(t *testing.T) {
	const tail = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20"
	for _, name := range []string{"sh", "a b", "x) S 1 (y"} {
		if got, err := parseStart("12 (" + name + ")" + tail); err != nil || got != 777 {
			t.Errorf("%q: %d, %v", name, got, err)
		}
	}
	for _, bad := range []string{"", "12 sh S", "12 (sh) S 1 2"} {
		if got, err := parseStart(bad); err == nil {
			t.Errorf("%q gave %d", bad, got)
		}
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

// The kernel's rule for symlinks in folders that everybody may write to holds
// whatever its setting, and is asked of the symlink that is then read.
func TestFollowLink(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("to give files away needs root")
	}
	const me, other = 0, 1001
	for _, c := range []struct {
		mode        uint32
		folder, own int
		want        error
	}{
		{0o1777, me, me, nil},
		{0o1777, other, me, nil},
		{0o1777, other, other, nil},
		{0o1777, me, other, unix.EACCES},
		{0o1773, me, other, unix.EACCES},
		{0o1770, me, other, nil}, // not everybody may write
		{0o0777, me, other, nil}, // everybody may remove
	} {
		d, name := openDir(t, ForPath)
		link := filepath.Join(name, "link")
		err := errors.Join(os.Symlink("a/b", link), os.Lchown(link, c.own, c.own), os.Chown(name, c.folder, c.folder), unix.Chmod(name, c.mode))
		if err != nil {
			t.Fatal(err)
		}
		if target, err := d.FollowLink("link"); err != c.want || err == nil && target != "a/b" {
			t.Errorf("folder %o of %d, symlink of %d: %q, %v, want %v", c.mode, c.folder, c.own, target, err, c.want)
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

// The caller is whom the kernel takes its thread for.
func TestFollowLinkAs(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("to be somebody else needs root")
	}
	d, name := openDir(t, ForPath)
	const other = 1001
	link := filepath.Join(name, "link")
	if err := errors.Join(os.Symlink("x", link), os.Lchown(link, other, other), unix.Chmod(name, 0o1777)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		err := unix.Setfsuid(other)
		if err == nil {
			_, err = d.FollowLink("link")
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestFollowLinkOfMount(t *testing.T) {
	name := t.TempDir()
	if err := unix.Mount("none", name, "tmpfs", unix.MS_NOSYMFOLLOW, ""); err != nil {
		t.Skip("mount: ", err)
	}
	t.Cleanup(func() { unix.Unmount(name, unix.MNT_DETACH) })
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

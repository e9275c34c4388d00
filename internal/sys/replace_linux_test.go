package sys

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOrdersData(t *testing.T) {
	d, name := openDir(t, ForPath)
	st, err := StatFS(name)
	if err != nil {
		t.Fatal(err)
	}
	if fs := FSName(st.Magic); d.OrdersData() && fs != "xfs" && fs != "ext2/ext3/ext4" {
		t.Errorf("%s is said to order data before names", fs)
	}
	proc, err := OpenDir("/proc", ForPath)
	if err != nil {
		t.Skip(err)
	}
	defer proc.Close()
	if proc.OrdersData() || proc.IsLocal() {
		t.Error("of /proc nothing is known")
	}
}

func TestAnyOption(t *testing.T) {
	for _, c := range []struct {
		options string
		want    bool
	}{
		{"rw", false}, {"rw,data=writeback", true}, {"data=journal,rw", true}, {"rw,rtdev=/dev/sdb", true}, {"rw,xdata=writeback", false}, {"", false},
	} {
		if got := anyOption(c.options, "data=writeback", "data=journal", "rtdev="); got != c.want {
			t.Errorf("%q: %v", c.options, got)
		}
	}
}

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

func TestTempAllocatesNothing(t *testing.T) {
	d, _ := openDir(t, ForPath)
	if n := testing.AllocsPerRun(20, func() {
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
		if err := unix.Fsetxattr(f.fd, attr, []byte("old"), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.CopyXattrs("f", f, Xattrs{ACL: true}); err != nil {
		t.Error(err)
	}
	if b, err := getXattr(f.fd, "user.b"); string(b) != "old" || err != nil {
		t.Errorf("user.b is %q, %v", b, err)
	}
	if err := d.CopyXattrs("f", f, Xattrs{Other: true}); err != nil {
		t.Error(err)
	}
	if b, err := getXattr(f.fd, "user.a"); string(b) != "1" || err != nil {
		t.Errorf("user.a is %q, %v", b, err)
	}
	if _, err := getXattr(f.fd, "user.b"); err != unix.ENODATA {
		t.Errorf("user.b is still there: %v", err)
	}
	if err := d.CopyXattrs("no", f, Xattrs{Other: true}); err != unix.ENOENT {
		t.Errorf("of nothing: %v", err)
	}
}

func TestXattrsHas(t *testing.T) {
	all := Xattrs{ACL: true, Other: true}
	for attr, want := range map[string]bool{
		"user.a": true, "security.capability": true, "trusted.x": true, aclName: true,
		"security.ima": false, "security.evm": false, "system.nfs4_acl": false,
	} {
		if got := all.has(attr); got != want {
			t.Errorf("%s: %v", attr, got)
		}
	}
}

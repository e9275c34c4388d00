package sys_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/measure/loopfs"
	"github.com/stele-go/stele/internal/sys"
)

// OrdersData reports true for the file systems that its argument covers, and false for
// the others.
func TestOrdersDataOnImages(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	for _, c := range []struct {
		name, mkfs, options string
		flag                []string // a command that is given the directory
		why                 string   // part of the reason; "" if OrdersData is true
	}{
		{name: "ext4", mkfs: "mkfs.ext4 -q -F"},
		{name: "ext4 nodelalloc", mkfs: "mkfs.ext4 -q -F", options: "nodelalloc"},
		{name: "ext4 dioread_lock", mkfs: "mkfs.ext4 -q -F", options: "dioread_lock"},
		{name: "ext4 bigalloc, inline data", mkfs: "mkfs.ext4 -q -F -O bigalloc,inline_data"},
		{name: "ext4 data=writeback", mkfs: "mkfs.ext4 -q -F", options: "data=writeback", why: "data=writeback"},
		{name: "ext4 data=journal", mkfs: "mkfs.ext4 -q -F", options: "data=journal", why: "data=journal"},
		{name: "ext4 nobarrier", mkfs: "mkfs.ext4 -q -F", options: "nobarrier", why: "nobarrier"},
		{name: "ext4 asynchronous commits", mkfs: "mkfs.ext4 -q -F", options: "journal_async_commit,data=writeback", why: "with "},
		{name: "ext4 without journal", mkfs: "mkfs.ext4 -q -F -O ^has_journal", why: "no journal"},
		{name: "ext4 fast commits", mkfs: "mkfs.ext4 -q -F -O fast_commit", why: "fast commits"},
		{name: "ext4 chattr +j", mkfs: "mkfs.ext4 -q -F", flag: []string{"chattr", "+j"}, why: "into the journal"},
		{name: "xfs", mkfs: "mkfs.xfs -q -f"},
		{name: "xfs without reflink", mkfs: "mkfs.xfs -q -f -m reflink=0"},
		{name: "xfs realtime", mkfs: "mkfs.xfs -q -f -d rtinherit=1", why: "realtime"},
		{name: "btrfs", mkfs: "mkfs.btrfs -q -f", why: "neither"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := mountImage(t, c.mkfs, c.options)
			if c.flag != nil {
				if out, err := exec.Command(c.flag[0], append(c.flag[1:], dir)...).CombinedOutput(); err != nil {
					t.Skipf("%v: %s", err, out)
				}
			}
			d, err := sys.OpenDir(dir, sys.ForSync)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			why := d.WhyUnordered()
			if (c.why == "") != (why == "") || !strings.Contains(why, c.why) {
				t.Errorf("%q, want %q", why, c.why)
			}
			if d.OrdersData() != (c.why == "") {
				t.Error("OrdersData does not say what whyUnordered does")
			}
			if c.why == "" {
				overlayIsDenied(t, dir)
				bindIsLike(t, dir)
			}
		})
	}
}

// overlayIsDenied mounts an overlay whose upper layer is on dir.
func overlayIsDenied(t *testing.T, dir string) {
	t.Helper()
	for _, sub := range []string{"lower", "upper", "work"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	on := t.TempDir()
	options := "lowerdir=" + dir + "/lower,upperdir=" + dir + "/upper,workdir=" + dir + "/work"
	if err := loopfs.Mount("overlay", on, "overlay", options); err != nil {
		t.Log("no overlay here: ", err)
		return
	}
	defer unmount(t, on)
	d, err := sys.OpenDir(on, sys.ForSync)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.OrdersData() {
		t.Error("granted on an overlay")
	}
}

// bindIsLike mounts a directory of dir elsewhere: it is the same file system.
func bindIsLike(t *testing.T, dir string) {
	t.Helper()
	on := t.TempDir()
	if err := unix.Mount(filepath.Join(dir, "upper"), on, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	defer unmount(t, on)
	d, err := sys.OpenDir(on, sys.ForSync)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if why := d.WhyUnordered(); why != "" {
		t.Errorf("denied on a bind mount: %s", why)
	}
}

// mountImage mounts a new file system, made by the command mkfs, in a sparse
// file.
func mountImage(t *testing.T, mkfs, options string) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "image"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(320 << 20); err != nil { // mkfs.xfs needs 300 MiB
		t.Fatal(err)
	}
	args := append(strings.Fields(mkfs), f.Name())
	if out, err := runMkfs(args[0], args[1:]...); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	device, err := loopfs.Attach(f)
	if err != nil {
		t.Skip(err)
	}
	defer device.Close()
	dir := t.TempDir()
	kind := strings.TrimPrefix(args[0], "mkfs.")
	if err := loopfs.Mount(device.Name(), dir, kind, options); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { unmount(t, dir) })
	return dir
}

func runMkfs(mkfs string, args ...string) (out []byte, err error) {
	return loopfs.Mkfs(context.Background(), func() ([]byte, error) { return exec.Command(mkfs, args...).CombinedOutput() })
}

func unmount(t *testing.T, dir string) {
	t.Helper()
	if err := loopfs.UnmountIdle(dir, time.Minute); err != nil {
		t.Error(err)
	}
}

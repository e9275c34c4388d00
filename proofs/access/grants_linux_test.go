package access

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/header"
	"github.com/stele-go/stele/internal/measure/scratch"
)

// onFilesystems runs test in the directory for temporary files and on an image of each
// file system.
func onFilesystems(t *testing.T, test func(t *testing.T, dir string)) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to take other identities and to mount")
	}
	t.Run("here", func(t *testing.T) { test(t, open(t, t.TempDir())) })
	for _, fs := range []string{"ext4", "xfs", "btrfs", "tmpfs", "overlay"} {
		t.Run(fs, func(t *testing.T) {
			over := fs == "overlay"
			if over {
				fs = "ext4"
			}
			store := t.TempDir()
			image, err := scratch.Image(context.Background(), scratch.Options{FS: fs, Size: 320 << 20, Store: store})
			if err != nil {
				t.Skip(err)
			}
			t.Cleanup(func() {
				if err := image.Close(); err != nil {
					t.Error(err)
				}
			})
			dir := image.Path
			if over {
				dir = overlay(t, dir)
			}
			test(t, open(t, dir))
		})
	}
}

// overlay mounts an overlay whose layers are in dir.
func overlay(t *testing.T, dir string) string {
	t.Helper()
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	merged := filepath.Join(dir, "merged")
	options := fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", dir)
	if err := unix.Mount("overlay", merged, "overlay", 0, options); err != nil {
		t.Skip("no overlay: ", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(merged, unix.UMOUNT_NOFOLLOW)) })
	return merged
}

// open lets every user reach dir.
func open(t *testing.T, dir string) string {
	t.Helper()
	for p := dir; len(p) > len(os.TempDir()); p = filepath.Dir(p) {
		must(t, os.Chmod(p, 0o755))
	}
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// maxTold is how many faults a test prints.
const maxTold = 20

// Nobody may do to the new file what the old one denied. If all is kept, everybody may do
// the same as before.
func TestGrants(t *testing.T) {
	onFilesystems(t, func(t *testing.T, top string) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		j := newJudge(t)
		step := 13 // shares no factor with an axis
		if os.Getenv("STELE_LONG") != "" {
			step = 1
		}
		skipped := map[string]int{}
		faults, failed := 0, map[string]int{}
		for i, c := range matrix() {
			if i%step != 0 {
				continue
			}
			dir := filepath.Join(top, fmt.Sprint("cell", i))
			err := c.judge(j, dir, failed)
			var lacks skip
			switch {
			case errors.As(err, &lacks):
				skipped[string(lacks)]++
			case err != nil:
				if faults++; faults <= maxTold {
					t.Errorf("%v: %v", c, err)
				}
			}
			must(t, os.RemoveAll(dir))
		}
		if faults > maxTold {
			t.Errorf("and %d more", faults-maxTold)
		}
		for why, n := range skipped {
			t.Logf("%d cells skipped: %s", n, why)
		}
		for why, n := range failed {
			t.Logf("%d cells refused: %s", n, why)
		}
	})
}

// judge runs one cell and returns an error if the new file is wrong.
func (c cell) judge(j *judge, dir string, failed map[string]int) error {
	path, err := c.lay(dir)
	if err != nil {
		return err
	}
	in, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer in.Close()
	fd := int(in.Fd())
	before, err := j.rights(fd, "file")
	if err != nil {
		return err
	}
	var old unix.Stat_t
	if err := unix.Lstat(path, &old); err != nil {
		return err
	}
	runErr := c.run(path)
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		return fmt.Errorf("the directory holds %q, %v", names, err)
	}
	after, err := j.rights(fd, "file")
	if err != nil {
		return err
	}
	if runErr != nil {
		failed[fmt.Sprintf("%s by %s of %d:%d: %v", c.way.name, c.writer.name, c.uid, c.gid, cause(runErr))]++
		if !slices.Equal(after, before) {
			return fmt.Errorf("after %v people may do %v, before %v", runErr, after, before)
		}
		return c.mayFail(runErr)
	}
	if more := beyond(after, c.bound(before)); more != "" {
		return fmt.Errorf("granted to %s", more)
	}
	return errors.Join(c.same(path, &old, before, after), c.checkAttrs(path))
}

// cause returns err without the path, which differs from cell to cell.
func cause(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return fmt.Errorf("%s: %w", pe.Op, pe.Err)
	}
	return err
}

// mayFail returns nil if the cell's writer lacks the permission, and else err.
func (c cell) mayFail(err error) error {
	switch {
	case errors.Is(err, header.ErrStrategy):
		return skip(cause(err).Error())
	case c.writer.uid == 0:
		return err
	case errors.Is(err, os.ErrPermission) && (c.uid != c.writer.uid || !slices.Contains(c.writer.groups, c.gid)):
		return nil
	case errors.Is(err, os.ErrPermission) && c.way.inPlace && c.mode&0o200 == 0:
		return nil
	}
	return err
}

// same compares the new file with the old one if it keeps owner, mode and ACL.
func (c cell) same(path string, old *unix.Stat_t, before, after []rights) error {
	const all = atomicfile.KeepMode | atomicfile.KeepOwner | atomicfile.KeepACL
	if c.way.keeps&all != all {
		return nil
	}
	var now unix.Stat_t
	if err := unix.Lstat(path, &now); err != nil {
		return err
	}
	mode := old.Mode
	if c.way.inPlace && c.writer.uid != 0 {
		mode = mode&^(unix.S_ISUID|unix.S_ISGID) | now.Mode&(unix.S_ISUID|unix.S_ISGID)
	}
	switch {
	case now.Mode != mode:
		return fmt.Errorf("mode %o, want %o", now.Mode, mode)
	case now.Uid != old.Uid || now.Gid != old.Gid:
		return fmt.Errorf("owner %d:%d", now.Uid, now.Gid)
	case !slices.Equal(before, after):
		return fmt.Errorf("people may do %v, before %v", after, before)
	case c.acl == "" && attr(path, accessACL) != nil, c.acl != "" && !bytes.Equal(attr(path, accessACL), encodeACL(c.acl)):
		return fmt.Errorf("ACL %x", attr(path, accessACL))
	}
	return nil
}

// checkAttrs checks that KeepXattrs keeps exactly the attributes that do not depend on the
// old content.
func (c cell) checkAttrs(path string) error {
	if c.way.inPlace {
		return nil
	}
	for _, name := range []string{"user.a", "trusted.b", "security.capability"} {
		kept := c.way.keeps&atomicfile.KeepXattrs != 0 && slices.Contains(c.attrs, name) &&
			name != "security.capability" && (name != "trusted.b" || c.writer.uid == 0)
		got := attr(path, name)
		if kept != (got != nil) || kept && !bytes.Equal(got, valueOf(name)) {
			return fmt.Errorf("attribute %s is %q", name, got)
		}
	}
	return nil
}

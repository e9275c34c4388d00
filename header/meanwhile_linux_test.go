package header_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/header"

	"github.com/stele-go/stele/internal/filetest"
)

// If another program writes to the file without the lock while a new one is made, the
// result is an error, and the write is kept. Pad is called in the middle of the change.
func TestChangedMeanwhile(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(name string) error
		want string
	}{
		{"appended", func(name string) error { return appendText(name, "!") }, "content!"},
		{"written over", func(name string) error {
			f, err := os.OpenFile(name, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			before, err := f.Stat()
			for now := before; err == nil && now.ModTime().Equal(before.ModTime()); now, err = f.Stat() {
				time.Sleep(time.Millisecond) // the clock of files has ticks
				if _, err := f.WriteAt([]byte("C"), 0); err != nil {
					return err
				}
			}
			return err
		}, "Content"},
		{"replaced", func(name string) error {
			return errors.Join(os.WriteFile(name+".new", []byte("another"), 0o644), os.Rename(name+".new", name))
		}, "another"},
		{"removed", os.Remove, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			name := write(t, dir, []byte("content"))
			o := header.Options{Level: durability.Kill, Pad: func(pad []byte) {
				must(t, c.do(name))
				header.PadByte(' ')(pad)
			}}
			_, err := header.Reserve(context.Background(), name, 100, o)
			if errors.Is(err, syscall.EOPNOTSUPP) {
				t.Skip(err)
			}
			if !errors.Is(err, syscall.EBUSY) && (c.want != "" || !errors.Is(err, os.ErrNotExist)) {
				t.Errorf("%v", err)
			}
			if c.want == "" {
				only(t, dir)
				return
			}
			holds(t, name, []byte(c.want))
			only(t, dir, filepath.Base(name))
		})
	}
}

func appendText(name, text string) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// Files up to the largest size are changed or refused, never damaged.
func TestHugeSparse(t *testing.T) {
	i := slices.IndexFunc(images(), func(w where) bool { return w.name == "xfs" })
	if i < 0 {
		t.Skip("needs XFS, and so root, loop devices and mkfs.xfs")
	}
	pad := header.PadByte(' ')
	for _, size := range []int64{1 << 60, 1<<62 + 4097, math.MaxInt64 - 4096, math.MaxInt64} {
		for _, o := range []header.Options{{}, {Pad: pad}, {Mode: header.InPlace, Pad: pad}, {Mode: header.InPlace, Pad: pad, Level: durability.Kill}} {
			name := write(t, images()[i].dir, []byte("content"))
			if err := os.Truncate(name, size); err != nil {
				t.Skip(err)
			}
			res, err := header.Insert(context.Background(), name, top, o)
			fi, serr := os.Stat(name)
			must(t, serr)
			var st unix.Stat_t
			must(t, unix.Stat(name, &st))
			what := fmt.Sprintf("%d bytes, %v, padded %v: %v, %v", size, o.Mode, o.Pad != nil, res.Strategy, err)
			switch {
			case st.Blocks > 1000:
				t.Errorf("%s: it takes %d blocks", what, st.Blocks)
			case err == nil && fi.Size() != size+res.Moved, err != nil && fi.Size() != size:
				t.Errorf("%s: now %d", what, fi.Size())
			case err != nil && size < 1<<62 || err == nil && size == math.MaxInt64:
				t.Error(what)
			case err != nil && !errors.Is(err, syscall.EFBIG) && !errors.Is(err, syscall.EINVAL):
				t.Error(what)
			}
			if state, err := header.Recover(context.Background(), name, header.Options{}); state != header.Clean || err != nil {
				t.Errorf("%s: then %v, %v", what, state, err)
			}
			must(t, os.Remove(name))
		}
	}
}

// On a full disk the file stays as it was, or the change is complete.
func TestFullDisk(t *testing.T) {
	if len(images()) == 0 {
		t.Skip("needs images, and so root, loop devices and mkfs")
	}
	for _, place := range images() {
		t.Run(place.name, func(t *testing.T) {
			dir, err := os.MkdirTemp(place.dir, "full")
			must(t, err)
			defer os.RemoveAll(dir)
			content := bytesOf(3<<20 + 5)
			filler, err := os.Create(filepath.Join(dir, "filler"))
			must(t, err)
			defer filler.Close()
			failed, done := 0, 0
			for _, left := range []int64{0, 4 << 10, 64 << 10, 1 << 20} {
				for _, o := range []header.Options{
					{Pad: header.PadByte('\n'), Mode: header.InPlace},
					{Pad: header.PadByte('\n')},
					{Strategy: header.Copy},
					{Strategy: header.KernelCopy, Level: durability.Kill},
				} {
					name := filepath.Join(dir, "file")
					must(t, os.WriteFile(name, content, 0o644))
					must(t, fillUp(filler, left))
					res, err := header.Insert(context.Background(), name, top, o)
					state, rerr := header.Recover(context.Background(), name, header.Options{})
					must(t, filler.Truncate(0))
					if rerr != nil && !errors.Is(rerr, syscall.ENOSPC) {
						t.Errorf("%+v: recover: %v, %v", res, state, rerr)
					}
					b, rerr := os.ReadFile(name)
					must(t, rerr)
					want := content
					if err == nil {
						done++
						want = slices.Concat(top, make([]byte, res.Pad), content)
						header.PadByte('\n')(want[len(top) : len(top)+int(res.Pad)])
					} else {
						failed++
						if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, header.ErrStrategy) {
							t.Errorf("%v", err)
						}
					}
					if !slices.Equal(b, want) {
						t.Errorf("%d bytes left, %+v: %v, and the file has %d bytes, want %d", left, res, err, len(b), len(want))
					}
					only(t, dir, "file", "filler")
				}
			}
			if failed == 0 {
				t.Error("the disk was never full")
			}
			t.Logf("%d done, %d failed", done, failed)
		})
	}
}

// fillUp fills the disk up to the given number of bytes.
func fillUp(f *os.File, left int64) error {
	var st unix.Statfs_t
	if err := errors.Join(f.Truncate(0), f.Sync(), unix.Fstatfs(int(f.Fd()), &st)); err != nil {
		return err
	}
	off := int64(0)
	for n := int64(st.Bavail) * st.Bsize; n >= 4096; {
		if err := unix.Fallocate(int(f.Fd()), 0, off, n); err != nil {
			n /= 2
			continue
		}
		off += n
	}
	if left == 0 {
		return nil
	}
	return errors.Join(f.Truncate(max(0, off-left)), f.Sync())
}

// strangersLink makes a directory like /tmp, beside it a file "target" that holds "old",
// and in the directory a symlink name to the file, of another owner. It returns the
// paths of all three.
func strangersLink(t *testing.T, name string) (sticky, target, link string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("giving a symlink away needs root")
	}
	dir := t.TempDir()
	sticky, target = filepath.Join(dir, "sticky"), filepath.Join(dir, "target")
	link = filepath.Join(sticky, name)
	must(t, os.Mkdir(sticky, 0o777))
	must(t, os.Chmod(sticky, 0o777|os.ModeSticky))
	must(t, os.WriteFile(target, []byte("old"), 0o600))
	must(t, os.Symlink("../target", link))
	must(t, os.Lchown(link, 65534, 65534))
	return sticky, target, link
}

// In a directory like /tmp a symlink is followed only if it belongs to the caller or to
// the directory's owner, whether fs.protected_symlinks is set or not: otherwise another
// user could take the name first and show a file of theirs.
func TestProtectedSymlinks(t *testing.T) {
	sticky, target, theirs := strangersLink(t, "theirs")
	own, mine := filepath.Join(filepath.Dir(sticky), "own"), filepath.Join(sticky, "mine")
	must(t, os.Symlink("sticky/theirs", own))
	must(t, os.Symlink("../target", mine))
	for _, link := range []string{theirs, own} {
		for op, do := range locking {
			if err := do(t.Context(), link); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), link) {
				t.Errorf("%s %s: %v", op, link, err)
			}
		}
	}
	if b, err := os.ReadFile(target); err != nil || string(b) != "old" {
		t.Errorf("the target now has %q, %v", b, err)
	}
	_, err := header.Insert(t.Context(), mine, []byte("new"), kill)
	must(t, err)
	holds(t, target, []byte("newold"))
}

// A stranger's symlink is exchanged with their file again and again: the file that the
// symlink leads to stays as it is.
func TestProtectedSymlinkSwapped(t *testing.T) {
	sticky, target, a := strangersLink(t, "a")
	b := filepath.Join(sticky, "b")
	must(t, os.WriteFile(b, []byte("x"), 0o666))
	stop := repeating(func() error { return exchange(a, b) })
	done, refused := 0, 0
	for n := 0; n < 3000 || n < 50_000 && (done == 0 || refused == 0); n++ {
		_, err := header.Swap(t.Context(), a, nil, []byte("y"), header.Options{Level: durability.Kill, Mode: header.InPlace})
		switch {
		case err == nil:
			done++
		case errors.Is(err, os.ErrPermission):
			refused++
		}
	}
	must(t, stop())
	holds(t, target, []byte("old"))
	t.Logf("%d done, %d refused", done, refused)
	if done == 0 || refused == 0 {
		t.Skip("no call met the swap")
	}
}

// Symlinks lead to symlinks, upwards, and round in a loop.
func TestChainsOfLinks(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "a", "file"), nil, 0o644))
	for link, to := range map[string]string{
		"one": "to-b/../two", "to-b": "a/b", "a/two": filepath.Join(dir, "a", "b", "three"), "a/b/three": "./../file",
		"ring": "ring", "dir": "a/", "dots": "a/..", "none": "a/none", "file-as-dir": "a/file/", "link-as-dir": "one/",
	} {
		must(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	t.Chdir(dir)
	for _, name := range []string{"one", "a/two", filepath.Join(dir, "one"), "to-b/three"} {
		_, err := header.Insert(t.Context(), name, []byte("x"), kill)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	holds(t, "a/file", []byte("xxxx"))
	for name, want := range map[string]error{
		"ring": syscall.ELOOP, "dir": syscall.EISDIR, "dots": syscall.EISDIR, "none": syscall.ENOENT,
		"file-as-dir": syscall.ENOTDIR, "link-as-dir": syscall.ENOTDIR,
	} {
		if _, err := header.Insert(t.Context(), name, []byte("x"), kill); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}

// On a mount with nosymfollow no symlink is followed.
func TestNoSymFollow(t *testing.T) {
	dir := filetest.Tmpfs(t, unix.MS_NOSYMFOLLOW, "size=1m")
	link := filepath.Join(dir, "link")
	must(t, os.WriteFile(filepath.Join(dir, "target"), []byte("old"), 0o600))
	must(t, os.Symlink("target", link))
	_, err := header.Insert(t.Context(), link, top, kill)
	if !errors.Is(err, syscall.ELOOP) {
		t.Errorf("%v", err)
	}
}

package sys

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Without openat2(2) the results are the same as with it.
func TestDirWalkLikeOpenat2(t *testing.T) {
	d, name := openDir(t, ForPath)
	if err := os.MkdirAll(filepath.Join(name, "a/b/c"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(name, "a/f"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"in": "a", "out": "/", "a/up": "..", "a/self": "self"} {
		if err := os.Symlink(target, filepath.Join(name, link)); err != nil {
			t.Fatal(err)
		}
	}
	open := func(f func(string, DirUse) (Dir, error), p string) (ino uint64, err error) {
		sub, err := f(p, ForSync)
		if err != nil {
			return 0, err
		}
		defer sub.Close()
		if err := sub.Sync(); err != nil { // a real descriptor, not O_PATH
			t.Error(err)
		}
		var st unix.Stat_t
		return st.Ino, unix.Fstat(sub.fd(), &st)
	}
	openat2 := func(path string, how DirUse) (Dir, error) {
		fd, err := d.openat2(path, int(how)|unix.O_DIRECTORY, 0, false)
		return newDir(fd), err
	}
	if _, err := open(openat2, "a"); err == unix.ENOSYS || err == unix.EPERM {
		t.Skip("no openat2 here: ", err)
	}
	for _, p := range []string{"a", "a/b", "a/b/c", "no", "a/no/c", "a/f", "a/f/x", "in", "in/b", "out/tmp", "a/up/a", "a/self"} {
		ino, err := open(d.walk, p)
		wantIno, want := open(openat2, p)
		if want == unix.ELOOP {
			want = unix.ENOTDIR // O_NOFOLLOW|O_DIRECTORY
		}
		if ino != wantIno || err != want {
			t.Errorf("%s: walk gives %d, %v; openat2 %d, %v", p, ino, err, wantIno, want)
		}
	}
}

func TestDirWalkLeaksNothing(t *testing.T) {
	d, name := openDir(t, ForPath)
	if err := os.MkdirAll(filepath.Join(name, "a/b/c"), 0o755); err != nil {
		t.Fatal(err)
	}
	var before, after int
	for range 5 { // a collection may close a file meanwhile
		before = countFDs(t)
		for _, p := range []string{"a/b/c", "a/b/no", "a/no/c"} {
			if sub, err := d.walk(p, ForPath); err == nil {
				sub.Close()
			}
		}
		if after = countFDs(t); after == before {
			return
		}
	}
	t.Errorf("%d descriptors before, %d after", before, after)
}

func countFDs(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(fds)
}

// leastAllocs returns the least result of several AllocsPerRun, which also count other
// allocations of the process, for example when a garbage collection closes files.
func leastAllocs(runs int, f func()) float64 {
	least := testing.AllocsPerRun(runs, f)
	for i := 0; i < 5 && least > 0; i++ {
		least = min(least, testing.AllocsPerRun(runs, f))
	}
	return least
}

func TestDirPaths(t *testing.T) {
	d, _ := openDir(t, ForPath)
	if err := d.Mkdir("a\x00b", 0o755); err != syscall.EINVAL {
		t.Errorf("NUL in a path: %v", err)
	}
	if n := leastAllocs(100, func() {
		d.Mkdir("a", 0o755)
		d.Lstat("a")
		if sub, err := d.OpenBeneath("a", ForPath, false); err == nil {
			sub.Close()
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestUnrelated(t *testing.T) {
	d, name := openDir(t, ForPath)
	flags := func() uint32 {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		flags, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
		if err != nil {
			t.Skip("no attributes here: ", err)
		}
		return flags
	}
	before := flags()
	for range 2 { // the second changes nothing
		switch err := d.Unrelated(); err {
		case nil:
			if after := flags(); after != before|topDir {
				t.Errorf("flags %#x, before %#x", after, before)
			}
		case unix.EOPNOTSUPP, unix.ENOTTY:
			if after := flags(); after != before {
				t.Errorf("%v, but flags %#x, before %#x", err, after, before)
			}
		default:
			t.Error(err)
		}
	}
}

package sys

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Both ways to link an unnamed file must work: that of a process with
// CAP_DAC_READ_SEARCH or a new kernel, and that of others.
func TestLinkFile(t *testing.T) {
	defer noEmptyPath.Store(noEmptyPath.Load())
	d, name := openDir(t, ForPath)
	for _, way := range []struct {
		file string
		proc bool
	}{{"a", false}, {"b", true}} {
		f, err := d.OpenUnnamed(name, 0o600)
		if Absent(err) {
			t.Skip("no unnamed files here: ", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(way.file); err != nil {
			t.Fatal(err)
		}
		noEmptyPath.Store(way.proc)
		if err := d.LinkFile(f, way.file); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(name, way.file)); err != nil || string(got) != way.file {
			t.Errorf("%s holds %q, %v", way.file, got, err)
		}
		if err := d.LinkFile(f, way.file); err != unix.EEXIST {
			t.Errorf("linking to a name that is there: %v", err)
		}
		if err := d.LinkFile(f, "no/x"); err != unix.ENOENT {
			t.Errorf("linking into nothing: %v", err)
		}
	}
}

func TestSeal(t *testing.T) {
	f, err := NewMemory("m")
	if errors.Is(err, unix.ENOSYS) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("abc"); err != nil {
		t.Fatal(err)
	}
	m, err := unix.Mmap(int(f.Fd()), 0, 3, unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	if err := Seal(f); err != unix.EBUSY {
		t.Errorf("sealing while it is mapped: %v", err)
	}
	if err := unix.Munmap(m); err != nil {
		t.Fatal(err)
	}
	if err := Seal(f); err != nil {
		t.Error(err)
	}
	if err := f.Truncate(9); !errors.Is(err, unix.EPERM) {
		t.Errorf("growing a sealed file: %v", err)
	}
}

func TestFileLimits(t *testing.T) {
	soft, hard, err := FileLimits()
	if err != nil || soft == 0 || soft > hard {
		t.Errorf("%d, %d, %v", soft, hard, err)
	}
	if used, most, err := SystemFiles(); err != nil || used == 0 || used > most {
		t.Errorf("%d of %d, %v", used, most, err)
	}
	// A collection may close a file between the two counts.
	var n uint64
	var want int
	for range 5 {
		n, err = OpenFiles()
		want = countFDs(t) - 1 // that one counts its own
		if err != nil || n == uint64(want) {
			break
		}
	}
	if err != nil || n != uint64(want) {
		t.Errorf("%d open files, %v; want %d", n, err, want)
	}
}

func TestTouchFileAllocates0(t *testing.T) {
	d, _ := openDir(t, ForPath)
	if n := leastAllocs(100, func() {
		d.TouchFile("f", 0o600)
		d.TouchFile("f", 0o600)
	}); n != 0 {
		t.Errorf("TouchFile: %v allocations", n)
	}
}

func TestUmask(t *testing.T) {
	old := unix.Umask(0o137)
	got, err := Umask()
	unix.Umask(old)
	if got != 0o137 || err != nil {
		t.Errorf("%o, %v", got, err)
	}
}

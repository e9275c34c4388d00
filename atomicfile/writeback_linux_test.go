package atomicfile_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/internal/measure/loopfs"
	"github.com/stele-go/stele/internal/sys"
)

// A disk is a file system on a device that begins to fail when full is
// called: its image is a sparse file on a tmpfs, which then has no room left.
// Blocks that were written before can be written again.
type disk struct {
	dir    string // where it is mounted
	backed string // the tmpfs
}

func newDisk(t *testing.T, mkfs string, size int64) *disk {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	d := &disk{dir: t.TempDir(), backed: t.TempDir()}
	if err := loopfs.Mount("tmpfs", d.backed, "tmpfs", "size=100m"); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { unmount(t, d.backed) })
	image, err := os.Create(filepath.Join(d.backed, "image"))
	must(t, err)
	defer image.Close()
	must(t, image.Truncate(size))
	args := append(strings.Fields(mkfs), image.Name())
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	device, err := loopfs.Attach(image)
	if err != nil {
		t.Skip(err)
	}
	defer device.Close()
	if err := loopfs.Mount(device.Name(), d.dir, strings.TrimPrefix(args[0], "mkfs."), ""); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		d.empty(t)
		unmount(t, d.dir)
	})
	return d
}

// unmount waits until dir can be unmounted. The file of a loop device is in use
// until the device is detached, after its last close. A process that looks for a free
// device may have it open for a moment.
func unmount(t *testing.T, dir string) {
	t.Helper()
	if err := loopfs.UnmountIdle(dir, 2*time.Minute); err != nil {
		t.Error(err)
	}
}

func (d *disk) ballast() string { return filepath.Join(d.backed, "ballast") }

func (d *disk) full(t *testing.T) {
	t.Helper()
	f, err := os.Create(d.ballast())
	must(t, err)
	defer f.Close()
	for chunk := make([]byte, 64<<10); ; {
		n, err := f.Write(chunk)
		if errors.Is(err, unix.ENOSPC) && len(chunk) > 1 {
			chunk = chunk[:len(chunk)/2] // down to the last byte
		} else if errors.Is(err, unix.ENOSPC) {
			return
		} else if err != nil || n == 0 {
			t.Fatal(n, err)
		}
	}
}

func (d *disk) empty(t *testing.T) {
	t.Helper()
	if err := os.Remove(d.ballast()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// Content that the device refused never gets the name, and Commit returns an error,
// also if the kernel tried to write the content before Commit. The kernel reports such
// an error once to each open file (file_check_and_advance_wb_err), and so to this one.
func TestFailingDevice(t *testing.T) {
	data := bytes.Repeat([]byte("new content that needs room\n"), 40_000)
	for _, fsys := range []struct {
		name, mkfs string
		size       int64
		// filler takes room that mkfs has left written, in bytes, so that all
		// of the new content lies where none is. The loop device tells nothing
		// of a write that had room for its first part.
		filler int
	}{
		{"ext4", "mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0", 64 << 20, 0},
		{"xfs", "mkfs.xfs -q -f", 320 << 20, 1 << 20},
	} {
		t.Run(fsys.name, func(t *testing.T) {
			for _, c := range []struct {
				name   string
				o      atomicfile.Options
				commit func(t *testing.T, dir string, o atomicfile.Options) error
			}{
				{"WriteFile", atomicfile.Options{}, func(_ *testing.T, dir string, _ atomicfile.Options) error {
					return atomicfile.WriteFile(filepath.Join(dir, "file"), data, 0o644)
				}},
				{"Dir", atomicfile.Options{}, commitLater(data, false)},
				{"Dir, written by others", atomicfile.Options{}, commitLater(data, true)},
				{"Dir SyncEach", syncEach, commitLater(data, false)},
				{"Dir SyncEach, written by others", syncEach, commitLater(data, true)},
				{"Batch", atomicfile.Options{}, commitBatch(data)},
				{"Batch SyncEach", syncEach, commitBatch(data)},
				{"Batch SyncWholeFS", syncWhole, commitBatch(data)},
			} {
				t.Run(c.name, func(t *testing.T) {
					d := newDisk(t, fsys.mkfs, fsys.size)
					if c.o.Sync == atomicfile.SyncAuto && !ordered(t, d.dir) {
						t.Error("a new file system is not known to order data before names")
					}
					put(t, d.dir, "file", "old")
					put(t, d.dir, "filler", strings.Repeat("x", fsys.filler))
					must(t, syncFS(d.dir))
					d.full(t)
					err := c.commit(t, d.dir, c.o)
					if err == nil || errors.Is(err, atomicfile.ErrNotDurable) {
						t.Fatalf("got %v, want an error that leaves the old content", err)
					}
					var pe *fs.PathError
					if !errors.As(err, &pe) || pe.Op != "sync" || pe.Path != filepath.Join(d.dir, "file") {
						t.Errorf("got %v, want that of the sync of the file", err)
					}
					holds(t, filepath.Join(d.dir, "file"), "old")
				})
			}
		})
	}
}

// commitLater replaces "file" through a Dir. If byOthers, a syncfs as by another process
// writes the content out before Commit.
func commitLater(data []byte, byOthers bool) func(*testing.T, string, atomicfile.Options) error {
	return func(t *testing.T, dir string, o atomicfile.Options) error {
		d, err := atomicfile.OpenDir(dir, o)
		must(t, err)
		defer d.Close()
		f, err := d.Create("file", 0o644)
		must(t, err)
		defer f.Abort()
		if _, err := f.Write(data); err != nil {
			return err
		}
		if byOthers {
			syncFS(dir) // may return the error too
		}
		return f.Commit()
	}
}

func commitBatch(data []byte) func(*testing.T, string, atomicfile.Options) error {
	return func(t *testing.T, dir string, o atomicfile.Options) error {
		d, err := atomicfile.OpenDir(dir, o)
		must(t, err)
		defer d.Close()
		b := d.Batch()
		defer b.Abort()
		must(t, b.Add("file", data, 0o644))
		return b.Commit()
	}
}

func syncFS(dir string) error {
	d, err := sys.OpenDir(dir, sys.ForSync)
	if err != nil {
		return err
	}
	return errors.Join(d.SyncFS(), d.Close())
}

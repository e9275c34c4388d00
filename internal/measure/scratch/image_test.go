package scratch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/measure/loopfs"
	"github.com/stele-go/stele/internal/sys"
)

// needImages skips where images cannot be made.
func needImages(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("images are made on Linux only")
	}
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		t.Skip("no loop devices here: ", err)
	}
}

func needMkfs(t *testing.T, system string) {
	t.Helper()
	if m := makers[system]; m.pkg != "" {
		if _, err := find("mkfs."+system, m.pkg); err != nil {
			t.Skip(err)
		}
	}
}

// newImage skips where the kernel lacks the file system or the right to mount.
func newImage(t *testing.T, o Options) *Directory {
	t.Helper()
	p, err := Image(t.Context(), o)
	if errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.EPERM) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func mountedAt(t *testing.T, path string) (sys.MountPoint, bool) {
	t.Helper()
	ms, err := sys.Mounts()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range ms {
		if m.Path == path {
			return m, true
		}
	}
	return sys.MountPoint{}, false
}

// closed closes a scratch directory with more patience than Close has: a process that is
// being started has copies of the files that are open in this one until it
// execs, and so keeps the scratch directory busy.
func closed(p *Directory) error {
	err := p.Close()
	for begun := time.Now(); errors.Is(err, syscall.EBUSY) && time.Since(begun) < time.Minute; {
		err = p.Close()
	}
	return err
}

// noLoop waits for the devices over files under dir to go: the kernel
// detaches them a moment after the last close, which may be that of another
// program that looks at all devices.
func noLoop(t *testing.T, dir string) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < 2*time.Minute; time.Sleep(20 * time.Millisecond) {
		left := ""
		for device, file := range backing() {
			if strings.HasPrefix(file, dir+"/") {
				left = device + " over " + file
			}
		}
		if left == "" {
			return
		}
	}
	t.Errorf("loop devices still lie over files in %s: %v", dir, backing())
}

func TestImage(t *testing.T) {
	needImages(t)
	for system, m := range makers {
		t.Run(system, func(t *testing.T) {
			needMkfs(t, system)
			store := realDir(t)
			p := newImage(t, Options{FS: system, Size: m.min, Store: store})
			if p.Name != system {
				t.Errorf("Name %q", p.Name)
			}
			mnt := filepath.Dir(p.Path)
			mp, ok := mountedAt(t, mnt)
			if !ok || mp.FS != system {
				t.Fatalf("at %s is mounted %+v", mnt, mp)
			}
			if info, err := sys.StatFS(p.Path); err != nil || info.Total > m.min || info.Total < m.min/4 {
				t.Errorf("size %+v of %d, %v", info, m.min, err)
			}
			if system == "ext4" {
				// An effective data= option is listed only with a journal.
				device := filepath.Base(mp.Source)
				options, err := os.ReadFile("/proc/fs/ext4/" + device + "/options")
				if err != nil || !strings.Contains(string(options), "data=ordered") {
					t.Errorf("no journal: %q %v", options, err)
				}
			}
			if err := os.WriteFile(filepath.Join(p.Path, "x"), []byte("x"), 0o600); err != nil {
				t.Error(err)
			}
			for i := range 2 {
				if err := closed(p); err != nil {
					t.Fatalf("Close %d: %v", i+1, err)
				}
			}
			if _, ok := mountedAt(t, mnt); ok {
				t.Error("still mounted")
			}
			noLoop(t, store)
			if got := names(t, store); len(got) != 0 {
				t.Errorf("left behind: %q", got)
			}
		})
	}
}

// Several makers want a free loop device at once, and one sweeps meanwhile.
func TestImagesInParallel(t *testing.T) {
	needImages(t)
	needMkfs(t, "ext4")
	newImage(t, Options{FS: "ext4", Size: 32 << 20, Store: realDir(t)}) // or skip
	store := realDir(t)
	done := make(chan error)
	const n = 4
	for range n {
		go func() {
			p, err := Image(context.Background(), Options{FS: "ext4", Size: 32 << 20, Store: store})
			if err != nil {
				done <- err
				return
			}
			_, swept := Sweep(store)
			if !concerns(t, swept, store) {
				swept = nil
			}
			err = os.WriteFile(filepath.Join(p.Path, "x"), nil, 0o600)
			done <- errors.Join(swept, err, closed(p))
		}()
	}
	for range n {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := names(t, store); len(got) != 0 {
		t.Errorf("left behind: %q", got)
	}
	noLoop(t, store)
}

func TestImageBusy(t *testing.T) {
	needImages(t)
	p := newImage(t, Options{FS: "tmpfs", Size: 1 << 20, Store: realDir(t)})
	f, err := os.Create(filepath.Join(p.Path, "open"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("closed under an open file: %v", err)
	}
	if _, err := os.Stat(p.Path); err != nil {
		t.Errorf("after a failed Close: %v", err)
	}
	f.Close()
	if err := closed(p); err != nil {
		t.Error(err)
	}
}

// A foreign file system mounted under a scratch directory must never be emptied.
func TestForeignMount(t *testing.T) {
	needImages(t)
	p, err := Dir(realDir(t))
	if err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(p.Path, "mine")
	if err := os.Mkdir(mine, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := loopfs.Mount("tmpfs", mine, "tmpfs", "size=64k"); err != nil {
		p.Close()
		t.Skip(err)
	}
	precious := filepath.Join(mine, "precious")
	if err := os.WriteFile(precious, nil, 0o600); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err == nil || !strings.Contains(err.Error(), mine) {
		t.Errorf("Close over a foreign mount: %v", err)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
	if err := loopfs.Unmount(mine); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestImageRefuses(t *testing.T) {
	if _, err := Image(t.Context(), Options{FS: "fat"}); err == nil || !strings.Contains(err.Error(), "btrfs, ext4, tmpfs, xfs") {
		t.Errorf("unknown file system: %v", err)
	}
	if runtime.GOOS != "linux" {
		if _, err := Image(t.Context(), Options{FS: "ext4"}); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("got %v", err)
		}
		return
	}
	if _, err := Image(t.Context(), Options{FS: "xfs", Size: 299 << 20}); err == nil || !strings.Contains(err.Error(), "314572800 bytes or more") {
		t.Errorf("small XFS: %v", err)
	}
	if os.Geteuid() != 0 {
		_, err := Image(t.Context(), Options{FS: "ext4", Store: t.TempDir()})
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "root") {
			t.Errorf("not root: %v", err)
		}
		return
	}
	needMkfs(t, "ext4")
	store := realDir(t)
	if _, err := Image(t.Context(), Options{FS: "ext4", Size: 1 << 60, Store: store}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("larger than the disk: %v", err)
	}
	if _, err := Image(t.Context(), Options{FS: "ext4", Store: filepath.Join(store, "none")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing store: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Image(ctx, Options{FS: "ext4", Size: 32 << 20, Store: store}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if got := names(t, store); len(got) != 0 {
		t.Errorf("left behind: %q", got)
	}
	noLoop(t, store)
}

func TestMkfsMissing(t *testing.T) {
	_, err := find("mkfs.no-such-system", "nosuch-progs")
	if err == nil || !strings.Contains(err.Error(), "apt-get install nosuch-progs") {
		t.Errorf("got %v", err)
	}
}

func TestRunTellsWhatTheProgramSaid(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no sh")
	}
	err := run(t.Context(), "/bin/sh", "-c", "echo the reason >&2; exit 3")
	if err == nil || !strings.Contains(err.Error(), "the reason") {
		t.Errorf("got %v", err)
	}
}

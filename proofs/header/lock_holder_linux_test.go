package header_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/stele-go/stele/internal/sys"
)

// locked makes a file that this process has locked.
func locked(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if ok, err := sys.TryLock(f); !ok {
		t.Skip("lock: ", err)
	}
	return f
}

// A silentFile is on a file system that does not answer: it counts the questions.
type silentFile struct {
	fs.Inode
	silent atomic.Bool
	asked  atomic.Int32
}

func (f *silentFile) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	if f.silent.Load() {
		f.asked.Add(1)
	}
	out.Mode = fuse.S_IFREG | 0o666
	return 0
}

func (f *silentFile) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, 0, 0
}

type silentRoot struct {
	fs.Inode
	file *silentFile
	ino  uint64
}

func (r *silentRoot) OnAdd(ctx context.Context) {
	r.AddChild("file", r.NewPersistentInode(ctx, r.file, fs.StableAttr{Mode: fuse.S_IFREG, Ino: r.ino}), false)
}

// FlockHolder never waits for the file system of another file with the same name, the
// same inode number and a lock.
func TestFlockHolderAsksNoStranger(t *testing.T) {
	f := locked(t)
	if err := sys.Unlock(f); err != nil {
		t.Fatal(err)
	}
	fi, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	root := &silentRoot{file: &silentFile{}, ino: fi.Sys().(*syscall.Stat_t).Ino}
	dir := t.TempDir()
	server, err := fs.Mount(dir, root, &fs.Options{MountOptions: fuse.MountOptions{FsName: "stele-lock", DirectMountStrict: true}})
	if err != nil {
		t.Skip("needs FUSE and the right to mount: ", err)
	}
	t.Cleanup(func() {
		if err := server.Unmount(); err != nil {
			t.Error(err)
		}
	})
	stranger, err := os.Open(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	if ok, err := sys.TryLock(stranger); !ok {
		t.Fatal(err)
	}
	root.file.silent.Store(true)
	if pid, command := sys.FlockHolder(f); pid != 0 {
		t.Errorf("the lock is that of process %d, %s", pid, command)
	}
	if _, err := stranger.Stat(); err != nil || root.file.asked.Load() != 1 {
		t.Errorf("the stranger's file system was asked %d times, want 1, by this test: %v", root.file.asked.Load(), err)
	}
	if pid, _ := sys.FlockHolder(stranger); pid != os.Getpid() {
		t.Errorf("the lock on the other file system is that of process %d, want %d", pid, os.Getpid())
	}
}

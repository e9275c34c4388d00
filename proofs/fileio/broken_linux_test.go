package fileio_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/stele-go/stele/fileio"
)

// A disk that fails: a FUSE with one file, whose bytes from brokenAt on cannot be read. A
// process of its own serves it: a page fault stops its thread without the runtime's
// knowledge, which would then wait for itself.

const (
	brokenEnv  = "STELE_FILEIO_BROKEN"
	brokenSize = 1 << 20
	brokenAt   = 512 << 10
)

func init() {
	if dir := os.Getenv(brokenEnv); dir != "" {
		if err := serveBroken(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

type brokenFile struct{ fs.Inode }

var (
	_ fs.NodeOpener    = (*brokenFile)(nil)
	_ fs.NodeReader    = (*brokenFile)(nil)
	_ fs.NodeGetattrer = (*brokenFile)(nil)
)

func (*brokenFile) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_KEEP_CACHE, 0
}

func (*brokenFile) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode, out.Size = fuse.S_IFREG|0o444, brokenSize
	return 0
}

func (*brokenFile) Read(_ context.Context, _ fs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	if off+int64(len(dest)) > brokenAt {
		return nil, syscall.EIO
	}
	clear(dest)
	return fuse.ReadResultData(dest), 0
}

type brokenRoot struct{ fs.Inode }

func (r *brokenRoot) OnAdd(ctx context.Context) {
	r.AddChild("file", r.NewPersistentInode(ctx, &brokenFile{}, fs.StableAttr{Mode: fuse.S_IFREG}), false)
}

func serveBroken(dir string) error {
	server, err := fs.Mount(dir, &brokenRoot{}, &fs.Options{MountOptions: fuse.MountOptions{FsName: "stele-fileio", DirectMountStrict: true}})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin) // until the test closes it, or has ended
	return server.Unmount()
}

// touch reads every byte of b.
func touch(b []byte) error {
	if bytes.Count(b, []byte{1}) > 0 {
		return errors.New("bytes that are not in the file")
	}
	return nil
}

// brokenDisk returns the name of the file.
func brokenDisk(t *testing.T) string {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), brokenEnv+"="+dir, "GOCOVERDIR="+t.TempDir())
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	if _, err := out.Read(make([]byte, 10)); err != nil {
		t.Skip("no FUSE could be mounted:", err)
	}
	return filepath.Join(dir, "file")
}

// A disk that cannot read is EIO by every way, also if it is a signal, and not
// ErrTruncated.
func TestBrokenDisk(t *testing.T) {
	name := brokenDisk(t)
	for _, w := range []fileio.Way{fileio.Buffered, fileio.Mapped, fileio.Direct} {
		t.Run(w.String(), func(t *testing.T) {
			r, err := fileio.Open(name, fileio.Options{Way: w, Readahead: fileio.ReadaheadOff})
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			b := make([]byte, 8192)
			if n, err := r.ReadAt(b, 4096); n != len(b) || err != nil {
				t.Error(n, err)
			}
			broken := func(what string, err error) {
				t.Helper()
				if !errors.Is(err, syscall.EIO) || errors.Is(err, fileio.ErrTruncated) {
					t.Errorf("%s: %v; want EIO", what, err)
				}
			}
			_, err = r.ReadAt(b, brokenAt+4096)
			broken("ReadAt", err)
			broken("View", r.View(brokenAt+4096, 8192, touch))
			if _, err := r.Seek(brokenAt, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			_, err = r.Read(b)
			broken("Read", err)
		})
	}
}

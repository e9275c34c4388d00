package fileio_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/internal/tracetest"
)

// With Sparse holes stay holes. Without it they become zeros.
func TestCopySparse(t *testing.T) {
	const size = 8 << 20
	for _, c := range []struct {
		name  string
		data  []int64 // offsets of a block
		to    int64   // offset and size of the target
		old   int64   // bytes of the target after that
		holes bool
	}{
		{"holes around", []int64{1 << 20, 5 << 20}, 0, 0, true},
		{"data at both ends", []int64{0, size - 4096}, 0, 0, true},
		{"nothing but a hole", nil, 0, 0, true},
		{"after existing bytes", []int64{1 << 20}, 4096, 0, true},
		{"over what is there", []int64{1 << 20}, 0, 4 << 20, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			src, dst := create(t), create(t)
			want := make([]byte, size)
			ok(t, src.Truncate(size))
			for _, off := range c.data {
				b := bytes.Repeat([]byte{'d'}, 4096)
				_, err := src.WriteAt(b, off)
				ok(t, err)
				copy(want[off:], b)
			}
			ok(t, src.Sync())
			if blocks(t, src) > 1<<20 {
				t.Skip("no holes here")
			}
			before := bytes.Repeat([]byte{'o'}, int(c.to+c.old))
			_, err := dst.Write(before)
			ok(t, err)
			_, err = dst.Seek(c.to, io.SeekStart)
			ok(t, err)
			done, err := fileio.Copy(t.Context(), dst, src, fileio.CopyOptions{Sparse: true})
			ok(t, err)
			ok(t, dst.Sync())
			// A hole that is not skipped is zeros, or a hole where blocks are shared.
			if done.Bytes != size || (done.Holes > 0) != c.holes || c.holes && blocks(t, dst) >= 1<<20 {
				t.Errorf("%+v; %d bytes of blocks", done, blocks(t, dst))
			}
			holds(t, dst.Name(), append(before[:c.to], want...))
			if at, _ := dst.Seek(0, io.SeekCurrent); at != c.to+size {
				t.Errorf("the target is at %d", at)
			}
			if at, _ := src.Seek(0, io.SeekCurrent); at != size {
				t.Errorf("the source is at %d", at)
			}
		})
	}
}

// The kernel shares blocks where it can. To another file system the bytes go through
// memory.
func TestCopyWhere(t *testing.T) {
	shm, err := os.MkdirTemp("/dev/shm", "stele")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(shm)
	data := bytes.Repeat([]byte("stele"), 2<<20)
	if free, err := sys.StatFS(shm); err != nil || free.Free < int64(2*len(data)) {
		t.Skipf("/dev/shm is small: %+v, %v", free, err)
	}
	src, dst := create(t), create(t)
	_, err = src.Write(data)
	ok(t, err)
	far, err := os.Create(filepath.Join(shm, "file"))
	ok(t, err)
	defer far.Close()
	for _, c := range []struct {
		dst    *os.File
		kernel bool
	}{{dst, true}, {far, false}} {
		_, err = src.Seek(0, io.SeekStart)
		ok(t, err)
		done, err := fileio.Copy(t.Context(), c.dst, src, fileio.CopyOptions{})
		if err != nil || done.Bytes != int64(len(data)) || (done.Kernel == done.Bytes) != c.kernel || (done.Kernel == 0) == c.kernel {
			t.Errorf("to %s: %+v, %v", c.dst.Name(), done, err)
		}
		holds(t, c.dst.Name(), data)
	}
	// A file of /proc has size 0, but content.
	proc, err := os.Open("/proc/self/status")
	ok(t, err)
	defer proc.Close()
	if done, err := fileio.Copy(t.Context(), create(t), proc, fileio.CopyOptions{Sparse: true}); err != nil || done.Bytes == 0 {
		t.Errorf("of /proc: %+v, %v", done, err)
	}
}

func TestCopyShares(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a file system")
	}
	image, err := scratch.Image(t.Context(), scratch.Options{FS: "xfs", Size: 320 << 20, Store: t.TempDir()})
	if err != nil {
		t.Skip(err)
	}
	defer image.Close()
	src, err := os.Create(filepath.Join(image.Path, "src"))
	ok(t, err)
	defer src.Close()
	dst, err := os.Create(filepath.Join(image.Path, "dst"))
	ok(t, err)
	defer dst.Close()
	const size = 160 << 20 // two of these do not fit
	data := bytes.Repeat([]byte("12345678"), 1<<17)
	for range size >> 20 {
		_, err := src.Write(data)
		ok(t, err)
	}
	_, err = src.Seek(0, io.SeekStart)
	ok(t, err)
	done, err := fileio.Copy(t.Context(), dst, src, fileio.CopyOptions{})
	if err != nil || done.Kernel != size {
		t.Errorf("%+v, %v", done, err)
	}
}

func init() {
	scenarios["copy"] = func(root string) (func() error, error) {
		src, err := os.Create(filepath.Join(root, "src"))
		if err != nil {
			return nil, err
		}
		dst, err := os.Create(filepath.Join(root, "dst"))
		if err != nil {
			return nil, err
		}
		if _, err := src.Write(make([]byte, 5000)); err != nil {
			return nil, err
		}
		_, err = src.Seek(0, io.SeekStart)
		return func() error {
			_, err := fileio.Copy(context.Background(), dst, src, fileio.CopyOptions{})
			return err
		}, err
	}
}

// Files that the kernel cannot copy go through memory. An error names both files.
func TestCopyFaults(t *testing.T) {
	const calls = "copy_file_range,read,write"
	tracetest.Need(t, calls)
	for _, c := range []struct {
		inject string
		exit   int
		want   string
	}{
		{"copy_file_range:error=EXDEV", exitOK, ""},
		{"copy_file_range:error=EPERM", exitOK, ""},
		{"copy_file_range:error=ENOSYS", exitOK, ""},
		{"copy_file_range:error=EIO", exitFailed, "input/output error"},
		{"copy_file_range:error=ENOSPC", exitFailed, "no space left"},
		{"copy_file_range:error=EINTR:when=1..2", exitOK, ""},
	} {
		root := t.TempDir()
		tr := traced(t, "copy", root, calls, c.inject)
		if tr.Exit != c.exit || !strings.Contains(tr.Said, c.want) || c.exit == exitFailed && (!strings.Contains(tr.Said, root+"/src") || !strings.Contains(tr.Said, root+"/dst")) {
			t.Errorf("%s: exit %d, %s", c.inject, tr.Exit, tr.Said)
		}
		if c.exit == exitOK {
			holds(t, filepath.Join(root, "dst"), make([]byte, 5000))
		}
	}
}

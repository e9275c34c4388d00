package fileio_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stele-go/stele/fileio"
)

// The methods of zero values fail, and leave standard input open.
func TestZeroValues(t *testing.T) {
	var r fileio.Reader
	var w fileio.Writer
	b := make([]byte, 10)
	for name, call := range map[string]func() error{
		"Reader.Read":        func() error { _, err := r.Read(b); return err },
		"Reader.ReadAt":      func() error { _, err := r.ReadAt(b, 0); return err },
		"Reader.Seek":        func() error { _, err := r.Seek(0, io.SeekEnd); return err },
		"Reader.WriteTo":     func() error { _, err := r.WriteTo(io.Discard); return err },
		"Reader.View":        func() error { return r.View(0, 1, func([]byte) error { return nil }) },
		"Reader.Advise":      func() error { return r.Advise(0, 0, fileio.AdviceWillNeed) },
		"Reader.Size":        func() error { _, err := r.Size(); return err },
		"Reader.Stat":        func() error { _, err := r.Stat(); return err },
		"Reader.Close":       func() error { return r.Close() },
		"Writer.Write":       func() error { _, err := w.Write(b); return err },
		"Writer.Write large": func() error { _, err := w.Write(make([]byte, 1<<20)); return err },
		"Writer.WriteString": func() error { _, err := w.WriteString("text"); return err },
		"Writer.ReadFrom":    func() error { _, err := w.ReadFrom(strings.NewReader("text")); return err },
		"Writer.Flush":       func() error { return w.Flush() },
		"Writer.Sync":        func() error { return w.Sync() },
		"Writer.Commit":      func() error { return w.Commit() },
		"Writer.Err":         func() error { return w.Err() },
		"Writer.Close":       func() error { return w.Close() },
		"Copy":               func() error { _, err := fileio.Copy(context.Background(), nil, nil, fileio.CopyOptions{}); return err },
		"CopyN": func() error {
			_, err := fileio.CopyN(context.Background(), nil, nil, 1, fileio.CopyOptions{})
			return err
		},
		"NewReader": func() error { _, err := fileio.NewReader(nil, fileio.Options{}); return err },
		"NewWriter": func() error { _, err := fileio.NewWriter(nil, fileio.WriterOptions{}); return err },
	} {
		for range 2 {
			if err := call(); !errors.Is(err, fs.ErrInvalid) || !strings.HasPrefix(err.Error(), "fileio: ") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if r.Name() != "" || r.Way() != fileio.Auto || r.Stats().Read.Count() != 0 || w.Offset() != 0 || w.Durable() != 0 || w.Way() != fileio.Auto {
		t.Error("a zero value knows something")
	}
	if _, err := os.Stdin.Stat(); err != nil {
		t.Error("standard input:", err)
	}
}

// A Reader of an open file reads like one of Open, keeps the file's offset, and leaves
// the file open.
func TestNewReader(t *testing.T) {
	want := content(3<<20 + 123)
	eachWay(t, func(t *testing.T, way fileio.Way) {
		f, err := os.Open(fileOf(t, want))
		ok(t, err)
		defer f.Close()
		_, err = f.Seek(100, io.SeekStart)
		ok(t, err)
		r, err := fileio.NewReader(f, fileio.Options{Way: way, Pattern: fileio.Sequential})
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip(err)
		}
		ok(t, err)
		if r.Name() != f.Name() || way != fileio.Auto && r.Way() != way {
			t.Errorf("%s, %v", r.Name(), r.Way())
		}
		var file fs.File = r
		if got, err := io.ReadAll(file); err != nil || !bytes.Equal(got, want[100:]) {
			t.Errorf("read %d bytes of %d, %v", len(got), len(want)-100, err)
		}
		b := make([]byte, 1000)
		if n, err := r.ReadAt(b, 50); n != len(b) || err != nil || !bytes.Equal(b, want[50:1050]) {
			t.Errorf("ReadAt: %d, %v", n, err)
		}
		info, err := file.Stat()
		ok(t, err)
		if info.Size() != int64(len(want)) || info.Name() != filepath.Base(f.Name()) {
			t.Errorf("Stat: %v", info)
		}
		if at, err := f.Seek(0, io.SeekCurrent); at != 100 || err != nil {
			t.Errorf("the file's offset is %d, %v", at, err)
		}
		ok(t, r.Close())
		if _, err := r.Stat(); !errors.Is(err, fs.ErrClosed) {
			t.Error("Stat of a closed Reader:", err)
		}
		if _, err := r.ReadAt(b, 0); !errors.Is(err, fs.ErrClosed) {
			t.Error("ReadAt of a closed Reader:", err)
		}
		if _, err := io.ReadFull(f, b); err != nil || !bytes.Equal(b, want[100:1100]) {
			t.Error("the file of the Reader:", err)
		}
	})
}

// A Reader whose file was closed returns fs.ErrClosed.
func TestNewReaderOfAFileThatIsClosed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("os.File.Stat of a closed file fails there with an invalid handle, not fs.ErrClosed")
	}
	f, err := os.Open(fileOf(t, content(1<<20)))
	ok(t, err)
	r, err := fileio.NewReader(f, fileio.Options{Way: fileio.Buffered})
	ok(t, err)
	ok(t, f.Close())
	for name, call := range map[string]func() error{
		"ReadAt": func() error { _, err := r.ReadAt(make([]byte, 1), 0); return err },
		"Read":   func() error { _, err := r.Read(make([]byte, 1)); return err },
		"Stat":   func() error { _, err := r.Stat(); return err },
	} {
		if err := call(); !errors.Is(err, fs.ErrClosed) || !strings.Contains(err.Error(), f.Name()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = fileio.NewReader(f, fileio.Options{})
	refused(t, err, "reader", f.Name(), fs.ErrClosed)
	_, err = fileio.NewWriter(f, fileio.WriterOptions{})
	refused(t, err, "writer", f.Name(), fs.ErrClosed)
}

// refused fails unless err has the operation, the path and the cause.
func refused(t *testing.T, err error, op, path string, cause error) {
	t.Helper()
	pe, is := errors.AsType[*fs.PathError](err)
	if !is || pe.Op != op || pe.Path != path || cause != nil && !errors.Is(err, cause) {
		t.Errorf("%v; want %s %s: %v", err, op, path, cause)
	}
}

// A file that cannot be read or written is refused at once, by name, and not at the
// first read or flush.
func TestRefusedFiles(t *testing.T) {
	name := fileOf(t, content(10))
	open := func(name string, flags int) *os.File {
		f, err := os.OpenFile(name, flags, 0)
		ok(t, err)
		t.Cleanup(func() { f.Close() })
		return f
	}
	directory := open(t.TempDir(), os.O_RDONLY)
	_, err := fileio.Open(directory.Name(), fileio.Options{})
	refused(t, err, "open", directory.Name(), syscall.EISDIR)
	_, err = fileio.NewWriter(directory, fileio.WriterOptions{})
	refused(t, err, "writer", directory.Name(), syscall.EISDIR)
	if runtime.GOOS != "windows" { // where an open directory differs
		_, err = fileio.NewReader(directory, fileio.Options{})
		refused(t, err, "reader", directory.Name(), syscall.EISDIR)
	}
	r, w, err := os.Pipe()
	ok(t, err)
	defer r.Close()
	defer w.Close()
	if _, err := fileio.NewReader(r, fileio.Options{}); err == nil || runtime.GOOS == "linux" && !strings.Contains(err.Error(), "reader |0: a pipe; want") {
		t.Errorf("a pipe: %v", err)
	}
	if _, err := fileio.NewWriter(w, fileio.WriterOptions{}); err == nil || runtime.GOOS == "linux" && !strings.Contains(err.Error(), "writer |1: a pipe; want") {
		t.Errorf("a pipe: %v", err)
	}
	root, err := os.OpenRoot(filepath.Dir(name))
	ok(t, err)
	defer root.Close()
	if _, err := fileio.NewReader(directory, fileio.Options{Root: root}); err == nil || !strings.HasPrefix(err.Error(), "fileio: Options.Root: ") {
		t.Errorf("a root for a file that is open: %v", err)
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells how a file was opened")
	}
	_, err = fileio.NewWriter(open(name, os.O_RDONLY), fileio.WriterOptions{})
	refused(t, err, "writer", name, syscall.EBADF)
	_, err = fileio.NewReader(open(name, os.O_WRONLY), fileio.Options{})
	refused(t, err, "reader", name, syscall.EBADF)
}

// Names are relative to the root, and lead nowhere outside.
func TestOpenBelowARoot(t *testing.T) {
	dir := t.TempDir()
	want := content(2 << 20)
	ok(t, os.MkdirAll(filepath.Join(dir, "root/sub"), 0o777))
	for _, name := range []string{"secret", "root/sub/file"} {
		ok(t, os.WriteFile(filepath.Join(dir, name), want, 0o666))
	}
	root, err := os.OpenRoot(filepath.Join(dir, "root"))
	ok(t, err)
	defer root.Close()
	eachWay(t, func(t *testing.T, way fileio.Way) {
		r, err := fileio.Open(filepath.Join("sub", "file"), fileio.Options{Root: root, Way: way, Pattern: fileio.Random})
		ok(t, err)
		defer r.Close()
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
			t.Errorf("read %d bytes, %v", len(got), err)
		}
		for _, name := range []string{"", "..", "../secret", "sub/../sub/file", filepath.Join(dir, "secret"), filepath.Join(dir, "root", "sub", "file")} {
			if _, err := fileio.Open(name, fileio.Options{Root: root, Way: way}); err == nil {
				t.Errorf("opened %q", name)
			} else {
				refused(t, err, "open", name, nil)
			}
		}
		_, err = fileio.Open("sub/none", fileio.Options{Root: root, Way: way})
		refused(t, err, "open", "sub/none", fs.ErrNotExist)
	})
	_, err = fileio.Open("sub", fileio.Options{Root: root})
	refused(t, err, "open", "sub", syscall.EISDIR)
	for link, to := range map[string]string{"root/inside": "sub", "root/out": "..", "root/sub/other": "file", "root/sub/secret": "../../secret", "root/abs": filepath.Join(dir, "secret")} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip("symlinks: ", err)
		}
	}
	for _, name := range []string{"inside/file", "out/secret", "sub/other", "sub/secret", "abs"} {
		if _, err := fileio.Open(name, fileio.Options{Root: root}); err == nil {
			t.Errorf("followed a link: %s", name)
		} else {
			refused(t, err, "open", name, nil)
		}
	}
	root.Close()
	if _, err := fileio.Open("sub/file", fileio.Options{Root: root}); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("below a root that is closed: %v", err)
	}
}

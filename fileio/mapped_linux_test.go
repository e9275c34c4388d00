package fileio_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/fileio"
)

var page = os.Getpagesize()

// Calls that reach a part of a mapped file that was truncated fail. Other calls go on.
func TestTruncatedMapping(t *testing.T) {
	want := content(100 * page)
	name := fileOf(t, want)
	r := open(t, name, fileio.Options{Way: fileio.Mapped})
	if err := os.Truncate(name, int64(10*page+100)); err != nil {
		t.Fatal(err)
	}
	at := func(pages int) int64 { return int64(pages * page) }
	truncated := func(what string, err error) {
		t.Helper()
		var pe *fs.PathError
		if !errors.Is(err, fileio.ErrTruncated) || !errors.As(err, &pe) || pe.Path != name {
			t.Errorf("%s: %v; want ErrTruncated", what, err)
		}
	}
	b := make([]byte, 5*page)
	n, err := r.ReadAt(b, at(50))
	if truncated("ReadAt beyond the end", err); n != 0 {
		t.Errorf("read %d bytes", n)
	}
	n, err = r.ReadAt(b, at(8))
	if truncated("ReadAt over the end", err); n != 2*page+100 || !bytes.Equal(b[:n], want[8*page:8*page+n]) {
		t.Errorf("read %d bytes", n)
	}
	if n, err := r.ReadAt(b, 0); n != len(b) || err != nil || !bytes.Equal(b, want[:len(b)]) {
		t.Error("before the end:", n, err)
	}
	r.Seek(at(20), io.SeekStart)
	_, err = r.Read(b)
	truncated("Read", err)
	r.Seek(0, io.SeekStart)
	_, err = r.WriteTo(&bytes.Buffer{})
	truncated("WriteTo", err)

	deferred := false
	truncated("View", r.View(at(9), 3*page, func(b []byte) error {
		defer func() { deferred = true }()
		t.Log(b[2*page])
		t.Error("read what is not there")
		return nil
	}))
	if !deferred {
		t.Error("the deferred call did not run")
	}

	// The rest of the last page is zeros, without an error.
	zeros := make([]byte, page-100)
	if _, err := r.ReadAt(b[:page], at(10)); err != nil || !bytes.Equal(b[:100], want[10*page:10*page+100]) || !bytes.Equal(b[100:page], zeros) {
		t.Error("the last page is not its 100 bytes and zeros:", err)
	}
	if err := r.View(at(10)+100, page-100, func(b []byte) error {
		if !bytes.Equal(b, zeros) {
			t.Error("a view of the last page is not zeros")
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	// Calls of package os that reach it return errors of their own.
	if _, err := r.WriteTo(newFile(t)); err != nil && !errors.Is(err, unix.EFAULT) && !errors.Is(err, fileio.ErrTruncated) {
		t.Error(err)
	}
}

func newFile(t *testing.T) *os.File {
	f, err := os.Create(filepath.Join(t.TempDir(), "new"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// The file shrinks and grows again while many goroutines read it, as when a program
// rewrites it in place: no call crashes, and none hangs.
func TestTruncatedMeanwhile(t *testing.T) {
	want := bytes.Repeat([]byte{1}, 64*page)
	name := fileOf(t, want)
	r := open(t, name, fileio.Options{Way: fileio.Mapped})
	stop := make(chan struct{})
	faults := make(chan int, 4)
	for g := range cap(faults) {
		go func() {
			n := 0
			b := make([]byte, len(want))
			for {
				select {
				case <-stop:
					faults <- n
					return
				default:
				}
				var err error
				if g%2 == 0 {
					_, err = r.ReadAt(b, 0)
				} else {
					err = r.View(0, len(want), func(b []byte) error { _ = sum(b); return nil })
				}
				if err != nil {
					n++
					if !errors.Is(err, fileio.ErrTruncated) {
						t.Error(err)
					}
				}
			}
		}()
	}
	for range 40 {
		if err := os.WriteFile(name, want, 0o600); err != nil { // O_TRUNC
			t.Fatal(err)
		}
	}
	close(stop)
	total := 0
	for range cap(faults) {
		total += <-faults
	}
	t.Logf("%d errors", total)
}

// A fault in other memory is not handled by the Reader, nor is a write to the mapping.
func TestForeignFaults(t *testing.T) {
	name := fileOf(t, content(10*page))
	r := open(t, name, fileio.Options{Way: fileio.Mapped})
	other := newFile(t)
	if err := other.Truncate(int64(page)); err != nil {
		t.Fatal(err)
	}
	mem, err := unix.Mmap(int(other.Fd()), 0, page, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	if err := other.Truncate(0); err != nil {
		t.Fatal(err)
	}
	panics := func(what string, f func(b []byte) error) {
		t.Helper()
		defer func() {
			if _, ok := recover().(runtime.Error); !ok {
				t.Errorf("%s did not panic", what)
			}
			if debug.SetPanicOnFault(false) {
				t.Errorf("%s: SetPanicOnFault was left on", what)
			}
		}()
		t.Errorf("%s: %v", what, r.View(0, page, f))
	}
	panics("a fault in another mapping", func([]byte) error { t.Log(mem[0]); return nil })
	panics("a write", func(b []byte) error { b[0] = 1; return nil })
	panics("an index out of range", func(b []byte) error { t.Log(b[len(b):][0]); return nil })
}

// Each option of a mapping works, whatever its effect in the kernel.
func TestMappingOptions(t *testing.T) {
	want := content(5 << 20)
	name := fileOf(t, want)
	for _, o := range []fileio.Options{
		{Populate: true}, {HugePages: true}, {Populate: true, HugePages: true}, {Prefault: true},
		{Prefault: true, Readahead: 1 << 20}, {Pattern: fileio.Random}, {Pattern: fileio.Sequential}, {Readahead: fileio.ReadaheadOff},
	} {
		o.Way = fileio.Mapped
		var advised atomic.Int64
		o.Trace = func(op fileio.Op) {
			if op.Kind == fileio.OpAdvise {
				advised.Add(1)
			}
		}
		r := open(t, name, o)
		var all bytes.Buffer
		for off := 0; off < len(want); off += 64 << 10 {
			if err := r.View(int64(off), 64<<10, func(b []byte) error { all.Write(b); return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(all.Bytes(), want) {
			t.Errorf("%+v: other bytes", o)
		}
		if advised.Load() == 0 && (o.HugePages || o.Prefault || o.Pattern != 0 || o.Readahead != 0) {
			t.Errorf("%+v: the kernel was told nothing", o)
		}
	}
}

// Populate maps the file: mincore would find it in the page cache in any case,
// so the page faults of reading it are counted.
func TestPopulate(t *testing.T) {
	name := fileOf(t, content(8<<20))
	faults := func(o fileio.Options) int64 {
		r := open(t, name, o)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var before, after unix.Rusage
		unix.Getrusage(unix.RUSAGE_THREAD, &before)
		if err := r.View(0, 8<<20, func(b []byte) error { _ = sum(b); return nil }); err != nil {
			t.Fatal(err)
		}
		unix.Getrusage(unix.RUSAGE_THREAD, &after)
		return after.Minflt - before.Minflt
	}
	for again := 5; ; again-- {
		with, without := faults(fileio.Options{Way: fileio.Mapped, Populate: true}), faults(fileio.Options{Way: fileio.Mapped})
		if with <= 3 && without > with {
			return
		}
		// The thread may have other faults, of a signal or the garbage collector, and pages
		// may be evicted where memory is short.
		if again == 0 {
			t.Fatalf("%d page faults with Populate, %d without", with, without)
		}
	}
}

// A mapped file may have grown since it was opened, and a fault may no longer occur when
// the bytes are read instead: a request beyond the end of the mapping is still served
// whole.
func TestFaultBeforeTheEnd(t *testing.T) {
	want := content(3 * page)
	name := fileOf(t, want)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := open(t, name, fileio.Options{Way: fileio.Mapped})
	if _, err := f.Write(want); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			// Truncated and extended again: the reader may see either.
			if os.Truncate(name, int64(page)) != nil || os.Truncate(name, int64(6*page)) != nil {
				return
			}
		}
	}()
	b := make([]byte, 4*page)
	for range 20_000 {
		n, err := r.ReadAt(b, int64(page))
		if n < len(b) && err == nil {
			t.Errorf("%d bytes and no error", n)
			break
		}
	}
	close(stop)
	<-stopped
}

package fileio_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stele-go/stele/fileio"
)

var ways = []fileio.Way{fileio.Auto, fileio.Buffered, fileio.Mapped, fileio.Direct, fileio.Uncached}

// eachWay runs f for every way that works for a file in dir.
func eachWay(t *testing.T, f func(t *testing.T, w fileio.Way)) {
	for _, w := range ways {
		t.Run(w.String(), func(t *testing.T) {
			r, err := fileio.Open(fileOf(t, content(1)), fileio.Options{Way: w})
			if errors.Is(err, errors.ErrUnsupported) && w != fileio.Auto && w != fileio.Buffered {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			r.Close()
			f(t, w)
		})
	}
}

// content returns n bytes with a long period.
func content(n int) []byte {
	b := make([]byte, n)
	rng := rand.New(rand.NewPCG(uint64(n), 0))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

func fileOf(t testing.TB, b []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func open(t testing.TB, name string, o fileio.Options) *fileio.Reader {
	t.Helper()
	r, err := fileio.Open(name, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// Every way answers the same requests as os.File.
func TestReadAtLikeFile(t *testing.T) {
	sizes := []int{0, 1, 511, 512, 4095, 4096, 4097, 65536, 300_001}
	eachWay(t, func(t *testing.T, w fileio.Way) {
		for _, size := range sizes {
			name := fileOf(t, content(size))
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			r := open(t, name, fileio.Options{Way: w})
			s := int64(size)
			for _, off := range []int64{-1, math.MinInt64, 0, 1, 511, 512, 4095, 4096, 4097, s - 4097, s - 1, s, s + 1, s + 4096, 1 << 40} {
				for _, n := range []int{0, 1, 7, 512, 4096, 5000, size, size + 1, size + 10_000} {
					got, want := make([]byte, n), make([]byte, n)
					gotN, gotErr := r.ReadAt(got, off)
					wantN, wantErr := f.ReadAt(want, off)
					if gotN != wantN || !bytes.Equal(got[:gotN], want[:wantN]) || (gotErr == nil) != (wantErr == nil) || (gotErr == io.EOF) != (wantErr == io.EOF) {
						t.Fatalf("size %d, %d bytes at %d: %d, %v; os.File: %d, %v", size, n, off, gotN, gotErr, wantN, wantErr)
					}
					checkView(t, r, off, n, want[:wantN], wantErr)
				}
			}
		}
	})
}

// checkView makes the same request by View.
func checkView(t *testing.T, r *fileio.Reader, off int64, n int, want []byte, wantErr error) {
	t.Helper()
	var got []byte
	called := false
	err := r.View(off, n, func(b []byte) error {
		called, got = true, bytes.Clone(b)
		if cap(b) != len(b) {
			t.Errorf("a view of %d bytes can be grown to %d", len(b), cap(b))
		}
		return nil
	})
	switch {
	case wantErr == nil:
		if err != nil || !called || !bytes.Equal(got, want) {
			t.Fatalf("a view of %d bytes at %d: %v, called %v, right %v", n, off, err, called, bytes.Equal(got, want))
		}
	case called || err == nil:
		t.Fatalf("a view of %d bytes at %d, of which %d are there: %v, called %v", n, off, len(want), err, called)
	case wantErr == io.EOF && len(want) == 0 && err != io.EOF, wantErr == io.EOF && len(want) > 0 && err != io.ErrUnexpectedEOF:
		t.Fatalf("a view of %d bytes at %d, of which %d are there: %v", n, off, len(want), err)
	}
}

func TestHugeOffsets(t *testing.T) {
	eachWay(t, func(t *testing.T, w fileio.Way) {
		r := open(t, fileOf(t, content(10_000)), fileio.Options{Way: w})
		for _, off := range []int64{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 - 4096, math.MaxInt64 - 8191, 1 << 62} {
			if n, err := r.ReadAt(make([]byte, 4096), off); n != 0 || err != io.EOF {
				t.Errorf("at %d: %d, %v; want io.EOF", off, n, err)
			}
			if err := r.View(off, 4096, func([]byte) error { panic("called") }); err != io.EOF {
				t.Errorf("a view at %d: %v; want io.EOF", off, err)
			}
		}
		// No memory is allocated for bytes beyond the end.
		if err := r.View(1, math.MaxInt, func([]byte) error { panic("called") }); err != io.EOF && err != io.ErrUnexpectedEOF {
			t.Error(err)
		}
		if err := r.View(1, 1<<40, func([]byte) error { panic("called") }); err != io.ErrUnexpectedEOF {
			t.Error(err)
		}
		if err := r.View(0, -1, func([]byte) error { panic("called") }); err == nil {
			t.Error("a view of -1 bytes")
		}
	})
}

func TestStream(t *testing.T) {
	short, want := content(1_000), content(300_001)
	eachWay(t, func(t *testing.T, w fileio.Way) {
		shortName, name := fileOf(t, short), fileOf(t, want)
		for _, size := range []int{0, 1, 4096, 5000, 1 << 20} {
			o := fileio.Options{Way: w, BufferSize: size}
			// It calls View for each range of the file.
			if err := iotest.TestReader(open(t, shortName, o), short); err != nil {
				t.Errorf("a buffer of %d bytes: %v", size, err)
			}
			r := open(t, name, o)
			if _, err := r.Seek(5, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(r, make([]byte, 10)); err != nil {
				t.Fatal(err)
			}
			var all bytes.Buffer
			if n, err := io.Copy(&all, r); n != int64(len(want)-15) || err != nil || !bytes.Equal(all.Bytes(), want[15:]) {
				t.Errorf("a buffer of %d bytes: copied %d, %v", size, n, err)
			}
		}
	})
}

func TestWriteToThatFails(t *testing.T) {
	eachWay(t, func(t *testing.T, w fileio.Way) {
		r := open(t, fileOf(t, content(10_000)), fileio.Options{Way: w})
		why := errors.New("full")
		if n, err := r.WriteTo(failing{100, why}); n != 100 || err != why {
			t.Fatalf("%d, %v", n, err)
		}
		if at, err := r.Seek(0, io.SeekCurrent); at != 100 || err != nil {
			t.Errorf("the position is %d, %v; want 100", at, err)
		}
		if n, err := r.WriteTo(failing{7, nil}); n != 7 || err != io.ErrShortWrite {
			t.Errorf("%d, %v; want a short write", n, err)
		}
	})
}

// failing writes n bytes, and then returns an error.
type failing struct {
	n   int
	why error
}

func (f failing) Write(p []byte) (int, error) { return min(f.n, len(p)), f.why }

func TestSeekRefuses(t *testing.T) {
	r := open(t, fileOf(t, content(100)), fileio.Options{})
	for _, c := range []struct {
		off    int64
		whence int
	}{{-1, io.SeekStart}, {-101, io.SeekEnd}, {math.MaxInt64, io.SeekEnd}, {0, 3}, {-1, io.SeekCurrent}} {
		if at, err := r.Seek(c.off, c.whence); err == nil {
			t.Errorf("Seek(%d, %d) is %d", c.off, c.whence, at)
		}
	}
}

// Every way reads bytes appended later.
func TestGrowing(t *testing.T) {
	eachWay(t, func(t *testing.T, w fileio.Way) {
		want := content(20_000)
		name := fileOf(t, want[:5000])
		r := open(t, name, fileio.Options{Way: w})
		if b, err := io.ReadAll(r); err != nil || !bytes.Equal(b, want[:5000]) {
			t.Fatal(len(b), err)
		}
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.Write(want[5000:]); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, len(want))
		if n, err := r.ReadAt(b, 0); n != len(b) || err != nil || !bytes.Equal(b, want) {
			t.Error(n, err)
		}
		if b, err := io.ReadAll(r); err != nil || !bytes.Equal(b, want[5000:]) {
			t.Error(len(b), err)
		}
		if err := r.View(4000, 5000, func(b []byte) error {
			if !bytes.Equal(b, want[4000:9000]) {
				t.Error("a view over the old end has other bytes")
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		if n, err := r.Size(); n != 20_000 || err != nil {
			t.Error(n, err)
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	name := fileOf(t, content(10))
	for _, o := range []fileio.Options{
		{Way: 9}, {BufferSize: -1}, {BufferSize: 1<<30 + 1}, {Readahead: 5}, {Readahead: -3}, {Readahead: 1 << 30},
		{Pattern: fileio.Backward}, {Way: fileio.Buffered, Populate: true}, {Way: fileio.Direct, HugePages: true},
		{OneMount: true}, {Prefault: true, Readahead: fileio.ReadaheadKernel}, {Way: fileio.Direct, Readahead: 1 << 20},
	} {
		if r, err := fileio.Open(name, o); err == nil || !strings.HasPrefix(err.Error(), "fileio: Options.") || !strings.Contains(err.Error(), "; want ") {
			t.Errorf("%+v: %v, %v", o, r, err)
		}
	}
	for _, w := range ways {
		if _, err := fileio.Open(filepath.Join(t.TempDir(), "none"), fileio.Options{Way: w}); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%v of nothing: %v", w, err)
		}
		if _, err := fileio.Open(t.TempDir(), fileio.Options{Way: w}); err == nil {
			t.Errorf("%v of a directory", w)
		}
	}
}

// View returns the error of f unchanged, and passes on its panics.
func TestViewPassesOn(t *testing.T) {
	eachWay(t, func(t *testing.T, w fileio.Way) {
		r := open(t, fileOf(t, content(10_000)), fileio.Options{Way: w})
		why := errors.New("why")
		if err := r.View(0, 10, func([]byte) error { return why }); err != why {
			t.Error(err)
		}
		for _, v := range []any{"mine", why} {
			func() {
				defer func() {
					if got := recover(); got != v {
						t.Errorf("recovered %v; want %v", got, v)
					}
				}()
				r.View(0, 10, func([]byte) error { panic(v) })
			}()
		}
		func() {
			defer func() {
				if _, ok := recover().(runtime.Error); !ok {
					t.Error("a nil pointer was swallowed")
				}
			}()
			var nowhere *int
			r.View(0, 10, func([]byte) error { *nowhere = 1; return nil })
		}()
		done := make(chan bool)
		go func() {
			defer close(done)
			r.View(0, 10, func([]byte) error { runtime.Goexit(); return nil })
		}()
		<-done
		traced := open(t, r.Name(), fileio.Options{Way: w, Trace: func(op fileio.Op) {
			if op.Kind == fileio.OpRead {
				panic("trace")
			}
		}})
		func() {
			defer func() { recover() }()
			traced.ReadAt(make([]byte, 10), 0)
		}()
		if err := traced.Close(); err != nil { // would wait for the read
			t.Error(err)
		}
		if err := r.Close(); err != nil { // would wait if a View had not ended
			t.Error(err)
		}
	})
}

func TestTrace(t *testing.T) {
	eachWay(t, func(t *testing.T, w fileio.Way) {
		var ops []fileio.Op
		name := fileOf(t, content(10_000))
		r, err := fileio.Open(name, fileio.Options{Way: w, Trace: func(op fileio.Op) { ops = append(ops, op) }})
		if err != nil {
			t.Fatal(err)
		}
		r.ReadAt(make([]byte, 5000), 7000)
		r.View(100, 200, func([]byte) error { return nil })
		r.Advise(0, 300, fileio.AdviceWillNeed)
		r.Close()
		var kinds []fileio.OpKind
		for _, op := range ops {
			kinds = append(kinds, op.Kind)
			if op.Name != name || op.Start.IsZero() || op.Duration < 0 {
				t.Errorf("%+v", op)
			}
			if op.Kind == fileio.OpRead && op.Offset == 7000 && (op.Bytes != 3000 || op.Err != io.EOF) {
				t.Errorf("%+v", op)
			}
		}
		view := fileio.OpRead
		if r.Way() == fileio.Mapped {
			view = fileio.OpView
		}
		want := []fileio.OpKind{fileio.OpOpen, fileio.OpRead, view, fileio.OpAdvise, fileio.OpClose}
		if r.Way() == fileio.Direct {
			want = slices.Delete(want, 3, 4)
		}
		if !slices.Equal(kinds, want) {
			t.Errorf("%v; want %v", kinds, want)
		}
		ops = nil
		if _, err := fileio.Open(name+"x", fileio.Options{Trace: func(op fileio.Op) { ops = append(ops, op) }}); len(ops) != 1 || ops[0].Err != err {
			t.Errorf("%v, %+v", err, ops)
		}
	})
}

func TestNames(t *testing.T) {
	for _, w := range ways {
		if got, err := fileio.ParseWay(w.String()); got != w || err != nil {
			t.Errorf("%v is read as %v, %v", w, got, err)
		}
	}
	if _, err := fileio.ParseWay("sideways"); err == nil {
		t.Error("an unknown way was accepted")
	}
	for _, c := range []struct {
		v    fmt.Stringer
		want string
	}{
		{fileio.Strided, "strided"}, {fileio.Pattern(9), "Pattern(9)"}, {fileio.Way(9), "Way(9)"},
		{fileio.AdviceDontNeed, "don't need"}, {fileio.Advice(9), "Advice(9)"},
	} {
		if got := c.v.String(); got != c.want {
			t.Errorf("%q; want %q", got, c.want)
		}
	}
}

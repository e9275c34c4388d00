package uring

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/testseed"
)

func newTestRing(t *testing.T, depth int) *Ring {
	t.Helper()
	if err := Probe(); err != nil {
		t.Skip(err)
	}
	r, err := New(depth)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	})
	return r
}

// one does a single request.
func one(t *testing.T, r *Ring, q Request) Completion {
	t.Helper()
	if err := r.Push(q); err != nil {
		t.Fatal(err)
	}
	done := make([]Completion, 1)
	if n, err := r.Wait(done, 1); n != 1 || err != nil {
		t.Fatalf("%d results, %v", n, err)
	}
	return done[0]
}

func randomFile(t *testing.T, size int, seed uint64) (*os.File, []byte) {
	t.Helper()
	data := make([]byte, size)
	rng := rand.NewChaCha8([32]byte{byte(seed)})
	rng.Read(data)
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, data
}

// Random requests, many in flight, give what pread(2) gives; several rings
// work on one file at a time.
func TestReadsAsPread(t *testing.T) {
	seed := testseed.Of(t)
	const size = 1<<20 + 333
	f, data := randomFile(t, size, seed)
	var wg sync.WaitGroup
	for k := range 3 {
		r := newTestRing(t, 7+k) // a depth that is no power of two
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(k)))
			fixed := make([]byte, 64<<10)
			withFixed := r.RegisterBuffers([][]byte{make([]byte, 4096), fixed}) == nil
			fixedFree := withFixed
			requests := map[uint64]Request{}
			check := func(d Completion) {
				q := requests[d.Tag]
				delete(requests, d.Tag)
				if q.Op == ReadFixed {
					fixedFree = true
				}
				if q.Op == Nop || q.Op == Fdatasync {
					if d.N != 0 || d.Err != nil {
						t.Errorf("%v gave %d, %v", q.Op, d.N, d.Err)
					}
					return
				}
				want := data[min(q.Offset, size):min(q.Offset+int64(len(q.Buf)), size)]
				if d.Err != nil || !bytes.Equal(q.Buf[:d.N], want) {
					t.Errorf("%v of %d bytes at %d gave %d, %v", q.Op, len(q.Buf), q.Offset, d.N, d.Err)
				}
			}
			done := make([]Completion, 5)
			for i := range uint64(3000) {
				q := Request{Tag: i, Op: Read, File: f, Offset: rng.Int64N(size + 5000), Buf: make([]byte, rng.IntN(20_000))}
				switch rng.IntN(10) {
				case 0:
					q.Op = Nop
				case 1:
					q.Op = Fdatasync
				case 2, 3:
					if fixedFree {
						q.Op, q.Fixed, fixedFree = ReadFixed, 1, false
						off := rng.IntN(len(fixed))
						q.Buf = fixed[off : off+1+rng.IntN(len(fixed)-off)]
					}
				}
				requests[i] = q
				err := r.Push(q)
				for errors.Is(err, ErrFull) {
					if r.InFlight() != r.Depth() {
						t.Errorf("full with %d of %d in flight", r.InFlight(), r.Depth())
					}
					n, werr := r.Wait(done, 1+rng.IntN(7))
					if werr != nil || n < 1 {
						t.Errorf("waiting gave %d, %v", n, werr)
						return
					}
					for _, d := range done[:n] {
						check(d)
					}
					err = r.Push(q)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
			for r.InFlight() > 0 {
				n, err := r.Wait(done, 1000) // more than there can be
				if err != nil || n == 0 {
					t.Errorf("the rest gave %d, %v", n, err)
					return
				}
				for _, d := range done[:n] {
					check(d)
				}
			}
			if len(requests) != 0 {
				t.Errorf("%d requests were never answered", len(requests))
			}
		})
	}
	wg.Wait()
}

func TestWrites(t *testing.T) {
	r := newTestRing(t, 4)
	f, want := randomFile(t, 100_000, 1)
	fixed := bytes.Repeat([]byte("f"), 8192)
	if err := r.RegisterBuffers([][]byte{fixed}); err != nil {
		t.Logf("no registered buffers: %v", err)
		fixed = nil
	}
	if err := r.RegisterBuffers([][]byte{fixed}); fixed != nil && err == nil {
		t.Error("buffers were registered twice")
	}
	if err := newTestRing(t, 1).RegisterBuffers([][]byte{fixed, nil}); err == nil {
		t.Error("an empty buffer was registered")
	}
	mapped, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mapped)
	copy(mapped, "memory that is not Go's")
	queue := []Request{
		{Op: Write, File: f, Offset: 10, Buf: []byte("ten")},
		{Op: Write, File: f, Offset: 99_998, Buf: []byte("longer than it was"), Durable: true},
		{Op: Write, File: f, Offset: 50_000, Buf: mapped},
	}
	if fixed != nil {
		queue = append(queue, Request{Op: WriteFixed, File: f, Offset: 20_000, Buf: fixed[100:8000]})
	}
	for i, q := range queue {
		q.Tag = uint64(i)
		if err := r.Push(q); err != nil {
			t.Fatal(err)
		}
		end := int(q.Offset) + len(q.Buf)
		want = append(want, make([]byte, max(0, end-len(want)))...)
		copy(want[q.Offset:], q.Buf)
	}
	done := make([]Completion, 8)
	n, err := r.Wait(done, len(queue))
	if n != len(queue) || err != nil {
		t.Fatalf("%d of %d writes ended, %v", n, len(queue), err)
	}
	for _, d := range done[:n] {
		if d.Err != nil || d.N != len(queue[d.Tag].Buf) {
			t.Errorf("write %d: %d, %v", d.Tag, d.N, d.Err)
		}
	}
	if d := one(t, r, Request{Op: Fdatasync, File: f}); d.Err != nil {
		t.Error(d.Err)
	}
	if got, err := os.ReadFile(f.Name()); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the file does not hold what was written (%v)", err)
	}
}

func TestTellsErrors(t *testing.T) {
	r := newTestRing(t, 2)
	f, _ := randomFile(t, 10, 1)
	w, err := os.OpenFile(f.Name(), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	d := one(t, r, Request{Op: Read, File: w, Buf: make([]byte, 4), Tag: 7})
	var path *os.PathError
	if !errors.Is(d.Err, unix.EBADF) || !errors.As(d.Err, &path) || path.Path != f.Name() || d.Tag != 7 {
		t.Errorf("reading a file that is open for writing gave %+v", d)
	}
	for _, q := range []Request{{Op: 99, File: f}, {Op: Read}} {
		if err := r.Push(q); err == nil {
			t.Errorf("%+v was taken", q)
		}
	}
	for range 2 {
		if err := r.Push(Request{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Push(Request{}); !errors.Is(err, ErrFull) {
		t.Errorf("a third request in a ring of two gave %v", err)
	}
	done := make([]Completion, 3)
	if n, err := r.Wait(done, 3); n != 2 || err != nil {
		t.Errorf("waiting for three of two gave %d, %v", n, err)
	}
	if n, err := r.Wait(done, 3); n != 0 || err != nil {
		t.Errorf("waiting on an empty ring gave %d, %v", n, err)
	}
	for _, depth := range []int{0, -1, 1 << 20} {
		if _, err := New(depth); err == nil || errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("a ring of %d gave %v", depth, err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Wait(done, 1); !errors.Is(err, os.ErrClosed) {
		t.Errorf("waiting on a closed ring gave %v", err)
	}
	if err := errors.Join(r.Push(Request{}), r.RegisterBuffers(nil), r.Close()); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a closed ring gave %v", err)
	}
}

// A transfer that comes in pieces is one request, whatever signals arrive.
func TestGoesOnAfterAShortRead(t *testing.T) {
	r := newTestRing(t, 1)
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	buf := make([]byte, 10)
	if err := r.Push(Request{Op: Read, File: in, Buf: buf}); err != nil {
		t.Fatal(err)
	}
	go func() {
		for _, s := range []string{"four", "six6"} {
			for range 20 { // the wait is interrupted again and again
				time.Sleep(time.Millisecond)
				unix.Kill(unix.Getpid(), unix.SIGURG) // Go's own preemption signal, which may come at any time
			}
			io.WriteString(out, s)
		}
		time.Sleep(10 * time.Millisecond)
		out.Close()
	}()
	done := make([]Completion, 1)
	n, err := r.Wait(done, 1)
	if errors.Is(done[0].Err, unix.EAGAIN) {
		t.Skip("before Linux 6.4 a ring does not wait for a pipe that does not block")
	}
	if n != 1 || err != nil || done[0].N != 8 || done[0].Err != nil || string(buf[:8]) != "foursix6" {
		t.Errorf("got %d results, %v, %+v, %q: want 8 bytes and the end of the pipe", n, err, done[0], buf)
	}
}

// Close ends while requests are in flight: some never begun, some that would
// wait for ever, some on their way from the disk. Nothing is left behind.
func TestCloseInFlight(t *testing.T) {
	newTestRing(t, 1)
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	f, data := randomFile(t, 1<<20, 1)
	before := openFiles(t)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := range 50 {
			r, err := New(8)
			if err != nil {
				t.Error(err)
				return
			}
			push := func(q Request) {
				if err := r.Push(q); err != nil {
					t.Error(err)
				}
			}
			push(Request{Op: Read, File: in, Buf: make([]byte, 8)})
			for k := range 5 {
				push(Request{Op: Read, File: f, Buf: make([]byte, 64<<10), Offset: int64(k) << 16})
			}
			done := make([]Completion, 1)
			if i%2 == 0 { // else nothing was handed to the kernel
				if n, err := r.Wait(done, 1); n != 1 || err != nil {
					t.Errorf("%d, %v", n, err)
				}
			}
			push(Request{Op: Read, File: f, Buf: make([]byte, 8)}) // never begun
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	}()
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		t.Fatal("Close waits for a pipe that nobody writes to")
	}
	// The kernel frees a closed ring after the descriptor.
	if now := openFiles(t); now > before {
		t.Errorf("%d descriptors are open, there were %d", now, before)
	}
	if maps, err := os.ReadFile("/proc/self/maps"); err != nil || strings.Count(string(maps), "io_uring") > 2 { // newTestRing's own
		t.Errorf("rings are still mapped (%v)", err)
	}
	if got := make([]byte, len(data)); len(data) > 0 {
		if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, data) {
			t.Errorf("the file has changed (%v)", err)
		}
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(list)
}

// The error of an unavailable io_uring says why, and what to change.
func TestUnavailableSaysWhy(t *testing.T) {
	for _, c := range []struct {
		errno    unix.Errno
		disabled string
		want     string
	}{
		{unix.ENOSYS, "", "this kernel has none"},
		{unix.EPERM, "2", "is 2, which"},
		{unix.EPERM, "1", "io_uring_group"},
		{unix.EPERM, "0", "seccomp"},
		{unix.EPERM, "", "seccomp"},
		{unix.ENOMEM, "0", "RLIMIT_MEMLOCK"},
	} {
		err := unavailable(c.errno, c.disabled)
		if !errors.Is(err, errors.ErrUnsupported) || !errors.Is(err, c.errno) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, %q: %v", c.errno, c.disabled, err)
		}
	}
	if err := unavailable(unix.EMFILE, "0"); errors.Is(err, errors.ErrUnsupported) || !errors.Is(err, unix.EMFILE) {
		t.Errorf("no descriptor left: %v", err)
	}
}

// What one request costs beside the system call: run with -bench Ring.
func BenchmarkRing(b *testing.B) {
	r, err := New(32)
	if err != nil {
		b.Skip(err)
	}
	defer r.Close()
	f, err := os.Open("uring_linux.go")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	bufs := make([][]byte, r.Depth())
	for i := range bufs {
		bufs[i] = make([]byte, 4096)
	}
	done := make([]Completion, r.Depth())
	b.ReportAllocs()
	for i := 0; b.Loop(); i += r.Depth() {
		for k := range bufs {
			if err := r.Push(Request{Op: Read, File: f, Buf: bufs[k]}); err != nil {
				b.Fatal(err)
			}
		}
		if n, err := r.Wait(done, r.Depth()); n != r.Depth() || err != nil {
			b.Fatal(n, err)
		}
	}
}

// A request of a file that is closed before it is handed in never reaches the
// file that has its number by then.
func TestReachesNoStranger(t *testing.T) {
	r := newTestRing(t, 4)
	dir := t.TempDir()
	create := func(name string) *os.File {
		t.Helper()
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	ours, other := create("ours"), create("other")
	number := ours.Fd()
	for i, f := range []*os.File{other, ours, ours, other} {
		if err := r.Push(Request{Op: Write, File: f, Buf: []byte("text"), Tag: uint64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := ours.Close(); err != nil {
		t.Fatal(err)
	}
	var strangers []*os.File
	for i := range 3 {
		strangers = append(strangers, create(fmt.Sprint("stranger", i)))
	}
	done := make([]Completion, 4)
	if n, err := r.Wait(done, 4); n != 4 || err != nil {
		t.Fatal(n, err)
	}
	for _, d := range done {
		if closed := d.Tag == 1 || d.Tag == 2; closed != errors.Is(d.Err, unix.EBADF) {
			t.Errorf("%+v", d)
		}
	}
	met := false
	for _, f := range strangers {
		met = met || f.Fd() == number
		if info, err := f.Stat(); err != nil || info.Size() != 0 {
			t.Errorf("%s has %d bytes, %v", f.Name(), info.Size(), err)
		}
	}
	t.Logf("a stranger had the number: %v", met)
	if b, err := os.ReadFile(other.Name()); err != nil || string(b) != "text" {
		t.Errorf("the open file has %q, %v", b, err)
	}
}

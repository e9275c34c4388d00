package iojob

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/job"
)

// A stalling target answers at once, and stalls once.
type stalling struct {
	mu    sync.Mutex
	n, at int
	stall time.Duration
}

func (s *stalling) ReadAt(p []byte, _ int64) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n++; s.n == s.at {
		time.Sleep(s.stall)
	}
	return len(p), nil
}

func (s *stalling) WriteAt(p []byte, off int64) (int, error) { return s.ReadAt(p, off) }
func (s *stalling) Sync() error                              { return nil }

// blockOf runs a block of a job in this process.
func blockOf(t *testing.T, j Job, ops int64, f func(b *lab.B) error) run.Block {
	t.Helper()
	e := lab.Experiment{Suite: "io", Name: "test", Variants: []lab.Variant{{Name: j.Name, Promise: job.NothingWritten(), Run: f}}}
	b, err := lab.RunOnce(t.Context(), &e, &e.Variants[0], t.TempDir(), ops, 1)
	if b.Unsupported {
		t.Skip(b.Error)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A stall of 200 ms delays the operations that arrive meanwhile. An open model shows
// it in the latency of each of them; a closed one shows one slow operation, since the
// others are not even started (coordinated omission).
func TestOpenModelShowsAStall(t *testing.T) {
	const ops, stall = 1000, 200 * time.Millisecond
	for _, law := range []string{poissonLaw, fixedLaw} {
		j := of(t, "rate=1000 arrivals="+law) // the stall covers 200 of the 1000
		on := &stalling{at: 300, stall: stall}
		b := blockOf(t, j, ops, func(b *lab.B) error { return runThreads(b, &j, on) })
		if p99 := time.Duration(b.Latency.Quantile(0.99)); p99 < stall/2 {
			t.Errorf("open model (%s): p99 is %v; want more than half of the stall of %v", law, p99, stall)
		}
		if b.Response == 0 || b.PerOp() < float64(stall)/20 {
			t.Errorf("open model (%s): the mean latency is %v; the stall alone makes it %v", law, time.Duration(b.PerOp()), stall/10)
		}
		if b.Ops != ops || b.Wall < run.Nanos(ops*time.Millisecond/2) {
			t.Errorf("open model (%s): %d operations in %v; want %d in about a second", law, b.Ops, time.Duration(b.Wall), ops)
		}
	}
	j := of(t, "")
	on := &stalling{at: 300, stall: stall}
	b := blockOf(t, j, ops, func(b *lab.B) error { return runThreads(b, &j, on) })
	if p99 := time.Duration(b.Latency.Quantile(0.99)); p99 >= stall/2 {
		t.Errorf("closed model: p99 is %v, and one operation of %d stalled", p99, ops)
	}
	if b.Response != 0 {
		t.Errorf("closed model: a response time of %v", time.Duration(b.Response))
	}
}

// Each engine does as many operations as it is told and moves as many bytes, and
// writes stay in the file.
func TestEngines(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs io_uring and fdatasync")
	}
	dir, err := os.MkdirTemp("/var/tmp", "iojob") // TMPDIR may be in memory, where nothing is direct
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	jobs := []Job{{Size: 1 << 20}, {Size: 1 << 20}, {Size: 64 << 10}}
	var last, whole int64
	if err := Layout(t.Context(), dir, jobs, func(done, of int64) { last, whole = done, of }); err != nil {
		t.Fatal(err)
	}
	if last != whole || whole != 1<<20+64<<10 {
		t.Errorf("progress ends at %d of %d", last, whole)
	}
	path := filepath.Join(dir, fileName(1<<20))
	for _, settings := range []string{
		"rw=randread", "rw=randread cache=cold", "rw=randread direct=1", "rw=randread direct=1 depth=4", "rw=read depth=8 threads=2",
		"rw=write fsync=1", "rw=randwrite sync=fdatasync fsync=3 depth=4", "rw=randwrite fsync=2 depth=4", "rw=randwrite sync=o_dsync", "rw=randrw=50 threads=2 block=4k:1,8k:1",
		"rw=randread depth=4 rate=5000", "rw=randread direct=1 depth=2 threads=2 rate=4000 arrivals=fixed",
		"rw=randread engine=uring-poll direct=1",
		"rw=randread engine=mmap", "rw=read engine=mmap cache=cold", "rw=randrw=50 engine=mmap threads=2 fsync=2", "rw=randread engine=mmap rate=5000",
	} {
		t.Run(settings, func(t *testing.T) {
			j := of(t, settings+" size=1M")
			if err := j.check(); err != nil {
				t.Fatal(err)
			}
			const ops = 97
			b := blockOf(t, j, ops, func(b *lab.B) error { return runJob(b, &j, path) })
			if b.Ops != ops || b.Latency.Count() != ops {
				t.Errorf("%d operations, %d latencies; want %d", b.Ops, b.Latency.Count(), ops)
			}
			size := b.Metrics["bytes_per_second"] * time.Duration(b.Wall).Seconds() / ops
			if size < 4095 || size > 8192 {
				t.Errorf("%v bytes an operation", size)
			}
			if (b.Response > 0) != j.open() {
				t.Errorf("a response time of %d ns", b.Response)
			}
			if _, split := b.Metrics["read_mean_ns"]; split != (j.reads() && j.writes()) {
				t.Errorf("metrics %v", b.Metrics)
			}
		})
	}
	if st, err := os.Stat(path); err != nil || st.Size() != 1<<20 {
		t.Errorf("the file has %v bytes, %v", st, err)
	}
}

// Copies to a mapping reach the file, and a fault is an error of the operation.
func TestMapped(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs mmap")
	}
	const page = 4096
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(8 * page); err != nil {
		t.Fatal(err)
	}
	j := of(t, "rw=randrw=50 engine=mmap size=32k")
	m, unmap, err := mapFile(&j, f)
	if err != nil {
		t.Fatal(err)
	}
	want, got := []byte(strings.Repeat("x", page)), make([]byte, page)
	if n, err := m.WriteAt(want, 2*page); n != page || err != nil {
		t.Errorf("wrote %d bytes, %v", n, err)
	}
	if n, err := f.ReadAt(got, 2*page); string(got) != string(want) {
		t.Errorf("the file has %q..., %d bytes, %v", got[:9], n, err)
	}
	clear(got)
	if n, err := m.ReadAt(got, 2*page); n != page || err != nil || string(got) != string(want) {
		t.Errorf("read %d bytes, %v", n, err)
	}
	if err := errors.Join(m.Sync(), f.Truncate(page)); err != nil {
		t.Fatal(err)
	}
	if _, err := m.ReadAt(got, 2*page); err == nil || !strings.Contains(err.Error(), "read at offset 8192 of a mapping") {
		t.Errorf("a page that is gone is read: %v", err)
	}
	if _, err := m.WriteAt(want, 2*page); err == nil {
		t.Error("a page that is gone is written")
	}
	if err := unmap(); err != nil {
		t.Error(err)
	}
}

// A job that appends begins with an empty file for each thread, which starts anew at its
// size.
func TestAppends(t *testing.T) {
	j := of(t, "rw=append size=64k block=4k threads=2 fsync=3")
	if err := j.check(); err != nil {
		t.Fatal(err)
	}
	var dir string
	b := blockOf(t, j, 80, func(b *lab.B) error {
		dir = b.Dir
		return runAppends(b, &j)
	})
	if b.Ops != 80 || b.Parallel != 2 {
		t.Errorf("%d operations, %d at a time; want 80, 2", b.Ops, b.Parallel)
	}
	for _, name := range []string{"grows-0", "grows-1"} {
		// 40 blocks: 16, 16 and 8.
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Size() != 32<<10 {
			t.Errorf("%s: %+v, %v; want 32768 bytes", name, st, err)
		}
	}
	s := Spec{Jobs: []Job{j}}
	e, err := s.Experiment()
	if err != nil || e.Stateless || !strings.Contains(e.Variants[0].Doc, "appends of 4 KiB") {
		t.Errorf("%+v, %v; want an experiment whose ways do equal work", e, err)
	}
	if b, err := lab.RunOnce(t.Context(), &e, &e.Variants[0], t.TempDir(), 4, 1); err != nil || b.Ops != 4 {
		t.Errorf("%d operations, %v", b.Ops, err)
	}
	if err := Layout(t.Context(), t.TempDir(), []Job{j}, func(int64, int64) { t.Error("a file is laid out for a job that makes its own") }); err != nil {
		t.Error(err)
	}
}

func TestLayoutEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	err := Layout(ctx, t.TempDir(), []Job{{Size: 1 << 30}}, func(done, of int64) { cancel(stop) })
	if !errors.Is(err, stop) {
		t.Errorf("%v, want that it was stopped", err)
	}
	if runtime.GOOS != "linux" {
		return
	}
	if err := Layout(t.Context(), t.TempDir(), []Job{{Size: 1 << 60}}, nil); err == nil || !strings.Contains(err.Error(), "free") {
		t.Errorf("a file larger than any disk: %v", err)
	}
}

// A block uses the file of the nearest place above it.
func TestSpecPath(t *testing.T) {
	s := Spec{Dirs: map[string]string{"/a": "/a/x", "/a/b": "/a/b/y"}}
	j := New()
	for dir, want := range map[string]string{"/a/w/1": "/a/x", "/a/b/w": "/a/b/y", "/a/bc/w": "/a/x"} {
		if got, err := s.path(dir, &j); err != nil || filepath.Dir(got) != filepath.FromSlash(want) {
			t.Errorf("%s: %s, %v; want %s", dir, got, err, want)
		}
	}
	if _, err := s.path("/c", &j); err == nil {
		t.Error("a directory in no place is no error")
	}
	s.File = "/dev/x"
	if got, _ := s.path("/c", &j); got != s.File {
		t.Error(got)
	}
}

func TestFromEnv(t *testing.T) {
	j := New()
	j.Name = "a"
	k := of(t, "rw=randwrite fsync=1")
	want, err := Spec{Jobs: []Job{j, k}, Ops: 5, File: "f"}.Experiment()
	if err != nil {
		t.Fatal(err)
	}
	key, value, _ := strings.Cut(want.Env[0], "=")
	t.Setenv(key, value)
	got, ok, err := FromEnv()
	if err != nil || !ok || got.ID() != want.ID() || len(got.Variants) != 2 || got.Ops != 5 || got.Variants[1].Name != "j" {
		t.Errorf("%+v, %v, %v", got, ok, err)
	}
	t.Setenv(key, "{")
	if _, ok, err := FromEnv(); !ok || err == nil {
		t.Error("a damaged variable is no error")
	}
}

package newfile_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/filetest"
	"github.com/stele-go/stele/newfile"
)

func openQueue(t testing.TB, d *newfile.Dir, o newfile.QueueOptions) *newfile.Queue {
	t.Helper()
	q, err := newfile.NewQueue(d, o)
	must(t, err)
	t.Cleanup(func() { q.Close() })
	return q
}

func TestQueue(t *testing.T) {
	levels(t, func(t *testing.T, l durability.Level) {
		d, dir := open(t, newfile.Options{Level: l, Shards: 16})
		q := openQueue(t, d, newfile.QueueOptions{Capacity: 8})
		var wg sync.WaitGroup
		for g := range 16 {
			wg.Go(func() {
				for i := range 20 {
					name := fmt.Sprintf("%d-%d", g, i)
					f, err := q.Create(t.Context(), name)
					if err != nil {
						t.Error(err)
						return
					}
					if _, err := f.WriteString(name); err != nil || f.Name() != d.Path(name) {
						t.Errorf("%s: %v", f.Name(), err)
					}
					f.Close()
				}
			})
		}
		wg.Wait()
		_, err := q.Create(t.Context(), "0-0")
		wantErr(t, err, fs.ErrExist, d.Path("0-0"))
		s := q.Stats()
		if s.Queued != 0 || s.Answered != 321 || s.Failed != 1 || s.Abandoned != 0 || s.Batches > 321 {
			t.Errorf("%+v", s)
		}
		if n := countFiles(t, dir); n != 320 {
			t.Errorf("%d files, want 320", n)
		}
	})
}

func TestQueueRequests(t *testing.T) {
	d, _ := open(t, kill)
	q := openQueue(t, d, newfile.QueueOptions{Perm: 0o640})
	done := make(chan error, 1)
	answer := func(f *os.File, err error) {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
		done <- err
	}
	for _, c := range []struct {
		r    newfile.Request
		perm fs.FileMode
	}{
		{newfile.Request{Name: "a", Done: answer}, 0o640},
		{newfile.Request{Name: "b", Perm: 0o400, Done: answer}, 0o400},
		{newfile.Request{Name: "c", Touch: true, Done: answer}, 0o640},
	} {
		must(t, q.Submit(t.Context(), c.r))
		must(t, <-done)
		if fi, err := os.Stat(d.Path(c.r.Name)); err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != c.perm {
			t.Errorf("%s: %v, %v", c.r.Name, fi.Mode(), err)
		}
	}
	must(t, q.TrySubmit(newfile.Request{Name: "d", Done: answer}))
	must(t, <-done)
	wantErr(t, q.Submit(t.Context(), newfile.Request{Name: "../x", Done: answer}), fs.ErrInvalid, "../x")
	wantErr(t, q.TrySubmit(newfile.Request{Name: "x"}), fs.ErrInvalid, d.Path("x"))
	must(t, q.Close())
	wantErr(t, q.Submit(t.Context(), newfile.Request{Name: "x", Done: answer}), fs.ErrClosed, d.Path("x"))
	wantErr(t, q.TrySubmit(newfile.Request{Name: "x", Done: answer}), fs.ErrClosed, d.Path("x"))
	_, err := q.Create(t.Context(), "x")
	wantErr(t, err, fs.ErrClosed, d.Path("x"))
	must(t, q.Close())
	for want, o := range map[string]newfile.QueueOptions{
		"Capacity: -1; want 0 (1024 requests) to 2147483647":                          {Capacity: -1},
		"Batch: -1; want 0 (64 requests) to 1048576":                                  {Batch: -1},
		"Batch: 1073741824; want 0 (64 requests) to 1048576":                          {Batch: 1 << 30},
		"Workers: -1; want 0 (16 at level power, else GOMAXPROCS, at most 8) or more": {Workers: -1},
	} {
		if _, err := newfile.NewQueue(d, o); !errors.Is(err, fs.ErrInvalid) || err.Error() != "newfile: QueueOptions."+want {
			t.Errorf("%+v: %v, want %s", o, err, want)
		}
	}
}

// A lone Create does the work itself, without the queue and without Linger.
func TestQueueAlone(t *testing.T) {
	levels(t, func(t *testing.T, l durability.Level) {
		d, dir := open(t, newfile.Options{Level: l, Shards: 16})
		q := openQueue(t, d, newfile.QueueOptions{})
		for i := range 10 {
			must(t, closed(q.Create(t.Context(), fileName(i))))
		}
		_, err := q.Create(t.Context(), fileName(0))
		wantErr(t, err, fs.ErrExist, d.Path(fileName(0)))
		if s := q.Stats(); s.Batches != 0 || s.Answered != 11 || s.Failed != 1 || countFiles(t, dir) != 10 {
			t.Errorf("%+v, %d files", s, countFiles(t, dir))
		}
	})
}

// A full queue refuses or waits, and creates the files that it accepted before.
func TestQueueFull(t *testing.T) {
	d, dir := open(t, kill)
	q := openQueue(t, d, newfile.QueueOptions{Capacity: 2, Batch: 1, Workers: 1})
	held, release := make(chan struct{}), make(chan struct{})
	must(t, q.Submit(t.Context(), newfile.Request{Name: "first", Touch: true, Done: func(*os.File, error) {
		close(held)
		<-release
	}}))
	<-held
	var answered atomic.Int64
	r := newfile.Request{Touch: true, Done: func(_ *os.File, err error) {
		if err == nil {
			answered.Add(1)
		}
	}}
	for i := range 2 {
		r.Name = fmt.Sprint(i)
		must(t, q.TrySubmit(r))
	}
	r.Name = "too many"
	if err := q.TrySubmit(r); err != newfile.ErrFull {
		t.Errorf("got %v, want ErrFull", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	submitted := make(chan error)
	go func() { submitted <- q.Submit(ctx, r) }()
	for q.Stats().Waits == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-submitted; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want Canceled", err)
	}
	if s := q.Stats(); s.Queued != 2 || s.Waits != 1 {
		t.Errorf("%+v, want a depth of 2 and one wait", s)
	}
	close(release)
	must(t, q.Close())
	if answered.Load() != 2 || countFiles(t, dir) != 3 {
		t.Errorf("%d answered, %d files", answered.Load(), countFiles(t, dir))
	}
}

// With Linger the queue collects a batch.
func TestQueueLinger(t *testing.T) {
	d, _ := open(t, kill)
	q := openQueue(t, d, newfile.QueueOptions{Batch: 10, Linger: time.Minute})
	var wg sync.WaitGroup
	wg.Add(10)
	for i := range 10 {
		must(t, q.Submit(t.Context(), newfile.Request{Name: fileName(i), Touch: true, Done: func(*os.File, error) { wg.Done() }}))
	}
	wg.Wait() // less than the minute of Linger, because the batch is full
	if s := q.Stats(); s.Batches != 1 {
		t.Errorf("%d batches, want 1", s.Batches)
	}
}

// A Create that is cancelled while its request waits creates no file, and one that is
// cancelled later leaks no descriptor.
func TestQueueCancel(t *testing.T) {
	d, dir := open(t, kill)
	fds := openDescriptors(t)
	q := openQueue(t, d, newfile.QueueOptions{Batch: 1, Workers: 1})
	held, release := make(chan struct{}), make(chan struct{})
	must(t, q.Submit(t.Context(), newfile.Request{Name: "first", Touch: true, Done: func(*os.File, error) {
		close(held)
		<-release
	}}))
	<-held
	cause := errors.New("no longer needed")
	ctx, cancel := context.WithCancelCause(t.Context())
	got := make(chan error)
	go func() {
		_, err := q.Create(ctx, "cancelled")
		got <- err
	}()
	for q.Stats().Queued == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel(cause)
	err := <-got // at once, although the queue is blocked
	wantErr(t, err, context.Canceled, d.Path("cancelled"))
	wantErr(t, err, cause, d.Path("cancelled"))
	close(release)
	must(t, q.Close())
	if s := q.Stats(); s.Abandoned != 1 || s.Answered != 2 {
		t.Errorf("%+v", s)
	}
	if n := countFiles(t, dir); n != 1 {
		t.Errorf("%d files, want 1", n)
	}
	if now := openDescriptors(t); now != fds {
		t.Errorf("%d descriptors before, %d after", fds, now)
	}
}

// Whatever is cancelled, and whenever the queue is closed, each request gets one
// answer, no descriptor leaks, and each file of a successful answer exists.
func TestQueueStorm(t *testing.T) {
	levels(t, func(t *testing.T, l durability.Level) {
		const rounds, goroutines, each = 6, 16, 40
		fds := openDescriptors(t)
		for round := range rounds {
			d, err := newfile.OpenDir(t.TempDir(), newfile.Options{Level: l, Shards: 16})
			must(t, err)
			q, err := newfile.NewQueue(d, newfile.QueueOptions{Capacity: 1 << (round % 4), Batch: 1 + 7*round})
			must(t, err)
			answers := make([]atomic.Int64, goroutines*each)
			made := make([]atomic.Bool, goroutines*each)
			answer := func(i int, f *os.File, err error) {
				answers[i].Add(1)
				if (f == nil) == (err == nil) {
					t.Errorf("file %v with error %v", f, err)
				}
				if f != nil {
					made[i].Store(true)
					f.Close()
				}
			}
			var wg sync.WaitGroup
			for g := range goroutines {
				wg.Go(func() {
					for k := range each {
						i := g*each + k
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(2000))*time.Microsecond)
						r := newfile.Request{Name: fileName(i), Done: func(f *os.File, err error) { answer(i, f, err) }}
						var err error
						switch k % 3 {
						case 0:
							var f *os.File
							f, err = q.Create(ctx, r.Name)
							answer(i, f, err)
							err = nil
						case 1:
							err = q.Submit(ctx, r)
						case 2:
							err = q.TrySubmit(r)
						}
						if err != nil {
							answer(i, nil, err)
						}
						cancel()
					}
				})
			}
			if round%2 == 0 {
				time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond)
				q.Close() // in the middle
			}
			wg.Wait()
			must(t, q.Close())
			for i := range answers {
				if n := answers[i].Load(); n != 1 {
					t.Errorf("round %d: request %d got %d answers", round, i, n)
				}
				if _, err := os.Stat(d.Path(fileName(i))); made[i].Load() && err != nil {
					t.Errorf("round %d: request %d was answered with a file: %v", round, i, err)
				}
			}
			if s := q.Stats(); s.Queued != 0 {
				t.Errorf("%d requests are left after Close", s.Queued)
			}
			must(t, d.Close())
		}
		if now := openDescriptors(t); now != fds {
			t.Errorf("%d descriptors before, %d after", fds, now)
		}
	})
}

// On a full disk each request is answered, with a file or ENOSPC.
func TestQueueDiskFull(t *testing.T) {
	dir := filetest.Tmpfs(t, 0, "size=1m,nr_inodes=40")
	d := openAt(t, dir, newfile.Options{})
	q := openQueue(t, d, newfile.QueueOptions{})
	var files, full atomic.Int64
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			switch err := closed(q.Create(t.Context(), fileName(i))); {
			case err == nil:
				files.Add(1)
			case errors.Is(err, errNoSpace):
				full.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if files.Load()+full.Load() != 100 || full.Load() == 0 || int(files.Load()) != countFiles(t, dir) {
		t.Errorf("%d files, %d refused, %d there", files.Load(), full.Load(), countFiles(t, dir))
	}
}

// Requests for a Dir that was closed too early are answered with an error.
func TestQueueOfClosedDir(t *testing.T) {
	d, _ := open(t, kill)
	q := openQueue(t, d, newfile.QueueOptions{})
	must(t, d.Close())
	_, err := q.Create(t.Context(), "f")
	wantErr(t, err, fs.ErrClosed, d.Path("f"))
}

// Each request is timed at level power, and some at level kill.
func TestQueueLatency(t *testing.T) {
	levels(t, func(t *testing.T, l durability.Level) {
		d, _ := open(t, newfile.Options{Level: l})
		q, err := newfile.NewQueue(d, newfile.QueueOptions{})
		must(t, err)
		const requests = 400
		var wg sync.WaitGroup
		wg.Add(requests)
		for i := range requests {
			if i%2 == 0 {
				must(t, closed(q.Create(t.Context(), fileName(i))))
				wg.Done()
				continue
			}
			must(t, q.Submit(t.Context(), newfile.Request{Name: fileName(i), Touch: true, Done: func(_ *os.File, err error) {
				if err != nil {
					t.Error(err)
				}
				wg.Done()
			}}))
		}
		wg.Wait()
		must(t, q.Close())
		st := q.Stats()
		if l == durability.Power && (st.Create.Count() != requests || st.Drain.Count() != st.Batches) {
			t.Errorf("%d of %d requests timed, %d of %d batches", st.Create.Count(), requests, st.Drain.Count(), st.Batches)
		}
		if st.Create.Count() == 0 || st.Create.Max() <= 0 || st.Drain.Count() != 0 && st.Drain.Max() <= 0 {
			t.Errorf("requests took %v at most, batches %v", st.Create.Max(), st.Drain.Max())
		}
	})
}

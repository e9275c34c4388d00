package newfile_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/newfile"
)

const limitEnv = "STELE_NEWFILE_LIMITED"

// limited runs the test again in a child process, which may lower its limit, and
// reports whether this process is the child.
func limited(t *testing.T) bool {
	t.Helper()
	if os.Getenv(limitEnv) == t.Name() {
		return true
	}
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self, "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), limitEnv+"="+t.Name(), "GOCOVERDIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// leave lowers the limit so that n more files can be opened.
func leave(t *testing.T, n int) (soft uint64) {
	t.Helper()
	var opened []*os.File
	highest := uint64(0)
	for range 20 { // the limit is of descriptor numbers, which may have gaps
		f, err := os.Open(os.DevNull)
		must(t, err)
		opened = append(opened, f)
		highest = max(highest, uint64(f.Fd()))
	}
	for _, f := range opened {
		must(t, f.Close())
	}
	used := uint64(openDescriptors(t)) - 1 // without the one that reads the directory
	soft = max(highest, used) + 1
	var r syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r))
	r.Cur = soft
	must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &r))
	free := 0
	for {
		f, err := os.Open(os.DevNull)
		if err != nil {
			break
		}
		t.Cleanup(func() { f.Close() })
		opened = append(opened, f)
		free++
	}
	if free < n {
		t.Fatalf("%d descriptors can be opened, want %d", free, n)
	}
	for _, f := range opened[len(opened)-n:] {
		must(t, f.Close())
	}
	return soft
}

func TestLimitError(t *testing.T) {
	if !limited(t) {
		return
	}
	d, _ := open(t, kill)
	soft := leave(t, 3)
	var last error
	for i := range 4 {
		f, err := d.Create(fileName(i), 0o600)
		if last = err; err == nil {
			defer f.Close()
		} else if i < 3 {
			t.Fatal(err)
		}
	}
	wantErr(t, last, syscall.EMFILE, d.Path(fileName(3)))
	var le *newfile.LimitError
	if !errors.As(last, &le) || le.Soft != soft || !strings.Contains(last.Error(), "newfile.Raise") {
		t.Errorf("got %v", last)
	}
	must(t, d.Touch("needs none", 0o600))
	limits, err := newfile.Limits()
	if err != nil || limits.Soft != soft || limits.Hard <= soft {
		t.Errorf("%+v, %v; the soft limit is %d", limits, err, soft)
	}
	if _, err := newfile.NewPool(d, int(soft)+1); !errors.As(err, &le) {
		t.Errorf("a pool larger than the limit: %v", err)
	}
	if _, err := newfile.Raise(limits.Hard + 1); !errors.As(err, &le) || le.Hard != limits.Hard {
		t.Errorf("raising above the hard limit: %v", err)
	}
	if n, err := newfile.Raise(soft + 1); n != soft+1 || err != nil {
		t.Errorf("Raise: %d, %v", n, err)
	}
	if n, err := newfile.Raise(1); n != soft+1 || err != nil {
		t.Errorf("Raise never lowers: %d, %v", n, err)
	}
	must(t, closed(d.Create("now", 0o600)))
}

// Children get the raised limit.
func TestRaiseForChildren(t *testing.T) {
	if !limited(t) {
		return
	}
	soft := leave(t, 20)
	want, err := newfile.Raise(soft + 5)
	must(t, err)
	out, err := exec.Command("/bin/sh", "-c", "ulimit -n").Output()
	must(t, err)
	if got := strings.TrimSpace(string(out)); got != strconv.FormatUint(want, 10) {
		t.Errorf("a child has the limit %s, want %d", got, want)
	}
}

func TestLimits(t *testing.T) {
	a, err := newfile.Limits()
	must(t, err)
	if a.Soft == 0 || a.Soft > a.Hard || a.Used == 0 || a.System == 0 || a.SystemUsed == 0 {
		t.Errorf("%+v", a)
	}
	f, err := os.Open(os.DevNull)
	must(t, err)
	defer f.Close()
	if b, err := newfile.Limits(); err != nil || b.Used != a.Used+1 {
		t.Errorf("%d descriptors, then one more: %d, %v", a.Used, b.Used, err)
	}
}

func TestLimitErrorWords(t *testing.T) {
	for _, c := range []struct {
		e    newfile.LimitError
		want []string
	}{
		{newfile.LimitError{Err: syscall.EMFILE, Soft: 1024, Hard: 4096}, []string{"1024", "4096", "newfile.Raise", "ulimit"}},
		{newfile.LimitError{Err: syscall.EMFILE, Soft: 4096, Hard: 4096}, []string{"4096", "soft and hard", "ulimit"}},
		{newfile.LimitError{Err: syscall.EMFILE}, []string{"too many open files"}},
		{newfile.LimitError{Err: syscall.ENFILE, Soft: 1024, Hard: 4096}, []string{"fs.file-max", "sysctl"}},
	} {
		for _, w := range c.want {
			if !strings.Contains(c.e.Error(), w) {
				t.Errorf("%q does not say %q", c.e.Error(), w)
			}
		}
	}
}

// Without descriptors the queue waits. Callers close their files after a while, so
// that every request is answered.
func TestQueueWaitsForDescriptors(t *testing.T) {
	if !limited(t) {
		return
	}
	leave(t, 8)
	for _, l := range []durability.Level{durability.Power, durability.Kill} {
		d, _ := open(t, newfile.Options{Level: l, Shards: 16})
		q := openQueue(t, d, newfile.QueueOptions{})
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				f, err := q.Create(t.Context(), fileName(i))
				if err != nil {
					t.Error(err)
					return
				}
				// Not before a caller waits for a descriptor, which in the end all others do.
				for end := time.Now().Add(time.Minute); q.Stats().LimitWaits == 0 && time.Now().Before(end); {
					time.Sleep(time.Millisecond)
				}
				f.Close()
			})
		}
		wg.Wait()
		if s := q.Stats(); s.LimitWaits == 0 || s.Answered != 100 || s.Failed != 0 {
			t.Errorf("%v: %+v", l, s)
		}
	}
}

// Waiting for a descriptor ends with ctx, and with Close.
func TestQueueEndsItsWait(t *testing.T) {
	if !limited(t) {
		return
	}
	d, _ := open(t, kill)
	q := openQueue(t, d, newfile.QueueOptions{})
	leave(t, 0)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := q.Create(ctx, "a")
	wantErr(t, err, context.DeadlineExceeded, d.Path("a"))

	answers, waits := make(chan error, 10), q.Stats().LimitWaits
	for i := range cap(answers) {
		must(t, q.Submit(t.Context(), newfile.Request{Name: fileName(i), Done: func(_ *os.File, err error) { answers <- err }}))
	}
	for end := time.Now().Add(time.Minute); q.Stats().LimitWaits == waits && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	select {
	case err := <-answers:
		t.Errorf("the queue does not wait: %v", err)
	default:
	}
	must(t, q.Close())
	close(answers)
	n := 0
	for err := range answers {
		n++
		if !errors.Is(err, syscall.EMFILE) {
			t.Errorf("got %v, want EMFILE", err)
		}
	}
	if n != 10 {
		t.Errorf("%d of 10 answered", n)
	}
}

// Warm creates no file if there are too few descriptors for all.
func TestPoolWarmLimit(t *testing.T) {
	if !limited(t) {
		return
	}
	d, _ := open(t, kill)
	p, err := newfile.NewPool(d, 10)
	must(t, err)
	soft := leave(t, 6)
	before := openDescriptors(t)
	var le *newfile.LimitError
	if err := p.Warm(t.Context(), 10); !errors.Is(err, syscall.EMFILE) || !errors.As(err, &le) || le.Soft != soft {
		t.Errorf("got %v, want a LimitError with the limit %d", err, soft)
	}
	if now := openDescriptors(t); now != before {
		t.Errorf("%d descriptors before, %d after", before, now)
	}
	must(t, p.Warm(t.Context(), 2))
	must(t, p.Close())
}

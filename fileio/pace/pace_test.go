package pace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stele-go/stele/fileio/pace"
)

// volume counts requests and bytes, and takes no time.
type volume struct {
	mu         sync.Mutex
	ops, bytes int
	largest    int
}

func (v *volume) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ops++
	v.bytes += len(p)
	v.largest = max(v.largest, len(p))
	return len(p), nil
}

// near fails unless took is want, except for the burst, which takes no time, and
// rounding.
func near(t *testing.T, took time.Duration, want float64) {
	t.Helper()
	if got := took.Seconds(); math.Abs(got-want) > 0.011 {
		t.Errorf("it took %.4f s, want %.4f s, less up to 10 ms of burst", got, want)
	}
}

// The lower limit sets the rate, whichever it is, and the other adds no wait.
func TestRate(t *testing.T) {
	for _, c := range []struct {
		profile pace.Profile
		writes  int
		size    int
		seconds float64
	}{
		{pace.Profile{IOPS: 100}, 500, 4096, 5},
		{pace.Profile{BytesPerSecond: 1 << 20}, 1024, 8192, 8},
		{pace.Profile{IOPS: 100, BytesPerSecond: 1 << 20}, 500, 4096, 5},
		{pace.Profile{IOPS: 100, BytesPerSecond: 1 << 20}, 300, 64 << 10, 18.75},
		// 4 operations each, and 1 MiB: a gp3 counts 256 KiB as one operation.
		{pace.Profile{IOPS: 100, BytesPerSecond: 1 << 30, IOSize: 256 << 10}, 50, 1 << 20, 2},
		{pace.Profile{IOPS: 1000, BytesPerSecond: 1 << 20, IOSize: 256 << 10}, 4, 1 << 20, 4},
		{pace.Profile{}, 1000, 1 << 20, 0},
	} {
		t.Run(fmt.Sprintf("%v/%dx%d", c.profile, c.writes, c.size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := &volume{}
				w := pace.New(c.profile).Writer(t.Context(), v)
				buf := make([]byte, c.size)
				start := time.Now()
				for range c.writes {
					if n, err := w.Write(buf); n != c.size || err != nil {
						t.Fatal(n, err)
					}
				}
				near(t, time.Since(start), c.seconds)
				if v.bytes != c.writes*c.size {
					t.Errorf("%d bytes, want %d", v.bytes, c.writes*c.size)
				}
				if most := c.profile.IOSize; most > 0 && v.largest > most {
					t.Errorf("a request of %d bytes, an operation has %d", v.largest, most)
				}
			})
		})
	}
}

// All users of a volume share its limits.
func TestShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := pace.New(pace.Profile{IOPS: 200})
		v := &volume{}
		start := time.Now()
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				w := lim.Writer(t.Context(), v)
				for range 40 {
					w.Write(make([]byte, 100))
				}
			})
			wg.Go(func() {
				r := lim.Reader(t.Context(), iotest.OneByteReader(strings.NewReader(strings.Repeat("x", 40))))
				io.Copy(io.Discard, r)
			})
		}
		wg.Wait()
		// Each reader reads once more, and gets io.EOF.
		near(t, time.Since(start), (10*40+10*41)/200.0)
	})
}

func TestReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := bytes.Repeat([]byte("stele "), 1<<20)
		start := time.Now()
		r := pace.New(pace.Profile{BytesPerSecond: 1 << 20, IOSize: 64 << 10}).Reader(t.Context(), bytes.NewReader(data))
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes, %v; want %d", len(got), err, len(data))
		}
		near(t, time.Since(start), 6)
	})
}

// A pause allows one burst, no more.
func TestBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := pace.New(pace.Profile{IOPS: 10, BurstOps: 30})
		time.Sleep(time.Hour)
		start := time.Now()
		for i := range 40 {
			if err := lim.Wait(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); i < 30 && took > 0 {
				t.Fatalf("operation %d waited %v", i, took)
			}
		}
		near(t, time.Since(start), 1)
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := pace.New(pace.Profile{IOPS: 1})
		lim.Wait(t.Context(), 0)

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		start := time.Now()
		v := &volume{}
		n, err := lim.Writer(ctx, v).Write([]byte("late"))
		if n != 0 || !errors.Is(err, context.Canceled) || time.Since(start) != 100*time.Millisecond {
			t.Errorf("%d, %v after %v", n, err, time.Since(start))
		}
		if v.ops != 0 {
			t.Error("it was written all the same")
		}

		// The wait would end after the deadline, so the error comes at once.
		ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		start = time.Now()
		if err := lim.Wait(ctx, 0); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 0 {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		// Neither was counted: the next request is allowed 1 s after the first.
		if err := lim.Wait(t.Context(), 0); err != nil {
			t.Error(err)
		}
		near(t, time.Since(start), 0.9)
	})
}

// Errors of the paced stream are returned unchanged.
func TestErrors(t *testing.T) {
	lim := pace.New(pace.Profile{})
	broken := errors.New("broken")
	r := lim.Reader(t.Context(), iotest.ErrReader(broken))
	if n, err := r.Read(make([]byte, 8)); n != 0 || err != broken {
		t.Error(n, err)
	}
	w := lim.Writer(t.Context(), writer(func(p []byte) (int, error) { return len(p) / 2, nil }))
	if n, err := w.Write(make([]byte, 8)); n != 4 || err != io.ErrShortWrite {
		t.Error(n, err)
	}
	w = lim.Writer(t.Context(), writer(func(p []byte) (int, error) { return 3, broken }))
	if n, err := w.Write(make([]byte, 8)); n != 3 || err != broken {
		t.Error(n, err)
	}
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

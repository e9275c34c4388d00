package mpsc

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Waiting producers continue in the order in which they began to wait, as many
// as there are free slots.
func TestWaitingProducers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int](2)
		for i := range 7 {
			go func() {
				if err := q.Push(t.Context(), i); err != nil {
					t.Errorf("value %d: %v", i, err)
				}
			}()
			synctest.Wait()
		}
		for _, want := range [][]int{{0}, {1}, {2, 3}, {4, 5}, {6}} {
			if q.Len() != min(2, 7-want[0]) {
				t.Errorf("before %d: Len() = %d", want[0], q.Len())
			}
			dst := make([]int, len(want))
			if n, err := q.PopBatch(t.Context(), dst, 0); err != nil || !slices.Equal(dst[:n], want) {
				t.Fatalf("got %v, %v, want %v", dst[:n], err, want)
			}
			synctest.Wait()
		}
	})
}

// A cancelled producer leaves the queue of waiters, wherever it is in it, and
// adds nothing.
func TestCancelWaitingProducer(t *testing.T) {
	for cancelled := range 3 {
		synctest.Test(t, func(t *testing.T) {
			q := New[int](1)
			if err := q.TryPush(-1); err != nil {
				t.Fatal(err)
			}
			cause := errors.New("lost patience")
			var cancels [3]context.CancelCauseFunc
			errs := make([]error, 3)
			for i := range cancels {
				var ctx context.Context
				ctx, cancels[i] = context.WithCancelCause(t.Context())
				go func() { errs[i] = q.Push(ctx, i) }()
				synctest.Wait()
			}
			cancels[cancelled](cause)
			synctest.Wait()
			if !errors.Is(errs[cancelled], context.Canceled) || !errors.Is(errs[cancelled], cause) {
				t.Errorf("the cancelled one got %v", errs[cancelled])
			}
			var got []int
			for {
				v, ok := q.TryPop()
				if !ok {
					break
				}
				got = append(got, v)
				synctest.Wait()
			}
			want := slices.DeleteFunc([]int{-1, 0, 1, 2}, func(v int) bool { return v == cancelled })
			if !slices.Equal(got, want) {
				t.Errorf("%d cancelled: got %v, want %v", cancelled, got, want)
			}
			for i, cancel := range cancels {
				cancel(nil)
				if i != cancelled && errs[i] != nil {
					t.Errorf("%d cancelled: %d got %v", cancelled, i, errs[i])
				}
			}
		})
	}
}

// A producer that is woken and cancelled at the same moment passes the wake-up
// on.
func TestCancelledProducerPassesOn(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			q := New[int](1)
			if err := q.TryPush(-1); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			first := make(chan error, 1)
			go func() { first <- q.Push(ctx, 0) }()
			synctest.Wait()
			go func() {
				if err := q.Push(t.Context(), 1); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
			q.TryPop() // wakes the first
			cancel()   // it finds both, and takes either
			want := []int{1}
			if err := <-first; err == nil {
				want = []int{0, 1}
			}
			for _, w := range want {
				synctest.Wait()
				if v, ok := q.TryPop(); !ok || v != w {
					t.Fatalf("got %d, %t, want %d", v, ok, w)
				}
			}
		})
	}
}

// A producer that is woken in vain waits again, before the producers that came
// later.
func TestOvertakenProducer(t *testing.T) {
	overtaken := 0
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			q := New[int](1)
			if err := q.TryPush(-1); err != nil {
				t.Fatal(err)
			}
			for i := range 2 {
				go func() {
					if err := q.Push(t.Context(), i); err != nil {
						t.Error(err)
					}
				}()
				synctest.Wait()
			}
			q.TryPop() // wakes the first, which may be slower than this:
			if q.TryPush(-2) == nil {
				overtaken++
				synctest.Wait()
				if v, _ := q.TryPop(); v != -2 {
					t.Errorf("got %d, want -2", v)
				}
			}
			for want := range 2 {
				synctest.Wait()
				if v, ok := q.TryPop(); !ok || v != want {
					t.Errorf("got %d, %t, want %d", v, ok, want)
				}
			}
		})
	}
	if overtaken == 0 {
		t.Error("no producer was ever overtaken: nothing was tested")
	}
}

func TestCloseWakesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int](2)
		errs := make([]error, 6)
		for i := range errs {
			go func() { errs[i] = q.Push(t.Context(), i) }()
			synctest.Wait()
		}
		q.Close()
		synctest.Wait()
		for i, err := range errs {
			if accepted := i < 2; accepted && err != nil || !accepted && err != ErrClosed {
				t.Errorf("producer %d got %v", i, err)
			}
		}
		for i := range 2 {
			if v, err := q.Pop(t.Context()); v != i || err != nil {
				t.Errorf("got %d, %v, want %d", v, err, i)
			}
		}
		if _, err := q.Pop(t.Context()); err != ErrClosed {
			t.Errorf("got %v, want ErrClosed", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		q := New[int](2)
		go func() { time.Sleep(time.Second); q.Close() }()
		if _, err := q.Pop(t.Context()); err != ErrClosed {
			t.Errorf("the waiting consumer got %v, want ErrClosed", err)
		}
	})
}

// A value that is accepted but not yet written when the queue is closed is
// waited for.
func TestCloseBeforeFilled(t *testing.T) {
	for name, pop := range map[string]func(*Queue[int], context.Context) (int, error){
		"Pop": (*Queue[int]).Pop,
		"PopBatch": func(q *Queue[int], ctx context.Context) (int, error) {
			dst := make([]int, 3) // more than there will be
			_, err := q.PopBatch(ctx, dst, time.Hour)
			return dst[0], err
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			q := New[int](4)
			p, err := q.claim() // the first half of a Push
			if err != nil {
				t.Fatal(err)
			}
			q.Close()
			go func() {
				time.Sleep(time.Second)
				q.values[p&q.mask] = 7
				q.fill(p)
			}()
			if _, ok := q.TryPop(); ok {
				t.Errorf("TryPop gives a value that is not there")
			}
			start := time.Now()
			if v, err := pop(q, t.Context()); v != 7 || err != nil {
				t.Errorf("%s: got %d, %v, want 7", name, v, err)
			}
			if d := time.Since(start); d != time.Second {
				t.Errorf("%s: the value that came after 1s was given after %v", name, d)
			}
			if _, err := pop(q, t.Context()); err != ErrClosed {
				t.Errorf("%s: got %v, want ErrClosed", name, err)
			}
		})
	}
}

func TestCancelWaitingConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int](2)
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := q.Pop(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			cancel()
			// It can wait again, and be woken.
			go func() {
				time.Sleep(time.Second)
				if err := q.Push(t.Context(), 1); err != nil {
					t.Error(err)
				}
			}()
			if v, err := q.Pop(t.Context()); v != 1 || err != nil {
				t.Errorf("got %d, %v", v, err)
			}
		}
	})
}

// With a linger, PopBatch ends when dst is full, when the time is over, when
// ctx is done or when the queue is closed, and not before.
func TestLinger(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name     string
		capacity int
		pushes   int           // one each ms, the first at 1 ms
		end      time.Duration // when ctx is done or the queue is closed
		close    bool
		dst      int
		linger   time.Duration
		want     []int         // numbers of values in two batches
		at       time.Duration // when the first ends
	}{
		{"none", 8, 3, 0, false, 8, 0, []int{1, 1}, 1 * ms},
		{"negative", 8, 3, 0, false, 8, -1, []int{1, 1}, 1 * ms},
		{"dst full", 8, 8, 0, false, 4, 100 * ms, []int{4, 4}, 4 * ms},
		{"dst of one", 8, 8, 0, false, 1, 100 * ms, []int{1, 1}, 1 * ms},
		{"time over", 8, 9, 0, false, 100, 5*ms + ms/2, []int{6, 3}, 6*ms + ms/2},
		{"dst larger than the queue", 2, 20, 0, false, 10, 100 * ms, []int{10, 10}, 10 * ms},
		{"dst larger than a queue of one", 1, 20, 0, false, 10, 100 * ms, []int{10, 10}, 10 * ms},
		{"ctx done", 8, 8, 3*ms + ms/2, false, 8, 100 * ms, []int{3, 0}, 3*ms + ms/2},
		{"closed", 8, 8, 3*ms + ms/2, true, 8, 100 * ms, []int{3, 0}, 3*ms + ms/2},
	} {
		synctest.Test(t, func(t *testing.T) {
			q := New[int](c.capacity)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.end > 0 {
				time.AfterFunc(c.end, func() {
					if c.close {
						q.Close()
					} else {
						cancel()
					}
				})
			}
			go func() {
				for i := range c.pushes {
					time.Sleep(ms)
					if err := q.Push(t.Context(), i); err != nil && !c.close {
						t.Errorf("%s: %v", c.name, err)
					}
				}
			}()
			start := time.Now()
			dst := make([]int, c.dst)
			next := 0
			for i, want := range c.want {
				n, err := q.PopBatch(ctx, dst, c.linger)
				if n != want || (n == 0) != (err != nil) {
					t.Errorf("%s: batch %d: got %d, %v, want %d", c.name, i, n, err, want)
				}
				if d := time.Since(start); i == 0 && d != c.at {
					t.Errorf("%s: the first batch came after %v, want %v", c.name, d, c.at)
				}
				for _, v := range dst[:n] {
					if v != next {
						t.Errorf("%s: batch %d: got %v", c.name, i, dst[:n])
					}
					next++
				}
			}
			time.Sleep(time.Second) // let the producer end
		})
	}
}

// If the queue is closed while values of a batch are being written, the batch
// ends once they are.
func TestLingerClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int](16)
		if err := q.TryPush(0); err != nil {
			t.Fatal(err)
		}
		p, err := q.claim() // the first half of a Push
		if err != nil {
			t.Fatal(err)
		}
		q.Close()
		go func() {
			time.Sleep(time.Second)
			q.values[p&q.mask] = 1
			q.fill(p)
		}()
		start := time.Now()
		dst := make([]int, 4)
		if n, err := q.PopBatch(t.Context(), dst, time.Hour); n != 2 || err != nil {
			t.Errorf("got %v, %v", dst[:n], err)
		}
		if d := time.Since(start); d != time.Second {
			t.Errorf("after %v, want 1s, when the last value was there", d)
		}
	})
}

// During a linger a value may become readable after later ones: it is not
// missed.
func TestLingerOverGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int](16)
		if err := q.TryPush(0); err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(time.Second)
			gap, err := q.claim()
			if err != nil {
				t.Error(err)
			}
			for i := 2; i < 4; i++ {
				if err := q.TryPush(i); err != nil {
					t.Error(err)
				}
			}
			time.Sleep(time.Second)
			q.values[gap&q.mask] = 1
			q.fill(gap)
		}()
		start := time.Now()
		dst := make([]int, 4)
		n, err := q.PopBatch(t.Context(), dst, time.Hour)
		if n != 4 || err != nil || !slices.Equal(dst, []int{0, 1, 2, 3}) {
			t.Errorf("got %v, %v", dst[:n], err)
		}
		if d := time.Since(start); d != 2*time.Second {
			t.Errorf("after %v, want 2s, when the last value was there", d)
		}
	})
}

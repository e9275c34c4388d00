package queue

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestOrderAndCapacity(t *testing.T) {
	q := New[int](3)
	dst := make([]int, 2)
	next, want := 0, 0
	for range 10 { // beyond the end of the ring
		for q.TryPush(next) == nil {
			next++
		}
		if q.Len() != 3 || q.Cap() != 3 {
			t.Fatalf("a full queue of 3 has Len %d, Cap %d", q.Len(), q.Cap())
		}
		if err := q.TryPush(-1); err != ErrFull {
			t.Fatalf("push to a full queue: %v", err)
		}
		n, err := q.PopBatch(t.Context(), dst, 0)
		if n != 2 || err != nil {
			t.Fatalf("PopBatch: %d, %v", n, err)
		}
		for _, v := range dst {
			if v != want {
				t.Fatalf("got %d, want %d", v, want)
			}
			want++
		}
	}
	if n := q.TryPopBatch(dst[:1]); n != 1 || dst[0] != want {
		t.Errorf("TryPopBatch: %d, value %d, want %d", n, dst[0], want)
	}
	if n := q.TryPopBatch(dst[:0]); n != 0 {
		t.Errorf("TryPopBatch into nothing: %d", n)
	}
}

// A value whose push returned nil is popped exactly once, whatever contexts are done,
// and the values of one producer in order.
func TestStorm(t *testing.T) {
	const producers, each = 16, 2000
	type value struct{ producer, n int }
	for _, capacity := range []int{1, 3, 64} {
		q := New[value](capacity)
		accepted := make([][]int, producers)
		var wg sync.WaitGroup
		for p := range producers {
			wg.Go(func() {
				for n := range each {
					ctx, cancel := t.Context(), context.CancelFunc(func() {})
					if n%3 == 0 {
						ctx, cancel = context.WithTimeout(ctx, time.Microsecond)
					}
					var err error
					if n%2 == 0 {
						err = q.Push(ctx, value{p, n})
					} else {
						err = q.TryPush(value{p, n})
					}
					cancel()
					if err == nil {
						accepted[p] = append(accepted[p], n)
					}
				}
			})
		}
		go func() {
			wg.Wait()
			q.Close()
		}()
		popped := make([][]int, producers)
		dst := make([]value, 5)
		for i := 0; ; i++ {
			n, err := q.PopBatch(context.Background(), dst, time.Duration(i%2)*time.Microsecond)
			if err == ErrClosed {
				break
			}
			if err != nil || n == 0 {
				t.Fatalf("PopBatch: %d, %v", n, err)
			}
			for _, v := range dst[:n] {
				popped[v.producer] = append(popped[v.producer], v.n)
			}
		}
		for p := range producers {
			if !slices.Equal(popped[p], accepted[p]) {
				t.Fatalf("capacity %d, producer %d: accepted %d values, popped %d, or in another order", capacity, p, len(accepted[p]), len(popped[p]))
			}
		}
	}
}

func TestFullQueueBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int](1)
		q.Push(t.Context(), 0)
		ctx, cancel := context.WithCancel(t.Context())
		gaveUp := make(chan error, 1)
		go func() { gaveUp <- q.Push(ctx, -1) }()
		var pushed atomic.Int32
		for v := range 3 {
			go func() {
				if q.Push(t.Context(), v+1) == nil {
					pushed.Add(1)
				}
			}()
			synctest.Wait()
		}
		if n := pushed.Load(); n != 0 {
			t.Fatalf("%d pushes to a full queue returned", n)
		}
		cancel()
		if err := <-gaveUp; err != context.Canceled {
			t.Fatalf("push with a done context: %v", err)
		}
		dst := make([]int, 1)
		for want := int32(1); want <= 3; want++ { // each free slot admits one
			q.TryPopBatch(dst)
			synctest.Wait()
			if n := pushed.Load(); n != want {
				t.Fatalf("after %d pops %d pushes have returned", want, n)
			}
		}
	})
}

// Producers that wait get the free slots in turn, before a new push.
func TestProducersInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int](2)
		for v := range 5 {
			go q.Push(t.Context(), v)
			synctest.Wait()
		}
		dst := make([]int, 1)
		for v := range 3 { // three producers wait
			if n := q.TryPopBatch(dst); n != 1 || dst[0] != v {
				t.Errorf("popped %d values, %d; want %d", n, dst[0], v)
			}
			if err := q.TryPush(-1); err != ErrFull {
				t.Errorf("a push before those that wait: %v", err)
			}
		}
		rest := make([]int, 3)
		if n := q.TryPopBatch(rest); n != 2 || rest[0] != 3 || rest[1] != 4 {
			t.Errorf("popped %v; want 3 and 4", rest[:n])
		}
	})
}

func TestCapacityOfNone(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a queue of capacity 0 did not panic")
		}
	}()
	New[int](0)
}

// A pop of many admits as many producers.
func TestPopAdmitsProducers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int](4)
		for range 4 {
			q.TryPush(0)
		}
		var pushed atomic.Int32
		for range 4 {
			go func() {
				q.Push(t.Context(), 1)
				pushed.Add(1)
			}()
			synctest.Wait()
		}
		q.TryPopBatch(make([]int, 4))
		synctest.Wait()
		if n := pushed.Load(); n != 4 {
			t.Errorf("4 free slots, and %d pushes returned", n)
		}
	})
}

func TestLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int](4)
		start := time.Now()
		go func() {
			for v := range 3 {
				q.Push(t.Context(), v)
				time.Sleep(time.Second)
			}
		}()
		dst := make([]int, 8)
		if n, err := q.PopBatch(t.Context(), dst, 90*time.Second); n != 3 || err != nil || time.Since(start) != 90*time.Second {
			t.Errorf("PopBatch: %d, %v after %v; want the 3 values of 90s", n, err, time.Since(start))
		}
		go func() {
			for v := range 9 { // more than the queue holds
				q.Push(t.Context(), v)
			}
			q.Close()
		}()
		start = time.Now()
		if n, err := q.PopBatch(t.Context(), dst, time.Hour); n != 8 || err != nil || time.Since(start) != 0 {
			t.Errorf("PopBatch: %d, %v after %v; want a full batch at once", n, err, time.Since(start))
		}
		if n, err := q.PopBatch(t.Context(), dst, time.Hour); n != 1 || err != nil || time.Since(start) != 0 {
			t.Errorf("PopBatch while the queue is closed: %d, %v after %v; want the last value at once", n, err, time.Since(start))
		}
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int](1)
		q.TryPush(1)
		blocked := make(chan error, 2)
		for range 2 {
			go func() { blocked <- q.Push(t.Context(), 2) }()
		}
		synctest.Wait()
		q.Close()
		q.Close()
		for range 2 {
			if err := <-blocked; err != ErrClosed {
				t.Errorf("a push that waited for Close: %v", err)
			}
		}
		if err := errors.Join(q.TryPush(3), q.Push(t.Context(), 3)); !errors.Is(err, ErrClosed) {
			t.Errorf("pushes to a closed queue: %v", err)
		}
		dst := make([]int, 1)
		if n, err := q.PopBatch(t.Context(), dst, 0); n != 1 || err != nil {
			t.Errorf("PopBatch of the last value: %d, %v", n, err)
		}
		if n, err := q.PopBatch(t.Context(), dst, 0); n != 0 || err != ErrClosed {
			t.Errorf("PopBatch of an empty closed queue: %d, %v", n, err)
		}

		sleeping := New[int](1)
		got := make(chan error)
		go func() {
			_, err := sleeping.PopBatch(t.Context(), dst, 0)
			got <- err
		}()
		synctest.Wait()
		sleeping.Close()
		if err := <-got; err != ErrClosed {
			t.Errorf("a PopBatch that waited for Close: %v", err)
		}
	})
}

func TestDoneContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q := New[int](1)
	if err := q.Push(ctx, 1); err != context.Canceled || q.Len() != 0 {
		t.Errorf("push: %v, Len %d", err, q.Len())
	}
	q.TryPush(1)
	if n, err := q.PopBatch(ctx, make([]int, 1), 0); n != 0 || err != context.Canceled || q.Len() != 1 {
		t.Errorf("PopBatch: %d, %v, Len %d", n, err, q.Len())
	}
}

func TestNoAllocation(t *testing.T) {
	q := New[int](8)
	dst := make([]int, 8)
	if n := testing.AllocsPerRun(100, func() {
		for v := range 8 {
			q.Push(t.Context(), v)
		}
		q.PopBatch(t.Context(), dst, 0)
	}); n != 0 {
		t.Errorf("8 pushes and a pop allocate %v times", n)
	}
}

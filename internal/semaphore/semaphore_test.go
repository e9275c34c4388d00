package semaphore

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// Waiters are served in the order of their calls, small requests after a large one
// too. A waiter that gives up lets the next one through.
func TestInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(10)
		ctx, cancel := context.WithCancel(context.Background())
		if waited, err := s.Acquire(ctx, 6); waited || err != nil {
			t.Fatal(waited, err)
		}
		if got := s.TryAcquire(10, 1); got != 3 {
			t.Errorf("%d units without waiting, not 3", got)
		}
		large, small := make(chan error, 1), make(chan error, 1)
		acquire := func(ctx context.Context, n int64, result chan error) {
			waited, err := s.Acquire(ctx, n)
			if !waited {
				t.Errorf("%d units without waiting", n)
			}
			result <- err
		}
		go acquire(ctx, 8, large)
		synctest.Wait()
		go acquire(context.Background(), 1, small)
		synctest.Wait()
		if s.Waiting() != 2 {
			t.Errorf("%d wait, not 2", s.Waiting())
		}
		if got := s.TryAcquire(1, 0); got != 0 {
			t.Errorf("%d units while others wait", got)
		}
		cancel()
		if err := <-large; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := <-small; err != nil {
			t.Error(err)
		}
		s.Release(10)
		if s.Free() != 10 {
			t.Errorf("%d units are free", s.Free())
		}
	})
}

// A context that is done gets no units: neither free ones, nor those that are released
// during the wait, after it was done.
func TestDoneContext(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			s := New(2)
			ctx, cancel := context.WithCancelCause(t.Context())
			s.TryAcquire(2, 0)
			result := make(chan error)
			go func() {
				_, err := s.Acquire(ctx, 1)
				result <- err
			}()
			synctest.Wait()
			why := errors.New("why")
			cancel(why)
			s.Release(2)
			if err := <-result; err != why {
				t.Errorf("got %v, want the cause of the context", err)
			}
			if waited, err := s.Acquire(ctx, 1); waited || err != why || s.Free() != 2 {
				t.Errorf("with a done context: waited %v, %v, %d free", waited, err, s.Free())
			}
		})
	}
}

func TestReleaseOfTooMany(t *testing.T) {
	s := New(4)
	s.TryAcquire(2, 0)
	defer func() {
		if got, want := recover(), "semaphore: Release: 3 units; want at most the 2 in use"; got != want {
			t.Errorf("panic %v, want %s", got, want)
		}
		if s.Free() != 2 {
			t.Errorf("%d free", s.Free())
		}
	}()
	s.Release(3)
}

// A request for more than the size waits for all units, and is granted alone.
func TestMoreThanThereAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(10)
		if waited, err := s.Acquire(t.Context(), 4); waited || err != nil {
			t.Fatal(waited, err)
		}
		granted := make(chan int64, 2)
		for _, n := range []int64{25, 1} {
			go func() {
				if waited, err := s.Acquire(t.Context(), n); !waited || err != nil {
					t.Error(waited, err)
				}
				granted <- n
			}()
			synctest.Wait()
		}
		s.Release(3)
		synctest.Wait()
		if len(granted) != 0 {
			t.Fatal("granted before all were free")
		}
		s.Release(1)
		if n := <-granted; n != 25 || s.Free() != -15 {
			t.Errorf("%d granted, %d free", n, s.Free())
		}
		synctest.Wait()
		if len(granted) != 0 {
			t.Error("granted beside the large one")
		}
		s.Release(25)
		if n := <-granted; n != 1 || s.Free() != 9 {
			t.Errorf("%d granted, %d free", n, s.Free())
		}
	})
}

// A grant at the moment of a cancellation is given back.
func TestCancelRacesGrant(t *testing.T) {
	for range 2000 {
		s := New(1)
		s.TryAcquire(1, 0)
		ctx, cancel := context.WithCancel(context.Background())
		result := make(chan error)
		go func() {
			_, err := s.Acquire(ctx, 1)
			result <- err
		}()
		go cancel()
		s.Release(1)
		if err := <-result; err == nil {
			s.Release(1)
		}
		if s.Free() != 1 || s.Waiting() != 0 {
			t.Fatalf("%d free, %d wait", s.Free(), s.Waiting())
		}
	}
}

func TestAcquireAllocatesNothing(t *testing.T) {
	s := New(10)
	if n := testing.AllocsPerRun(100, func() {
		s.Acquire(context.Background(), 1)
		s.Release(1)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

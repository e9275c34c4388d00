package mpsc

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// patience is how long a goroutine may sleep before its wake-up counts as lost:
// far longer than a test takes on a busy machine.
const patience = 5 * time.Minute

type item struct{ producer, number int }

// Producers push in every way, some with a context that is cancelled at any
// moment, the consumer pops in every way, and the queue is closed meanwhile.
// The consumer must get exactly the accepted values: each once, and those of
// one producer in order.
func TestStorm(t *testing.T) {
	long := 150 * time.Millisecond
	if testing.Short() {
		long = 20 * time.Millisecond
	}
	for _, c := range []struct{ producers, capacity int }{
		{1, 1}, {2, 1}, {8, 1}, {4, 2}, {8, 3}, {64, 4}, {4, 64}, {64, 1024},
	} {
		t.Run(fmt.Sprintf("producers=%d/capacity=%d", c.producers, c.capacity), func(t *testing.T) {
			for range 5 {
				storm(t, c.producers, c.capacity, long/5)
			}
		})
	}
}

func storm(t *testing.T, producers, capacity int, long time.Duration) {
	seed := rand.Uint64()
	q := New[item](capacity)
	accepted := make([][]int, producers)
	var outcomes [4]atomic.Int64 // accepted, full, cancelled, closed
	var wg sync.WaitGroup
	for id := range producers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(id)))
			for number := 0; ; number++ {
				err := pushSomehow(r, q, item{id, number})
				switch {
				case err == nil:
					accepted[id] = append(accepted[id], number)
					outcomes[0].Add(1)
				case err == ErrFull:
					outcomes[1].Add(1)
				case errors.Is(err, context.Canceled):
					outcomes[2].Add(1)
				case err == ErrClosed:
					outcomes[3].Add(1)
					return
				default:
					t.Errorf("push: %v", err)
					return
				}
			}
		})
	}
	time.AfterFunc(long, q.Close)

	given := make([][]int, producers)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r := rand.New(rand.NewPCG(seed, 1<<32))
		dst := make([]item, 10)
		for {
			n, err := popSomehow(r, q, dst)
			for _, v := range dst[:n] {
				given[v.producer] = append(given[v.producer], v.number)
			}
			if err == ErrClosed {
				return
			}
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("pop: %v", err)
			}
		}
	}()

	select {
	case <-done:
	case <-time.After(patience):
		panic("the consumer sleeps: a wake-up was lost")
	}
	wg.Wait()
	for id := range producers {
		if !slices.Equal(given[id], accepted[id]) {
			t.Fatalf("seed %d: producer %d: %d values accepted, %d given, or not in order", seed, id, len(accepted[id]), len(given[id]))
		}
	}
	if q.Len() != 0 || q.woken != 0 || q.queue.first != nil {
		t.Errorf("seed %d: at the end Len() = %d, %d woken, first in the queue %v", seed, q.Len(), q.woken, q.queue.first)
	}
	t.Logf("%d accepted, %d full, %d cancelled, %d closed", outcomes[0].Load(), outcomes[1].Load(), outcomes[2].Load(), outcomes[3].Load())
}

func pushSomehow(r *rand.Rand, q *Queue[item], v item) error {
	switch r.IntN(8) {
	case 0:
		return q.TryPush(v)
	case 1, 2:
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if r.IntN(4) == 0 {
			time.AfterFunc(time.Duration(r.IntN(50_000)), cancel)
		} else {
			go cancel()
		}
		return q.Push(ctx, v)
	default:
		return q.Push(context.Background(), v)
	}
}

func popSomehow(r *rand.Rand, q *Queue[item], dst []item) (int, error) {
	ctx := context.Background()
	if r.IntN(4) == 0 {
		c, cancel := context.WithCancel(ctx)
		defer cancel()
		go cancel()
		ctx = c
	}
	var err error
	switch r.IntN(6) {
	case 0:
		v, ok := q.TryPop()
		if !ok {
			return 0, nil
		}
		dst[0] = v
		return 1, nil
	case 1, 2:
		dst[0], err = q.Pop(ctx)
		if err != nil {
			return 0, err
		}
		return 1, nil
	case 3:
		return q.PopBatch(ctx, dst, time.Duration(r.IntN(30_000)))
	default:
		return q.PopBatch(ctx, dst[:1+r.IntN(len(dst))], 0)
	}
}

// Close runs between any two steps of a push.
func TestCloseRace(t *testing.T) {
	rounds := 2000
	if testing.Short() {
		rounds = 200
	}
	for range rounds {
		q := New[int](1 << 10)
		accepted := 0
		var started, done sync.WaitGroup
		started.Add(1)
		done.Go(func() {
			started.Done()
			for {
				switch q.TryPush(1) {
				case nil:
					accepted++
				case ErrFull:
					runtime.Gosched()
				case ErrClosed:
					return
				}
			}
		})
		started.Wait()
		q.Close()
		done.Wait()
		given := 0
		for {
			if _, err := q.Pop(t.Context()); err != nil {
				break
			}
			given++
		}
		if given != accepted {
			t.Fatalf("%d accepted, %d given", accepted, given)
		}
	}
}

// Producers and the consumer wait for each other at every value, so each
// wake-up counts: if one is lost, all stop.
func TestNoLostWakeUp(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 2_000
	}
	for _, producers := range []int{1, 2, 5} {
		q, answers := New[int](1), New[int](1)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		var wg sync.WaitGroup
		for range producers {
			wg.Go(func() {
				for range n {
					if err := q.Push(ctx, 1); err != nil {
						t.Errorf("%d producers: %v", producers, err)
						return
					}
				}
			})
		}
		wg.Go(func() {
			for range n * producers {
				if _, err := answers.Pop(ctx); err != nil {
					t.Errorf("%d producers: answers: %v", producers, err)
					return
				}
			}
		})
		for range n * producers {
			v, err := q.Pop(ctx)
			if err == nil {
				err = answers.Push(ctx, v)
			}
			if err != nil {
				t.Fatalf("%d producers: %v", producers, err)
			}
		}
		wg.Wait()
		cancel()
	}
}

// One side is about to sleep, and the other acts a few nanoseconds earlier or
// later: the moment in which a wake-up could be lost. The two sides tell each
// other when to begin: turn, awake.
func TestWakeUpAtTheLastMoment(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("needs two processors")
	}
	rounds := 100_000
	if os.Getenv("STELE_LONG") != "" {
		rounds = 3_000_000 // enough to detect a load and a store in the wrong order
	}
	// On a busy machine a round may need several turns of the scheduler of the
	// system: as many rounds as there is time for are enough.
	const most, over = time.Minute, -1
	var turn atomic.Int64
	late := func(begun time.Time, round int) bool { return round%1024 == 0 && time.Since(begun) > most }
	await := func(round int) bool {
		for i := 0; ; i++ {
			switch turn.Load() {
			case int64(round):
				for range rand.IntN(300) {
					turn.Load()
				}
				return true
			case over:
				return false
			}
			if i > 1000 {
				runtime.Gosched()
			}
		}
	}
	must := func(err error) {
		if err != nil {
			panic(err) // not t.Fatal: the other side waits
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var wg sync.WaitGroup

	// The consumer falls asleep, the producer pushes.
	q := New[int](1)
	wg.Go(func() {
		for round := range rounds {
			if !await(round + 1) {
				return
			}
			must(q.Push(ctx, round))
		}
	})
	begun := time.Now()
	for round := range rounds {
		if late(begun, round) {
			t.Logf("%d rounds of %d", round, rounds)
			turn.Store(over)
			break
		}
		turn.Store(int64(round + 1))
		_, err := q.Pop(ctx)
		must(err)
	}
	wg.Wait()

	// A producer falls asleep, the consumer pops.
	turn.Store(0)
	must(q.Push(ctx, -1))
	begun = time.Now()
	wg.Go(func() {
		for round := range rounds {
			if late(begun, round) {
				t.Logf("%d rounds of %d", round, rounds)
				turn.Store(over)
				return
			}
			turn.Store(int64(round + 1))
			must(q.Push(ctx, round))
		}
	})
	for round := range rounds {
		if !await(round + 1) {
			break
		}
		_, err := q.Pop(ctx)
		must(err)
	}
	wg.Wait()
}

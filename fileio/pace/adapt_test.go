package pace_test

import (
	"context"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stele-go/stele/fileio/pace"
)

// A simVolume admits requests in turn at a fixed rate, as a cloud volume does. Each then
// takes a millisecond.
type simVolume struct {
	mu    sync.Mutex
	every time.Duration // between two requests
	until time.Time     // when the next is admitted
}

const simLatency = time.Millisecond

// turn returns when a request made now will be done.
func (v *simVolume) turn() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	if v.until.Before(now) {
		v.until = now
	}
	wait := v.until.Sub(now)
	v.until = v.until.Add(v.every)
	return wait + simLatency
}

func (v *simVolume) Write(p []byte) (int, error) {
	time.Sleep(v.turn())
	return len(p), nil
}

func (v *simVolume) Read(p []byte) (int, error) { return v.Write(p) }

// A run has clients that write as fast as their limiters allow.
type run struct {
	clients sync.WaitGroup
	mu      sync.Mutex
	took    []time.Duration
}

func (r *run) results() (ops int, p90, longest time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.took) == 0 {
		return 0, 0, 0
	}
	slices.Sort(r.took)
	ops, p90, longest = len(r.took), r.took[len(r.took)*9/10], r.took[len(r.took)-1]
	r.took = nil
	return ops, p90, longest
}

func (r *run) start(ctx context.Context, lim *pace.Limiter, v *simVolume, clients int) {
	for range clients {
		r.clients.Go(func() {
			for lim.Wait(ctx, 4096) == nil {
				began := time.Now()
				v.Write(make([]byte, 4096))
				took := time.Since(began)
				lim.ObserveWrite(4096, took)
				r.mu.Lock()
				r.took = append(r.took, took)
				r.mu.Unlock()
			}
		})
	}
}

// A neighbour takes half of a volume for a while. A client that backs off keeps nine
// tenths of the other half, with a queue that is short most of the time, and returns to
// the whole once the neighbour ends.
func TestBacksOffBesideANeighbour(t *testing.T) {
	const iops, clients = 2000, 64
	profile := pace.Profile{IOPS: iops}
	adaptive := func() *pace.Limiter {
		l, err := pace.NewAdaptive(profile, pace.AdaptOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	type phase struct {
		ops          int
		p90, longest time.Duration
		share        float64
	}
	experiment := func(t *testing.T, limiter func() *pace.Limiter) (alone, arrival, beside, after phase) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			lim := limiter()
			v := &simVolume{every: time.Second / iops}
			r := &run{}
			r.start(ctx, lim, v, clients)
			lasting := func(d time.Duration) (p phase) {
				time.Sleep(d)
				p.ops, p.p90, p.longest = r.results()
				p.share = lim.Share()
				return p
			}
			alone = lasting(10 * time.Second)
			ctxN, leave := context.WithCancel(ctx)
			go func() { // asks for half, without waiting for answers
				for ctxN.Err() == nil {
					v.turn()
					time.Sleep(2 * time.Second / iops)
				}
			}()
			arrival = lasting(5 * time.Second)
			beside = lasting(10 * time.Second)
			leave()
			lasting(5 * time.Second)
			after = lasting(10 * time.Second)
			cancel()
			r.clients.Wait()
		})
		t.Logf("alone %+v, a neighbour comes %+v, stays %+v, has gone %+v", alone, arrival, beside, after)
		return
	}

	_, _, fixed, _ := experiment(t, func() *pace.Limiter { return pace.New(profile) })
	alone, arrival, beside, after := experiment(t, adaptive)
	const all = 10 * iops
	if alone.ops < all*95/100 {
		t.Errorf("alone: %d operations in 10 s; want %d, less 5%%", alone.ops, all)
	}
	if alone.p90 > 2*simLatency+10*time.Millisecond {
		t.Errorf("alone: p90 %v", alone.p90)
	}
	if beside.ops < all/2*80/100 || beside.ops > all/2*101/100 {
		t.Errorf("beside a neighbour: %d operations in 10 s; want %d, less 20%%", beside.ops, all/2)
	}
	if beside.p90 > fixed.p90/2 {
		t.Errorf("beside a neighbour: p90 %v, where %v without backing off; want half of that at most", beside.p90, fixed.p90)
	}
	if most := clients * 2 * time.Second / iops * 2; arrival.longest > most {
		t.Errorf("when the neighbour came: %v at most; want %v", arrival.longest, most)
	}
	if after.ops < all*95/100 || after.share != 1 {
		t.Errorf("after it: %d operations in 10 s, share %v; want %d, less 5%%", after.ops, after.share, all)
	}
}

// However slow a volume is, the share stays at the floor.
func TestFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim, err := pace.NewAdaptive(pace.Profile{IOPS: 1000, BytesPerSecond: 100 << 20}, pace.AdaptOptions{Floor: 0.25})
		if err != nil {
			t.Fatal(err)
		}
		lim.ObserveWrite(4096, time.Millisecond)
		for range 1000 { // while the baseline is valid
			time.Sleep(25 * time.Millisecond)
			lim.ObserveWrite(4096, 20*time.Millisecond)
			if s := lim.Share(); s < 0.25 {
				t.Fatalf("a share of %v", s)
			}
		}
		if s := lim.Share(); s != 0.25 {
			t.Errorf("a share of %v; want the floor, 0.25", s)
		}
		// The volume stays slow: the baseline becomes that of the slow volume.
		for range 8000 {
			time.Sleep(25 * time.Millisecond)
			lim.ObserveWrite(4096, 20*time.Millisecond)
		}
		if s := lim.Share(); s != 1 {
			t.Errorf("three minutes later a share of %v; want 1", s)
		}
	})
}

// One slow operation, for example during another client's sync, does not count as a
// queue. Neither do large operations, which take longer, nor those of the period before.
func TestNoQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim, err := pace.NewAdaptive(pace.Profile{IOPS: 1000}, pace.AdaptOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5000 {
			time.Sleep(10 * time.Millisecond)
			switch {
			case i%10 != 0:
				lim.ObserveWrite(4096, time.Duration(1+i%50)*time.Millisecond)
				lim.ObserveWrite(4096, time.Millisecond)
			default:
				lim.ObserveWrite(1<<20, 8*time.Millisecond)
				lim.ObserveWrite(4096, time.Second)
			}
			if lim.Share() != 1 {
				t.Fatalf("after %d rounds a share of %v", i, lim.Share())
			}
		}
	})
}

// Reads that take one millisecond and writes that take three, in turn, do not count as a
// queue. A queue of either does.
func TestReadsAndWritesHaveTheirOwnBaseline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim, err := pace.NewAdaptive(pace.Profile{IOPS: 1000}, pace.AdaptOptions{})
		if err != nil {
			t.Fatal(err)
		}
		phase := func(observe func(int, time.Duration), took time.Duration) {
			for range 200 {
				time.Sleep(took)
				observe(4096, took)
			}
		}
		for range 20 {
			phase(lim.ObserveRead, time.Millisecond)
			phase(lim.ObserveWrite, 3*time.Millisecond)
			if s := lim.Share(); s != 1 {
				t.Fatalf("a share of %v on an idle volume", s)
			}
		}
		phase(lim.ObserveRead, 3*time.Millisecond)
		afterReads := lim.Share()
		if afterReads == 1 {
			t.Error("reads that take three times as long are no queue")
		}
		phase(lim.ObserveWrite, 9*time.Millisecond)
		if s := lim.Share(); s >= afterReads {
			t.Errorf("writes that take three times as long are no queue: a share of %v after %v", s, afterReads)
		}
	})
}

// Writers and Readers measure their own operations.
func TestStreamsBackOff(t *testing.T) {
	for _, kind := range []string{"writer", "reader"} {
		synctest.Test(t, func(t *testing.T) {
			lim, err := pace.NewAdaptive(pace.Profile{IOPS: 1000, IOSize: 4096}, pace.AdaptOptions{})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			v := &simVolume{every: time.Millisecond / 2}
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					if kind == "writer" {
						w := lim.Writer(ctx, v)
						for {
							if _, err := w.Write(make([]byte, 64<<10)); err != nil {
								return
							}
						}
					}
					io.Copy(io.Discard, lim.Reader(ctx, v))
				})
			}
			time.Sleep(5 * time.Second)
			if s := lim.Share(); s != 1 {
				t.Errorf("%s: a share of %v on an idle volume", kind, s)
			}
			v.mu.Lock()
			v.every = 4 * time.Millisecond // 250 a second
			v.mu.Unlock()
			time.Sleep(10 * time.Second)
			if s := lim.Share(); s < 0.15 || s > 0.35 {
				t.Errorf("%s: a share of %v of a volume that has a quarter of its rate left", kind, s)
			}
			cancel()
			wg.Wait()
		})
	}
}

func TestAdaptOptions(t *testing.T) {
	p := pace.Profile{IOPS: 1000}
	for _, c := range []struct {
		p    pace.Profile
		o    pace.AdaptOptions
		want string
	}{
		{p, pace.AdaptOptions{Floor: -0.1}, "AdaptOptions.Floor"},
		{p, pace.AdaptOptions{Floor: 1.1}, "AdaptOptions.Floor"},
		{p, pace.AdaptOptions{Floor: math.NaN()}, "AdaptOptions.Floor"},
		{p, pace.AdaptOptions{Tolerance: 1}, "AdaptOptions.Tolerance"},
		{p, pace.AdaptOptions{Tolerance: math.Inf(1)}, "AdaptOptions.Tolerance"},
		{pace.Profile{}, pace.AdaptOptions{}, "no limit"},
	} {
		if _, err := pace.NewAdaptive(c.p, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v; want an error with %q", c.o, err, c.want)
		}
	}
	l := pace.New(p)
	l.ObserveWrite(4096, time.Hour)
	if l.Share() != 1 {
		t.Error("a limiter of New backs off")
	}
	var zero pace.Limiter
	if err := zero.Wait(t.Context(), 1); err != nil || zero.Share() != 1 {
		t.Errorf("the zero Limiter: %v", err)
	}
}

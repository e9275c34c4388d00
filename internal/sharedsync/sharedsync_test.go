package sharedsync

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// Calls during a sync get a later one, which they share.
func TestFlightsShareTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			f     Group[string]
			runs  atomic.Int32
			first = make(chan struct{})
			wg    sync.WaitGroup
		)
		wg.Go(func() {
			f.Do("d", func() error { runs.Add(1); <-first; return nil })
		})
		synctest.Wait() // the first is under way
		failed := errors.New("failed")
		for range 10 {
			wg.Go(func() {
				if err := f.Do("d", func() error { runs.Add(1); return failed }); err != failed {
					t.Errorf("got %v, want the error of the shared sync", err)
				}
			})
		}
		if err := f.Do("other", func() error { return nil }); err != nil {
			t.Error(err) // another directory does not wait
		}
		synctest.Wait()
		if n := runs.Load(); n != 1 {
			t.Errorf("%d syncs while the first is under way, want 1", n)
		}
		close(first)
		wg.Wait()
		if n := runs.Load(); n != 2 {
			t.Errorf("%d syncs in all, want 2", n)
		}
		if len(f.now) != 0 {
			t.Errorf("%d Group[string] left", len(f.now))
		}
	})
}

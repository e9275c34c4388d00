package atomicfile

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// Whoever comes while a sync is under way must get a later one, and all who
// come share that.
func TestSyncerSharesTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			s     syncer
			runs  atomic.Int32
			first = make(chan struct{})
			wg    sync.WaitGroup
		)
		wg.Go(func() {
			s.do(func() error { runs.Add(1); <-first; return nil })
		})
		synctest.Wait() // the first is under way
		failed := errors.New("failed")
		for range 10 {
			wg.Go(func() {
				if err := s.do(func() error { runs.Add(1); return failed }); err != failed {
					t.Errorf("got %v, want the error of the shared sync", err)
				}
			})
		}
		synctest.Wait()
		if n := runs.Load(); n != 1 {
			t.Errorf("%d syncs while the first is under way, want 1", n)
		}
		close(first)
		wg.Wait()
		if n := runs.Load(); n != 2 || s.now != nil {
			t.Errorf("%d syncs in all, want 2; under way: %v", n, s.now)
		}
	})
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		path, dir, name string
		ok              bool
	}{
		{"f", "", "f", true}, {"d/f", "d/", "f", true}, {"/f", "/", "f", true}, {"l/../f", "l/../", "f", true},
		{"", "", "", false}, {"d/", "", "", false}, {".", "", "", false}, {"d/..", "", "", false}, {"/", "", "", false},
	} {
		dir, name, err := split(c.path)
		if dir != c.dir || name != c.name || (err == nil) != c.ok {
			t.Errorf("%q: %q, %q, %v", c.path, dir, name, err)
		}
	}
}

package logstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// A signal wakes a goroutine. Signals sent before it wakes are merged into one.
type signal chan struct{}

func (c signal) wake() {
	select {
	case c <- struct{}{}:
	default:
	}
}

// repeat calls f after each signal, and every interval, until ctx is done.
func (c signal) repeat(ctx context.Context, interval time.Duration, f func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-c:
		}
		f()
	}
}

// backgroundErrors holds the last error of each kind of background work, until
// the work succeeds.
type backgroundErrors struct {
	mu   sync.Mutex
	errs map[string]error
}

func (t *backgroundErrors) set(work string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		delete(t.errs, work)
	} else {
		t.errs[work] = fmt.Errorf("%s: %w", work, err)
	}
}

func (t *backgroundErrors) get() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	for _, work := range slices.Sorted(maps.Keys(t.errs)) {
		errs = append(errs, t.errs[work])
	}
	return errors.Join(errs...)
}

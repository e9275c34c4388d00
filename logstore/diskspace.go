package logstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/internal/sys"
)

// A diskSpace knows how much room the file system has. It looks about once a
// second, and whenever much has been written.
type diskSpace struct {
	dir string
	// Bytes that must be free: for others, by Options.MinFree, and for the log
	// and what is in memory, where the files that the log has ready count as
	// free. They are: the log writes to them before it asks for more.
	minFree, reserved int64
	preallocated      func() int64
	required          atomic.Int64 // of both, when it looked last
	written           atomic.Int64
	free              atomic.Int64 // bytes, when it looked last
	low               atomic.Bool
	refreshSignal     signal
	statfs            func(string) (sys.FSInfo, error)
	known             bool // statfs works here
}

const (
	refreshEvery = time.Second
	// refreshBytes is what may be written between two looks.
	refreshBytes = 32 << 20
)

// init looks for the first time. ready returns the bytes of the files that the
// log has made and not yet written to. Off Linux there may be nothing to ask.
func (w *diskSpace) init(dir string, o *Options, ready func() int64) error {
	w.dir, w.refreshSignal, w.statfs, w.preallocated = dir, make(signal, 1), o.statfs, ready
	info, err := w.statfs(dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
	w.known = true
	w.minFree, w.reserved = o.minFree(info.Total), o.reservedFree()
	w.refresh()
	return nil
}

// hasFree tells whether n bytes may be taken for a while, without appends being
// refused for it.
func (w *diskSpace) hasFree(n int64) bool {
	if !w.known {
		return true
	}
	w.refresh()
	return w.free.Load()-w.required.Load() >= n
}

// refresh asks the file system. An error leaves what was known: a file system that
// cannot tell is not full.
func (w *diskSpace) refresh() {
	w.written.Store(0)
	info, err := w.statfs(w.dir)
	if err != nil {
		return
	}
	least := max(w.minFree, w.reserved-w.preallocated())
	w.free.Store(info.Free)
	w.required.Store(least)
	w.low.Store(info.Free < least)
}

// wrote tells that n bytes were written.
func (w *diskSpace) wrote(n int64) {
	if w.written.Add(n) >= refreshBytes {
		w.written.Store(0)
		w.refreshSignal.wake()
	}
}

// check says why nothing may be appended, or returns nil.
func (w *diskSpace) check() error {
	if !w.low.Load() {
		return nil
	}
	return fmt.Errorf("%w: %d MiB; want %d MiB or more: appends go on when there are", ErrLowSpace, w.free.Load()>>20, w.required.Load()>>20)
}

// setLow is the error of a write that the file system had no room for.
func (w *diskSpace) setLow(cause error) error {
	w.low.Store(true)
	return fmt.Errorf("%w: %w", ErrLowSpace, cause)
}

// run looks until ctx is done. low is called when there is too little room.
func (w *diskSpace) run(ctx context.Context, low func()) {
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-w.refreshSignal:
		}
		if w.refresh(); w.low.Load() {
			low()
		}
	}
}

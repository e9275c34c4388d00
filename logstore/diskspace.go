package logstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/internal/sys"
)

// A diskSpace monitors the free space of the file system. It reads it about
// once a second, and whenever much was written.
type diskSpace struct {
	dir string
	// Bytes that must be free: by Options.MinFree, and for the log and memtables.
	// Preallocated log files count as free, as the log writes to them first.
	minFree, reserved int64
	preallocated      func() int64
	required          atomic.Int64 // the larger of both, when last read
	written           atomic.Int64
	free              atomic.Int64 // bytes, when last read
	low               atomic.Bool
	refreshSignal     signal
	statfs            func(string) (sys.FSInfo, error)
	known             bool // statfs works here
	// changed is called with low when it has changed, and with free.
	changed func(low bool, free int64)
}

const (
	refreshEvery = time.Second
	// refreshBytes is how much is written before the free space is read again.
	refreshBytes = 32 << 20
)

// init reads the free space for the first time. preallocated returns the bytes
// of log files that are not yet written to. Off Linux free space may be
// unknown.
func (w *diskSpace) init(dir string, o *Options, preallocated func() int64) error {
	w.dir, w.refreshSignal, w.statfs, w.preallocated = dir, make(signal, 1), o.statfs, preallocated
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

// checkFree returns an error, ErrLowSpace, if n bytes cannot be used without appends
// being refused for lack of space.
func (w *diskSpace) checkFree(n int64) error {
	if !w.known {
		return nil
	}
	w.refresh()
	free, required := w.free.Load(), w.required.Load()
	if free-required >= n {
		return nil
	}
	return fmt.Errorf("%w: %d MiB; want %d MiB: this needs %d, and appends %d", ErrLowSpace, free>>20, mebibytes(required+n), mebibytes(n), mebibytes(required))
}

// mebibytes rounds up.
func mebibytes(n int64) int64 { return (n + 1<<20 - 1) >> 20 }

// refresh reads the free space. After an error the last figures stay: an error
// does not mean that the file system is full.
func (w *diskSpace) refresh() {
	w.written.Store(0)
	info, err := w.statfs(w.dir)
	if err != nil {
		if !w.known { // only the next write can tell
			w.set(false)
		}
		return
	}
	least := max(w.minFree, w.reserved-w.preallocated())
	w.free.Store(info.Free)
	w.required.Store(least)
	w.set(info.Free < least)
}

// set sets low.
func (w *diskSpace) set(low bool) {
	if w.low.Swap(low) != low && w.changed != nil {
		w.changed(low, w.free.Load())
	}
}

// wrote counts n written bytes.
func (w *diskSpace) wrote(n int64) {
	if w.written.Add(n) >= refreshBytes {
		w.written.Store(0)
		w.refreshSignal.wake()
	}
}

// check returns an error if nothing may be appended.
func (w *diskSpace) check() error {
	if !w.low.Load() {
		return nil
	}
	return fmt.Errorf("%w: %d MiB; want %d MiB or more: appends go on when there are", ErrLowSpace, w.free.Load()>>20, w.required.Load()>>20)
}

// setLow returns the error of a write that found no space, and refuses appends
// until the next refresh.
func (w *diskSpace) setLow(cause error) error {
	w.set(true)
	return fmt.Errorf("%w: %w", ErrLowSpace, cause)
}

// confirm returns the error of a write that found no space, as ErrLowSpace if the file
// system says so too, or if it is not the first: a moment without space is nothing that
// appends need to be refused for.
func (w *diskSpace) confirm(cause error, again bool) error {
	w.refresh()
	if again || w.low.Load() || !w.known {
		return w.setLow(cause)
	}
	return cause
}

// run refreshes until ctx is done. low is called while there is too little
// space.
func (w *diskSpace) run(ctx context.Context, low func()) {
	w.refreshSignal.repeat(ctx, refreshEvery, func() {
		if w.refresh(); w.low.Load() {
			low()
		}
	})
}

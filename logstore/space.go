package logstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/internal/sys"
)

// A spaceWatch knows how much room the file system has. It looks about once a
// second, and whenever much has been written.
type spaceWatch struct {
	dir     string
	least   int64 // bytes that must be free
	written atomic.Int64
	free    atomic.Int64 // bytes, when it looked last
	low     atomic.Bool
	soon    signal
	statfs  func(string) (sys.FSInfo, error)
	known   bool // statfs works here
}

const (
	spaceEvery = time.Second
	// spaceBytes is what may be written between two looks.
	spaceBytes = 32 << 20
)

// begin looks for the first time. Off Linux there may be nothing to ask.
func (w *spaceWatch) begin(dir string, o *Options) error {
	w.dir, w.soon, w.statfs = dir, make(signal, 1), o.statfs
	info, err := w.statfs(dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
	w.known = true
	w.least = o.minFree(info.Total)
	w.look()
	return nil
}

// room tells whether n bytes may be taken for a while, without appends being
// refused for it.
func (w *spaceWatch) room(n int64) bool {
	if !w.known {
		return true
	}
	w.look()
	return w.free.Load()-w.least >= n
}

// look asks the file system. An error leaves what was known: a file system that
// cannot tell is not full.
func (w *spaceWatch) look() {
	w.written.Store(0)
	info, err := w.statfs(w.dir)
	if err != nil {
		return
	}
	w.free.Store(info.Free)
	w.low.Store(info.Free < w.least)
}

// wrote tells that n bytes were written.
func (w *spaceWatch) wrote(n int64) {
	if w.written.Add(n) >= spaceBytes {
		w.written.Store(0)
		w.soon.wake()
	}
}

// refuses says why nothing may be appended, or returns nil.
func (w *spaceWatch) refuses() error {
	if !w.low.Load() {
		return nil
	}
	return fmt.Errorf("%w: %d MiB, and %d are to stay free; appends go on when there is room", ErrLowSpace, w.free.Load()>>20, w.least>>20)
}

// full is the error of a write that the file system had no room for.
func (w *spaceWatch) full(cause error) error {
	w.low.Store(true)
	return fmt.Errorf("%w: %w", ErrLowSpace, cause)
}

// run looks until ctx is done. low is called when there is too little room.
func (w *spaceWatch) run(ctx context.Context, low func()) {
	tick := time.NewTicker(spaceEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-w.soon:
		}
		if w.look(); w.low.Load() {
			low()
		}
	}
}

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
	dir string
	// Bytes that must be free: for others, by Options.MinFree, and for the log
	// and what is in memory, where the files that the log has ready count as
	// free. They are: the log writes to them before it asks for more.
	others, own int64
	ready       func() int64
	least       atomic.Int64 // of both, when it looked last
	written     atomic.Int64
	free        atomic.Int64 // bytes, when it looked last
	low         atomic.Bool
	soon        signal
	statfs      func(string) (sys.FSInfo, error)
	known       bool // statfs works here
}

const (
	spaceEvery = time.Second
	// spaceBytes is what may be written between two looks.
	spaceBytes = 32 << 20
)

// begin looks for the first time. ready returns the bytes of the files that the
// log has made and not yet written to. Off Linux there may be nothing to ask.
func (w *spaceWatch) begin(dir string, o *Options, ready func() int64) error {
	w.dir, w.soon, w.statfs, w.ready = dir, make(signal, 1), o.statfs, ready
	info, err := w.statfs(dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
	w.known = true
	w.others, w.own = o.minFree(info.Total), o.ownFree()
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
	return w.free.Load()-w.least.Load() >= n
}

// look asks the file system. An error leaves what was known: a file system that
// cannot tell is not full.
func (w *spaceWatch) look() {
	w.written.Store(0)
	info, err := w.statfs(w.dir)
	if err != nil {
		return
	}
	least := max(w.others, w.own-w.ready())
	w.free.Store(info.Free)
	w.least.Store(least)
	w.low.Store(info.Free < least)
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
	return fmt.Errorf("%w: %d MiB, and %d are to stay free; appends go on when there is room", ErrLowSpace, w.free.Load()>>20, w.least.Load()>>20)
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

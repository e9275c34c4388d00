package fileio

import (
	"fmt"
	"os"
	"time"

	"github.com/stele-go/stele/internal/sys"
)

// makeDurable makes everything written until now durable. mu is held at the call and at
// the return, and released during the sync.
func (w *Writer) makeDurable() error {
	if w.clean == w.hi && w.isDurable(w.written()) {
		return nil
	}
	return w.makeDurableFrom(time.Now())
}

// makeDurableFrom is makeDurable for a commit that began at start.
func (w *Writer) makeDurableFrom(start time.Time) error {
	err := w.flushAndSync()
	if err == nil {
		w.times.commit.Record(time.Since(start))
	}
	return err
}

func (w *Writer) flushAndSync() error {
	if err := w.flush(true); err != nil {
		return err
	}
	target := w.written()
	if w.isDurable(target) {
		return nil
	}
	w.mu.Unlock()
	w.syncing.Lock()
	w.mu.Lock()
	defer w.syncing.Unlock()
	switch {
	case w.err != nil:
		return w.err
	case w.isDurable(target): // by the goroutine that held it
		return nil
	case w.released:
		return w.pathError("sync", os.ErrClosed)
	}
	from, to := w.synced, w.written()
	mechanism := w.sync
	w.mu.Unlock()
	start := time.Now()
	err := w.syncFile(mechanism, from, to-from)
	if err == nil {
		w.times.sync.Record(time.Since(start))
	}
	w.traceOp(OpSync, from, to-from, start, err)
	w.mu.Lock()
	w.stats.Syncs++
	switch {
	case err != nil && w.err == nil:
		return w.fail(string(mechanism), err)
	case err != nil:
		return w.pathError(string(mechanism), err)
	}
	// A write may have failed meanwhile. The bytes of this commit are durable, so
	// the next call returns that error.
	w.synced, w.priorUnsynced = max(w.synced, to), false
	return nil
}

// isDurable reports whether everything written before target is durable.
func (w *Writer) isDurable(target int64) bool {
	return w.synced >= target && (!w.priorUnsynced || target == w.start)
}

func (w *Writer) syncFile(m Mechanism, off, n int64) error {
	switch m {
	case SyncFsync:
		return sys.SyncAll(w.f)
	case SyncRange:
		return sys.SyncRange(w.f, off, n)
	}
	return sys.SyncData(w.f)
}

// openDsync opens the file again with O_DSYNC, unless it was opened so: the flag cannot
// be set on an open descriptor (fcntl(2), F_SETFL).
func (w *Writer) openDsync() error {
	opened, err := sys.OpenedFor(w.f)
	if err != nil || opened.Durable {
		return cause(err)
	}
	if w.dsyncFile, err = sys.Reopen(w.f, false, true); err != nil {
		return fmt.Errorf("%s: %w", SyncODsync, cause(err))
	}
	return nil
}

// startTimer starts the timer of EveryInterval, if there are bytes to make durable and
// it does not run.
func (w *Writer) startTimer() {
	if w.policy.kind != everyInterval || w.timerSet || w.closed || w.err != nil || w.synced >= w.base+int64(w.hi) {
		return
	}
	w.timerSet = true
	if w.timer == nil {
		w.timer = time.AfterFunc(w.policy.every, w.onTimer)
	} else {
		w.timer.Reset(w.policy.every)
	}
}

// onTimer makes everything durable when the interval has passed. An error is final.
func (w *Writer) onTimer() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timerSet = false
	if w.check() != nil {
		return
	}
	_ = w.flushAndSync() // not makeDurable: no commit to time
	w.startTimer()
}

package claims

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/suites/wals"
)

// The sizes of L10, as published; that the ring of pages has 16 is not said
// there: so eight can be filled while eight are being synced.
const (
	l10Ring    = 64 << 10
	l10Page    = 4 << 10
	l10Pages   = 16
	l10Full    = 3 // so many full pages go, if there is nothing in the ring
	l10Most    = 8 // so many go in any case, and no more at once
	l10Timeout = 5 * time.Millisecond
)

// threeLevels is a log with three levels of buffers. Records go into a ring in
// memory, one goroutine moves their bytes from there into pages, and another
// one writes and syncs pages. All offsets are those of the file; synced <=
// moved <= added.
type threeLevels struct {
	f  *os.File
	mu sync.Mutex
	// ringed: bytes came to the ring, or it was closed; moves: to the pages;
	// syncs: out of them.
	ringed, moves, syncs sync.Cond

	ring  [l10Ring]byte // of it, the bytes from moved to added are in use
	pages [l10Pages * l10Page]byte
	frame []byte

	added, moved, synced int64
	waits                time.Time // since when the byte at synced is in the pages; zero: there is none
	closed               bool
	err                  error // the first: nothing is synced any more
	ended                sync.WaitGroup
}

func newThreeLevels(f *os.File) *threeLevels {
	t := &threeLevels{f: f}
	t.ringed.L, t.moves.L, t.syncs.L = &t.mu, &t.mu, &t.mu
	t.ended.Go(t.mover)
	t.ended.Go(t.syncer)
	return t
}

// append puts a record into the ring, and waits until it is durable if wanted.
func (t *threeLevels) append(rec []byte, durable bool) error {
	if wals.FrameHead+len(rec) > l10Ring {
		return fmt.Errorf("a record of %d bytes does not go into a ring of %d", len(rec), l10Ring)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.err == nil && t.added+int64(wals.FrameHead+len(rec))-t.moved > l10Ring {
		t.moves.Wait()
	}
	if t.err != nil {
		return t.err
	}
	t.frame = wals.AppendFrame(t.frame[:0], rec)
	putRing(t.ring[:], t.added, t.frame)
	t.added += int64(len(t.frame))
	end := t.added
	t.ringed.Signal()
	for durable && t.err == nil && t.synced < end {
		t.syncs.Wait()
	}
	return t.err
}

// putRing copies b into ring, where the byte at off of a stream belongs.
func putRing(ring []byte, off int64, b []byte) {
	for len(b) > 0 {
		n := copy(ring[off%int64(len(ring)):], b)
		b, off = b[n:], off+int64(n)
	}
}

// mover moves bytes from the ring into the pages, as many as fit.
func (t *threeLevels) mover() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		room := t.synced/l10Page*l10Page + l10Pages*l10Page - t.moved
		switch n := min(t.added-t.moved, room); {
		case t.err != nil || t.closed && t.added == t.moved:
			t.moves.Broadcast()
			return
		case n == 0 && room == 0:
			t.syncs.Wait()
		case n == 0:
			t.ringed.Wait()
		default:
			at := t.moved % l10Ring
			part := t.ring[at:min(at+n, l10Ring)]
			putRing(t.pages[:], t.moved, part)
			if t.waits.IsZero() {
				t.waits = time.Now()
				time.AfterFunc(l10Timeout, t.wake)
			}
			t.moved += int64(len(part))
			t.moves.Broadcast()
		}
	}
}

// wake has the syncer look at the clock.
func (t *threeLevels) wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.moves.Broadcast()
}

// due is up to where the pages are to be synced now.
func (t *threeLevels) due() int64 {
	first, full := t.synced/l10Page, t.moved/l10Page
	most := (first + l10Most) * l10Page
	switch {
	case t.moved == t.synced:
		return t.synced
	case t.closed && t.moved == t.added, time.Since(t.waits) >= l10Timeout:
		return min(t.moved, most)
	case full-first >= l10Most, full-first >= l10Full && t.added == t.moved:
		return min(full*l10Page, most)
	}
	return t.synced
}

// syncer writes and syncs what is due.
func (t *threeLevels) syncer() {
	var buf []byte
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.err == nil {
		from, to := t.synced, t.due()
		if from == to {
			if t.closed && t.added == t.synced {
				return
			}
			t.moves.Wait()
			continue
		}
		buf = buf[:0]
		for off := from; off < to; {
			at := off % int64(len(t.pages))
			part := t.pages[at:min(at+to-off, int64(len(t.pages)))]
			buf, off = append(buf, part...), off+int64(len(part))
		}
		t.mu.Unlock()
		_, err := t.f.WriteAt(buf, from)
		if err == nil {
			err = sys.SyncData(t.f)
		}
		t.mu.Lock()
		if t.err = err; err == nil {
			t.synced = to
			t.waits = time.Time{}
			if t.moved > to {
				t.waits = time.Now()
				time.AfterFunc(l10Timeout, t.wake)
			}
		}
		t.syncs.Broadcast()
		t.ringed.Broadcast()
	}
	t.moves.Broadcast()
}

// close syncs all that was added.
func (t *threeLevels) close() error {
	t.mu.Lock()
	t.closed = true
	t.ringed.Broadcast()
	t.moves.Broadcast()
	t.syncs.Broadcast()
	t.mu.Unlock()
	t.ended.Wait()
	return errors.Join(t.err, t.f.Close())
}

package server

import (
	"net/http"
	"time"
)

// The memory of a push is that of its body, of what that is decompressed, and of its entries.
// The push waits for it only while it holds none, as all that hold some might wait for each
// other.

// reserve gives back the memory of a push and acquires n+more bytes, for which it waits up
// to PushLimits.Wait. n of them are in use, or about to be.
func (u *pusher) reserve(p *push, n, more int64) error {
	u.free(p)
	all := n + more
	if !u.tryAcquire(all) {
		begun := time.Now()
		if err := u.waitFor(all); err != nil {
			return err
		}
		p.begun = time.Now()
		pauseBody(p.body, p.begun.Sub(begun))
	}
	p.held, p.spare = all, more
	return nil
}

// tryAcquire acquires n bytes if so many are free.
func (u *pusher) tryAcquire(n int64) bool {
	got := u.memory.TryAcquire(n, 0)
	if got < n {
		u.memory.Release(got)
	}
	return got == n
}

func (u *pusher) waitFor(n int64) error {
	u.m.waiting.Inc()
	defer u.m.waiting.Dec()
	if _, err := u.memory.Acquire(u.shared.context(time.Now()), n); err != nil {
		u.m.noMemory.Inc()
		return retryLater(http.StatusTooManyRequests, 1, "the bodies of other pushes have all memory: %w", err)
	}
	return nil
}

// take takes n bytes more, without waiting.
func (u *pusher) take(p *push, n int64) error {
	if short := n - p.spare; short > 0 {
		if p.held+short > u.o.Memory {
			return refuse(http.StatusRequestEntityTooLarge, "the push takes more than the %d bytes of memory that all pushes have; send several pushes", u.o.Memory)
		}
		if !u.tryAcquire(short) {
			u.m.noMemory.Inc()
			return retryLater(http.StatusTooManyRequests, 1, "the bodies of other pushes have all memory")
		}
		p.held, p.spare = p.held+short, p.spare+short
	}
	p.spare -= n
	return nil
}

// buffer returns a buffer, whose memory is taken.
func (u *pusher) buffer(p *push, n int) (*buffer, error) {
	if err := u.take(p, bufferSize(n)); err != nil {
		return nil, err
	}
	return newBuffer(n), nil
}

// free gives back the memory of a push.
func (u *pusher) free(p *push) {
	u.memory.Release(p.held)
	p.held, p.spare = 0, 0
}

// Charge takes memory for entries, see lokipush.Account.
func (p *push) Charge(bytes int64) error { return p.of.take(p, bytes) }

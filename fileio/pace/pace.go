package pace

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"time"

	"golang.org/x/time/rate"
)

// defaultPiece is the size of a Writer's or a Reader's operations if the profile has no
// IOSize, in bytes.
const defaultPiece = 256 << 10

// burstTime is the default burst: what the limits allow in that time.
const burstTime = 10 * time.Millisecond

// A Limiter limits operations to the rate of a volume. Any number of goroutines,
// Writers and Readers share its limits: use one Limiter for each volume. New and
// NewAdaptive return one; the zero value has no limits.
type Limiter struct {
	profile    Profile
	ops, bytes *rate.Limiter // nil: no such limit
	adapt      *adapter      // nil: the limits are fixed
}

// New returns a Limiter with the limits of p. It starts with a full burst.
func New(p Profile) *Limiter {
	l := &Limiter{profile: p}
	if p.IOPS > 0 {
		l.ops = newLimiter(float64(p.IOPS), p.BurstOps)
	}
	if p.BytesPerSecond > 0 {
		l.bytes = newLimiter(float64(p.BytesPerSecond), p.BurstBytes)
	}
	return l
}

func newLimiter(perSecond float64, burst int) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(perSecond), burstOf(perSecond, burst))
}

func burstOf(perSecond float64, burst int) int {
	if burst <= 0 {
		burst = max(1, int(perSecond*burstTime.Seconds()))
	}
	return burst
}

// Profile returns the profile that the Limiter was made with.
func (l *Limiter) Profile() Profile { return l.profile }

// Wait waits until a request of n bytes is allowed by both limits, and counts it: n
// bytes, and as many operations as a request of that size counts for. 0 bytes are one
// operation, so that a sync can be counted.
//
// Wait returns the error of ctx once ctx is done, and context.DeadlineExceeded at once
// if the deadline of ctx comes before the request is allowed; the request is then not
// counted, except for the parts of a large one that were already allowed.
func (l *Limiter) Wait(ctx context.Context, n int) error {
	return l.take(ctx, l.operations(n), n)
}

// operations returns how many operations a request of n bytes counts for.
func (l *Limiter) operations(n int) int {
	if l.profile.IOSize <= 0 {
		return 1
	}
	return max(1, (n+l.profile.IOSize-1)/l.profile.IOSize)
}

// take takes from both limits at once, so that the wait is the longer of the two and
// not their sum. It takes more than a burst in parts, as rate.Limiter refuses that.
func (l *Limiter) take(ctx context.Context, ops, bytes int) error {
	for ops > 0 || bytes > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		now := time.Now()
		o, opsTaken := reserve(l.ops, now, ops)
		b, bytesTaken := reserve(l.bytes, now, bytes)
		wait := max(delay(o, now), delay(b, now))
		if err := sleep(ctx, wait); err != nil {
			cancel(o)
			cancel(b)
			return err
		}
		ops, bytes = ops-opsTaken, bytes-bytesTaken
	}
	return nil
}

func reserve(lim *rate.Limiter, now time.Time, n int) (*rate.Reservation, int) {
	if lim == nil || n == 0 {
		return nil, n
	}
	for {
		n = min(n, lim.Burst())
		if r := lim.ReserveN(now, n); r.OK() {
			return r, n
		} // else the burst has shrunk just now
	}
}

func delay(r *rate.Reservation, now time.Time) time.Duration {
	if r == nil {
		return 0
	}
	return r.DelayFrom(now)
}

func cancel(r *rate.Reservation) {
	if r != nil {
		r.Cancel()
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d {
		return context.DeadlineExceeded
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// piece returns the size of one operation of a Writer or a Reader, small enough that
// other requests do not wait long for it.
func (l *Limiter) piece() int {
	if l.profile.IOSize > 0 {
		return l.profile.IOSize
	}
	return defaultPiece
}

// errZero is the error of a Writer or a Reader without a Limiter or a stream.
var errZero = fmt.Errorf("made without a Limiter, or of a nil stream; want one of Limiter.Writer or Limiter.Reader: %w", fs.ErrInvalid)

// A Writer paces writes. The zero Writer fails with fs.ErrInvalid.
type Writer struct {
	ctx context.Context
	lim *Limiter
	w   io.Writer
}

// Writer returns a Writer to w that keeps to the limits. Written bytes survive what they
// survive in w. Once ctx is done, its waits end.
func (l *Limiter) Writer(ctx context.Context, w io.Writer) *Writer {
	return &Writer{ctx, l, w}
}

// Write writes p in pieces of one operation each (Profile.IOSize, else 256 KiB), and
// waits before each. If the context is done it returns the context's error and the
// number of bytes written before.
func (w *Writer) Write(p []byte) (n int, err error) {
	if w.w == nil || w.lim == nil {
		return 0, fmt.Errorf("pace: write: %w", errZero)
	}
	for {
		part := p[n:min(len(p), n+w.lim.piece())]
		if err := w.lim.take(w.ctx, 1, len(part)); err != nil {
			return n, err
		}
		m, err := w.write(part)
		n += m
		switch {
		case err != nil:
			return n, err
		case m < len(part):
			return n, io.ErrShortWrite
		case n == len(p):
			return n, nil
		}
	}
}

// write writes p and, for an adaptive limiter, measures it.
func (w *Writer) write(p []byte) (int, error) {
	if w.lim.adapt == nil {
		return w.w.Write(p)
	}
	began := time.Now()
	n, err := w.w.Write(p)
	if err == nil {
		w.lim.ObserveWrite(n, time.Since(began))
	}
	return n, err
}

// A Reader paces reads. The zero Reader fails with fs.ErrInvalid.
type Reader struct {
	ctx context.Context
	lim *Limiter
	r   io.Reader
}

// Reader returns a Reader from r that keeps to the limits. Once ctx is done, its waits
// end.
func (l *Limiter) Reader(ctx context.Context, r io.Reader) *Reader {
	return &Reader{ctx, l, r}
}

// Read reads at most one operation (Profile.IOSize, else 256 KiB). It counts the bytes
// after the read, when their number is known: if the context ends the wait for that,
// Read returns them with the context's error.
func (r *Reader) Read(p []byte) (int, error) {
	if r.r == nil || r.lim == nil {
		return 0, fmt.Errorf("pace: read: %w", errZero)
	}
	if err := r.lim.take(r.ctx, 1, 0); err != nil {
		return 0, err
	}
	n, err := r.read(p[:min(len(p), r.lim.piece())])
	if werr := r.lim.take(r.ctx, 0, n); err == nil {
		err = werr
	}
	return n, err
}

// read reads into p and, for an adaptive limiter, measures it.
func (r *Reader) read(p []byte) (int, error) {
	if r.lim.adapt == nil {
		return r.r.Read(p)
	}
	began := time.Now()
	n, err := r.r.Read(p)
	if err == nil && n > 0 {
		r.lim.ObserveRead(n, time.Since(began))
	}
	return n, err
}

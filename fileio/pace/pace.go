package pace

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"time"

	"golang.org/x/time/rate"
)

// defaultPiece is what a Writer or a Reader moves at a time where the profile
// has no size of operations, in bytes.
const defaultPiece = 256 << 10

// burstTime is the burst that a profile has by default.
const burstTime = 10 * time.Millisecond

// A Limiter lets operations pass as fast as a volume takes them. It is for one
// volume and for all who use it: any number of goroutines, Writers and Readers
// share its limits. It is made by New or NewAdaptive; the zero value has no
// limits.
type Limiter struct {
	profile    Profile
	ops, bytes *rate.Limiter // nil: no such limit
	adapt      *adapter      // nil: the limits stay
}

// New returns a limiter with the limits of p. It begins with a whole burst.
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

// Profile returns what the limiter was made with.
func (l *Limiter) Profile() Profile { return l.profile }

// Wait waits until one request of n bytes may pass, and takes its share of
// both limits: n bytes, and as many operations as a request of that size
// counts for. 0 bytes are one operation; so a sync can be counted.
//
// It ends early with the error of ctx, and at once if ctx has a deadline that
// comes before the turn of the request; then the share is given back as far as
// it was not used.
func (l *Limiter) Wait(ctx context.Context, n int) error {
	return l.take(ctx, l.operations(n), n)
}

// operations counts what a request of n bytes is for the volume.
func (l *Limiter) operations(n int) int {
	if l.profile.IOSize <= 0 {
		return 1
	}
	return max(1, (n+l.profile.IOSize-1)/l.profile.IOSize)
}

// take takes from both limits at once, so that the wait is the longer of the
// two and not their sum. A limiter refuses more than its burst; more is taken
// in parts.
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

// piece is the most that is moved at a time. It is one operation, and small
// enough that a request never waits for much more than its share.
func (l *Limiter) piece() int {
	if l.profile.IOSize > 0 {
		return l.profile.IOSize
	}
	return defaultPiece
}

// errUnmade is the error of a Writer or a Reader that no Limiter has made.
var errUnmade = fmt.Errorf("it was made without a Limiter, or of nothing: %w", fs.ErrInvalid)

// A Writer paces what is written through it. The zero Writer fails with
// fs.ErrInvalid.
type Writer struct {
	ctx context.Context
	lim *Limiter
	w   io.Writer
}

// Writer returns a writer to w that keeps to the limits. What is written
// survives what it would survive in w. ctx ends its waits.
func (l *Limiter) Writer(ctx context.Context, w io.Writer) *Writer {
	return &Writer{ctx, l, w}
}

// Write writes p in pieces of one operation each (256 KiB where the profile
// does not tell how large that is), each in its turn. It returns the error of
// the context if that ends, with what was written until then.
func (w *Writer) Write(p []byte) (n int, err error) {
	if w.w == nil || w.lim == nil {
		return 0, fmt.Errorf("pace: write: %w", errUnmade)
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

// A Reader paces what is read through it. The zero Reader fails with
// fs.ErrInvalid.
type Reader struct {
	ctx context.Context
	lim *Limiter
	r   io.Reader
}

// Reader returns a reader from r that keeps to the limits. ctx ends its waits.
func (l *Limiter) Reader(ctx context.Context, r io.Reader) *Reader {
	return &Reader{ctx, l, r}
}

// Read reads at most one operation (256 KiB where the profile does not tell
// how large that is). The bytes are counted after they came, as nobody knows
// before how many there will be: where the context ends the wait for that,
// they are returned with its error.
func (r *Reader) Read(p []byte) (int, error) {
	if r.r == nil || r.lim == nil {
		return 0, fmt.Errorf("pace: read: %w", errUnmade)
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

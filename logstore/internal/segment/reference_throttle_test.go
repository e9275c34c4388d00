package segment

import (
	"context"
	"io"
	"runtime"
)

// throttled returns the segment as Merge reads it: in steps, and with its own
// reference to the tables, whatever Trim does to s.
func (s *Segment) throttled(ctx context.Context, pace func(context.Context, int) error) (*Segment, *tables, error) {
	t, err := s.load()
	if err != nil {
		return nil, nil, err
	}
	p := &Segment{src: &throttledSource{ctx, s.src, pace}, footer: s.footer, scanned: s.scanned}
	p.tables.Store(t)
	return p, t, nil
}

// step waits until n bytes may be read or written. It yields first: runnable
// goroutines may be appends.
func step(ctx context.Context, pace func(context.Context, int) error, n int) error {
	runtime.Gosched()
	if err := ctx.Err(); err != nil || pace == nil {
		return err
	}
	return pace(ctx, n)
}

// A throttledSource reads in steps of groupSize.
type throttledSource struct {
	ctx context.Context
	Source
	throttle func(context.Context, int) error
}

func (s *throttledSource) ReadAt(p []byte, off int64) (done int, err error) {
	for done < len(p) && err == nil {
		n := min(len(p)-done, groupSize)
		if err := step(s.ctx, s.throttle, n); err != nil {
			return done, err
		}
		got := 0
		got, err = s.Source.ReadAt(p[done:done+n], off+int64(done))
		done += got
		if err == nil && got < n {
			err = io.ErrUnexpectedEOF
		}
	}
	return done, err
}

// A throttledWriter throttles the output of a Writer, which writes at most
// groupSize in one call.
type throttledWriter struct {
	ctx      context.Context
	w        io.Writer
	throttle func(context.Context, int) error
}

func (w *throttledWriter) Write(p []byte) (int, error) {
	if err := step(w.ctx, w.throttle, len(p)); err != nil {
		return 0, err
	}
	return w.w.Write(p)
}

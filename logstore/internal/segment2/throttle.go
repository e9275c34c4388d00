package segment2

import (
	"context"
	"io"
	"runtime"
)

// A throttle is called before n bytes are read or written, at most writeSize,
// and may wait.
type throttle func(ctx context.Context, n int) error

// wait waits until n bytes may be read or written. It yields first: runnable
// goroutines may be appends.
func (t throttle) wait(ctx context.Context, n int) error {
	runtime.Gosched()
	if err := ctx.Err(); err != nil || t == nil {
		return err
	}
	return t(ctx, n)
}

// A throttledSource reads in steps of writeSize, with its context. It is no Viewer.
type throttledSource struct {
	Source
	ctx      context.Context
	throttle throttle
}

func newThrottledSource(ctx context.Context, src Source, t throttle) *throttledSource {
	return &throttledSource{Within(ctx, src), ctx, t}
}

func (s *throttledSource) ReadAt(p []byte, off int64) (done int, err error) {
	for done < len(p) && err == nil {
		n := min(len(p)-done, writeSize)
		if err := s.throttle.wait(s.ctx, n); err != nil {
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
// writeSize in one call.
type throttledWriter struct {
	ctx      context.Context
	w        io.Writer
	throttle throttle
}

func (w *throttledWriter) Write(p []byte) (int, error) {
	if err := w.throttle.wait(w.ctx, len(p)); err != nil {
		return 0, err
	}
	return w.w.Write(p)
}

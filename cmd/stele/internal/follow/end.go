package follow

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"
)

// atEnd is called at the end of the text. It returns the rest of a file that is complete,
// or waits, or changes to the next file.
func (s *Source) atEnd(ctx context.Context) ([]Line, error) {
	state, err := s.look()
	if err != nil {
		return nil, err
	}
	switch state {
	case truncated:
		if s.followCopy() {
			return nil, nil
		}
		lines := s.rest()
		return lines, s.leave()
	case away:
		lines := s.rest()
		return lines, s.leave()
	case leaving:
		s.wait(ctx, min(often, s.o.Grace))
	default:
		if !s.o.Follow {
			if lines := s.rest(); len(lines) > 0 {
				return lines, nil
			}
			return nil, s.markEnd()
		}
		s.shrink()
		s.wait(ctx, s.watch.interval())
	}
	return nil, nil
}

// A state is what has become of the current file.
type state int

const (
	there     state = iota // it has the name of the source
	leaving                // another one has, but this one may still grow
	away                   // it is complete
	truncated              // it has another content
)

// look tells what has become of the current file.
func (s *Source) look() (state, error) {
	fi, err := s.cur.Stat()
	if err != nil {
		return there, err
	}
	if s.torn || s.atPath && !s.packed && !s.isAsSeen(fi) && s.replaced(s.offset) {
		return truncated, nil
	}
	if s.seen = nil; time.Since(fi.ModTime()).Abs() > 2*time.Second {
		s.seen = fi
	}
	named, err := os.Stat(s.path)
	if err == nil && os.SameFile(fi, named) {
		s.atPath = true
		return there, nil
	}
	s.atPath = false
	if !s.o.Follow {
		return away, nil // a file that was complete before
	}
	if err != nil || named.Size() == 0 {
		s.idle = time.Time{}
		return there, nil // the writer has not begun a new one
	}
	if s.idle.IsZero() {
		s.idle = time.Now()
	}
	if time.Since(s.idle) < s.o.Grace {
		return leaving, nil
	}
	return away, nil
}

// followCopy goes on in a copy of a file that was truncated.
func (s *Source) followCopy() bool {
	at := s.offset - int64(len(s.buf)-s.skip)
	if g := s.book.generation(s.number); g != nil {
		if m := find(s.path, g, s.offset); m != nil {
			err := s.use(m.file, s.number, s.id, m.atPath, at)
			if err != nil {
				s.o.Warn(fmt.Errorf("%s: truncated, and its copy cannot be read; lines of it behind byte %d, if there are, are not sent: %w", s.path, s.offset, err))
			}
			return err == nil
		}
	}
	if s.shared(s.cur) > 0 {
		return false // it has lost its end: openNew tells
	}
	s.o.Warn(fmt.Errorf("%s: truncated; lines that were written just before, if there were, are not sent, as there is no copy", s.path))
	return false
}

// markEnd keeps the end of a file that is not followed. It returns io.EOF.
func (s *Source) markEnd() error {
	s.marked = time.Time{}
	if err := s.mark(); err != nil {
		return err
	}
	return io.EOF
}

// isAsSeen reports whether the file is unchanged since a look at which it had been for so
// long that a later change has another time.
func (s *Source) isAsSeen(fi os.FileInfo) bool {
	return s.seen != nil && fi.Size() == s.seen.Size() && fi.ModTime().Equal(s.seen.ModTime())
}

// shrink frees the memory of a source that waits.
func (s *Source) shrink() {
	const keep = 16 << 10
	if cap(s.buf) > keep && len(s.buf)-s.skip < keep {
		s.buf, s.skip = append([]byte(nil), s.buf[s.skip:]...), 0
	}
	if cap(s.line) > 64 {
		s.line = nil
	}
}

// leave closes a file that is complete, and goes on with the next generation: one of the
// book, or a new one.
//
// Between the file that is left and the one that has the name now, there may have been
// others, if nobody looked for long.
func (s *Source) leave() error {
	s.left = time.Time{}
	if fi, err := s.cur.Stat(); err == nil {
		s.left = fi.ModTime()
	}
	s.buf, s.skip = s.buf[len(s.buf):], 0
	s.cur.Close()
	s.cur = nil
	if s.book.last().Number > s.number {
		return s.openFrom(s.number+1, 0)
	}
	return nil
}

// wait waits until something changes, or for a time.
func (s *Source) wait(ctx context.Context, most time.Duration) {
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	case <-s.watch.wake:
	}
}

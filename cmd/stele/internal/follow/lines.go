package follow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Next returns the next lines, at least one, of about that many bytes at most, or one
// longer line. With Options.Follow it waits for them; else io.EOF is the end. The lines
// that the call before returned count as safe.
func (s *Source) Next(ctx context.Context, most int) ([]Line, error) {
	if err := s.mark(); err != nil {
		return nil, err
	}
	s.endTurn()
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if lines := s.split(most); len(lines) > 0 {
			return lines, nil
		}
		if s.cur == nil {
			ok, err := s.opened(ctx)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
		}
		n, err := s.read(ctx, most)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			s.idle = time.Time{}
			continue
		}
		lines, err := s.atEnd(ctx)
		if err != nil || len(lines) > 0 {
			return lines, err
		}
	}
}

// opened opens the next generation, or waits for one.
func (s *Source) opened(ctx context.Context) (bool, error) {
	if s.o.Alone && !s.book.IsNew() && s.handed > 0 {
		return false, io.EOF
	}
	ok, err := s.openNew(0)
	if err != nil || ok {
		return ok, err
	}
	if !s.o.Follow {
		return false, io.EOF
	}
	s.wait(ctx, s.watch.interval())
	return false, nil
}

// CutLine returns the first line of a text, without its end, and how many bytes of the text
// it takes: 0 if the line may go on behind the text, which last says that it does not. A
// line longer than most bytes is cut into pieces of that size.
func CutLine(text []byte, most int, last bool) (line []byte, size int) {
	end := bytes.IndexByte(text, '\n')
	line, size = text, len(text)
	switch {
	case end >= 0:
		line, size = bytes.TrimSuffix(text[:end], []byte("\r")), end+1
	case last:
		line = bytes.TrimSuffix(text, []byte("\r"))
	case len(text) < most+2: // what comes may be only the end of the line
		return nil, 0
	}
	if len(line) > most {
		return line[:most], most
	}
	return line, size
}

// split returns the whole lines of the buffer.
func (s *Source) split(most int) []Line { return s.cut(most, false) }

// rest returns what is behind the last line as a line, or several if it is too long.
func (s *Source) rest() []Line { return s.cut(len(s.buf)+1, true) }

func (s *Source) cut(most int, last bool) []Line {
	s.line = s.line[:0]
	base := s.offset - int64(len(s.buf))
	taken := 0
	for s.skip < len(s.buf) {
		text, size := CutLine(s.buf[s.skip:], s.o.MaxLine, last)
		if taken += len(text); size == 0 || taken > most && len(s.line) > 0 {
			break
		}
		s.skip += size
		if text, ok := withoutHole(text); ok {
			s.line = append(s.line, Line{text, At(s.number, base+int64(s.skip))})
		}
	}
	if len(s.line) > 0 {
		s.handed = s.line[len(s.line)-1].End.Offset()
	}
	return s.line
}

// withoutHole returns a line without the zeros before it, and whether that is one. A writer
// that does not append goes on where it was after a truncation, so that the file has a hole.
func withoutHole(text []byte) ([]byte, bool) {
	if len(text) == 0 || text[0] != 0 {
		return text, true
	}
	text = bytes.TrimLeft(text, "\x00")
	return text, len(text) > 0
}

// read reads more text into the buffer, and checks that it is still the same file.
func (s *Source) read(ctx context.Context, most int) (int, error) {
	size := max(most, 64<<10)
	if !s.packed {
		fi, err := s.cur.Stat()
		if err != nil {
			return 0, err
		}
		size = int(min(int64(size), fi.Size()-s.offset))
	}
	if size <= 0 {
		return 0, nil
	}
	if err := s.beginTurn(ctx); err != nil {
		return 0, err
	}
	at := s.room(size)
	n, err := fill(s.text, s.buf[at:at+size])
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s.path, err)
	}
	data := s.buf[at : at+n]
	s.buf = s.buf[:at+n]
	s.offset += int64(n)
	if n == 0 || s.packed {
		return n, nil
	}
	ok := !s.atPath || !s.replaced(s.offset)
	if ok {
		ok, err = s.knowBetter(data)
	}
	if err != nil || ok {
		s.tail = append(s.tail, data[max(0, n-markBytes):]...)
		s.tail = append(s.tail[:0], s.tail[max(0, len(s.tail)-markBytes):]...)
		s.tailEnd = s.offset
		return n, err
	}
	s.torn, s.buf = true, s.buf[:at] // these bytes may be of either content
	return 0, s.back(s.offset - int64(n))
}

// room makes room for bytes in the buffer, behind those that were not handed out.
func (s *Source) room(size int) (at int) {
	at = copy(s.buf, s.buf[s.skip:])
	s.buf, s.skip = s.buf[:at], 0
	if want := at + size; cap(s.buf) < want {
		grown := max(want, min(2*cap(s.buf), 1<<20), 4<<10)
		s.buf = append(make([]byte, 0, grown), s.buf...)
	}
	s.buf = s.buf[:at+size]
	return at
}

// fill reads until buf is full or the text ends, which is no error.
func fill(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var m int
		m, err = r.Read(buf[n:])
		n += m
	}
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}

// replaced reports whether the file has no longer the text that was read, up to an offset.
func (s *Source) replaced(upto int64) bool {
	fi, err := s.cur.Stat()
	if err != nil {
		return false
	}
	if fi.Size() < upto || !s.id.sameHead(s.cur) {
		return true
	}
	var text [markBytes]byte
	n, _ := s.cur.ReadAt(text[:len(s.tail)], s.tailEnd-int64(len(s.tail)))
	return !bytes.Equal(text[:n], s.tail)
}

// knowBetter recognises the file by the bytes that were just read too. It reports whether
// they are still there.
func (s *Source) knowBetter(data []byte) (bool, error) {
	want := int(min(s.offset, headMost))
	if s.id.HeadBytes >= want {
		return true, nil
	}
	head := make([]byte, want)
	n, _ := s.cur.ReadAt(head, 0)
	begin := min(want, int(min(s.offset-int64(len(data)), headMost)))
	if n != want || hash(head[:s.id.HeadBytes]) != s.id.Head || !bytes.HasPrefix(data, head[begin:]) {
		return false, nil
	}
	s.id.Head, s.id.HeadBytes = hash(head), want
	return true, s.book.update(s.number, s.id)
}

// mark keeps by which bytes the text that is safe ends, now and then.
func (s *Source) mark() error {
	if s.packed || s.cur == nil || s.skip == 0 || s.handed != s.offset-int64(len(s.buf)-s.skip) || s.buf[s.skip-1] != '\n' || time.Since(s.marked) < s.o.markEvery {
		return nil
	}
	s.marked = time.Now()
	return s.book.mark(s.number, markOf(s.buf[:s.skip], s.handed))
}

func (s *Source) beginTurn(ctx context.Context) error {
	if s.turn || s.o.Turns == nil {
		return nil
	}
	select {
	case s.o.Turns <- struct{}{}:
		s.turn = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Source) endTurn() {
	if s.turn {
		<-s.o.Turns
		s.turn = false
	}
}

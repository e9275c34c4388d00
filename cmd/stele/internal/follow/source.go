package follow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/stele-go/stele/internal/setting"
)

// Options say how a source is read. The zero value reads what is there, and ends.
type Options struct {
	// Follow waits for more at the end of the file.
	Follow bool
	// FromEnd begins a source of which nothing was read yet at the end of its file.
	FromEnd bool
	// Again reads the file from its begin, as a new generation, whatever was read.
	Again bool
	// MaxLine is the largest line in bytes; longer ones are cut into pieces of that size.
	// 0 means 256 KiB.
	MaxLine int
	// Grace is how long a file that was renamed must be unchanged, once the new one has
	// lines, until it counts as complete. 0 means 500 ms.
	Grace time.Duration
	// Warn, unless nil, is told of lines that may have been missed.
	Warn func(error)
}

// A Line is a line without its end. The text is valid until the next call of Next.
type Line struct {
	Text []byte
	End  Position
}

// A LostError reports that the bookmarks do not tell which file the position is of.
type LostError struct {
	Path string
	At   Position
}

func (e *LostError) Error() string {
	return fmt.Sprintf("%s: the server has lines up to %v, and the bookmarks do not tell which file that was; want the directory of bookmarks that were used, or --again to send the file as it is now", e.Path, e.At)
}

// A Source reads the lines of a file by its name. It is for one goroutine.
type Source struct {
	path  string
	o     Options
	book  *Book
	watch *watcher

	cur    *os.File // of the generation number; nil before the first
	text   io.Reader
	gzip   bool
	number uint32
	id     identity
	atPath bool  // cur has the name of the source, as of the last look
	offset int64 // up to which the text was read

	buf  []byte // text before offset that was not handed out
	skip int    // of buf: handed out
	line []Line

	// idle is since when a file that was renamed has not grown.
	idle time.Time
	// left is when the generation before was last written; zero if that is not known.
	left time.Time
}

// NewSource returns the source of a file, behind the position up to which all its lines
// are safe. Close it.
func NewSource(path string, book *Book, after Position, o Options) (*Source, error) {
	if o.MaxLine == 0 {
		o.MaxLine = 256 << 10
	}
	if o.Grace == 0 {
		o.Grace = 500 * time.Millisecond
	}
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	if err := setting.InRange("follow: Options.MaxLine", o.MaxLine, 64, 16<<20); err != nil {
		return nil, err
	}
	s := &Source{path: path, o: o, book: book, watch: &watcher{wake: make(chan struct{})}}
	if err := s.begin(after); err != nil {
		return nil, err
	}
	if o.Follow {
		s.watch = watch(path)
	}
	return s, nil
}

// Close closes the files of the source; the book stays open.
func (s *Source) Close() error {
	s.watch.close()
	if s.cur == nil {
		return nil
	}
	return s.cur.Close()
}

// begin opens the file of a position.
func (s *Source) begin(after Position) error {
	switch {
	case s.o.Again:
		s.number = max(after.Generation(), s.book.last().Number)
		return nil // the next file is a new generation
	case after == 0 && s.book.last().Number == 0:
		return s.beginAtEnd()
	case after == 0: // nothing is safe yet: from the first generation that is left
		return s.openFrom(s.book.doc.Generations[0].Number, 0)
	}
	if s.book.generation(after.Generation()) == nil {
		return &LostError{s.path, after}
	}
	return s.openFrom(after.Generation(), after.Offset())
}

// beginAtEnd begins a new source at the end of its file, with Options.FromEnd.
func (s *Source) beginAtEnd() error {
	if !s.o.FromEnd {
		return nil
	}
	fi, err := os.Stat(s.path)
	if err != nil {
		return nil // a file that comes later is read from its begin
	}
	_, err = s.openNew(fi.Size())
	return err
}

// openFrom opens the first generation from number on that is found. Its lines begin at
// offset, if it is that of number.
func (s *Source) openFrom(number uint32, offset int64) error {
	for _, g := range s.book.doc.Generations {
		if g.Number < number {
			continue
		}
		at := g.Start
		if g.Number == number {
			at = max(at, offset)
		}
		s.number = g.Number
		f := find(s.path, &g.Identity, at)
		if f == nil {
			s.o.Warn(fmt.Errorf("%s: the file that was there before is gone; lines of it behind byte %d, if there are, are not sent", s.path, at))
			continue
		}
		return s.use(f.file, g.Number, g.Identity, f.current, at)
	}
	return nil
}

// use reads a file from an offset of its text on.
func (s *Source) use(f *os.File, number uint32, id identity, atPath bool, offset int64) (err error) {
	if s.cur != nil {
		s.cur.Close()
	}
	s.cur, s.number, s.id, s.atPath, s.gzip = f, number, id, atPath, isGzip(f)
	s.offset, s.buf, s.skip, s.idle = 0, s.buf[:0], 0, time.Time{}
	if s.text, err = textOf(f); err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	return s.skipTo(offset)
}

// skipTo skips the text up to an offset.
func (s *Source) skipTo(offset int64) error {
	if r, ok := s.text.(io.Seeker); ok {
		_, err := r.Seek(offset, io.SeekStart)
		s.offset = offset
		return err
	}
	n, err := io.CopyN(io.Discard, s.text, offset-s.offset)
	s.offset += n
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: has %d bytes of text, less than the %d that were sent", s.path, s.offset, offset)
	}
	return err
}

// openNew opens the next file as a new generation, if there is one that has text, from an
// offset on. It is written into the book before.
func (s *Source) openNew(start int64) (ok bool, err error) {
	l := next(s.path, s.book, s.left)
	if l == nil {
		if _, err := os.Stat(s.path); err != nil && (!s.o.Follow || !errors.Is(err, os.ErrNotExist)) {
			return false, err
		}
		return false, nil
	}
	f := l.open()
	if f == nil {
		_, err := os.Stat(l.name) // it may have been renamed, or it cannot be read
		if err == nil {
			err = readable(l.name)
		}
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return false, err
	}
	fi, err := f.Stat()
	if err != nil || fi.Size() == 0 {
		f.Close()
		return false, err
	}
	id, _, err := identify(f, fi)
	if err == nil && id.HeadBytes > 0 {
		err = s.book.add(generation{s.number + 1, id, start})
	}
	if err != nil || id.HeadBytes == 0 {
		f.Close()
		return false, err
	}
	return true, s.use(f, s.number+1, id, l.name == s.path, start)
}

// readable returns the error of opening a file.
func readable(name string) error {
	f, err := os.Open(name)
	if err == nil {
		err = f.Close()
	}
	return err
}

// Next returns the next lines, at least one, of about that many bytes at most, or one
// longer line. With Options.Follow it waits for them; else io.EOF is the end.
func (s *Source) Next(ctx context.Context, most int) ([]Line, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if lines := s.split(most); len(lines) > 0 {
			return lines, nil
		}
		if s.cur == nil {
			ok, err := s.openNew(0)
			if err != nil {
				return nil, err
			}
			if !ok {
				if !s.o.Follow {
					return nil, io.EOF
				}
				s.wait(ctx, s.watch.interval())
				continue
			}
		}
		n, err := s.read(most)
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

// split returns the whole lines of the buffer.
func (s *Source) split(most int) []Line {
	s.line = s.line[:0]
	base := s.offset - int64(len(s.buf))
	taken := 0
	for {
		rest := s.buf[s.skip:]
		end := bytes.IndexByte(rest, '\n')
		next := end + 1
		if end < 0 || end > s.o.MaxLine {
			if len(rest) < s.o.MaxLine || end >= 0 && end <= s.o.MaxLine {
				return s.line
			}
			end, next = s.o.MaxLine, s.o.MaxLine // a piece
		}
		if taken += end; taken > most && len(s.line) > 0 {
			return s.line
		}
		s.skip += next
		s.add(rest[:end], base+int64(s.skip))
	}
}

// add adds a line that ends at an offset.
func (s *Source) add(text []byte, end int64) {
	text = bytes.TrimSuffix(text, []byte("\r"))
	if len(s.line) == 0 && end <= int64(len(text))+2 || len(text) > 0 && text[0] == 0 {
		// A writer that does not append goes on where it was after a truncation.
		text = bytes.TrimLeft(text, "\x00")
	}
	s.line = append(s.line, Line{text, At(s.number, end)})
}

// rest returns what is behind the last line as a line.
func (s *Source) rest() []Line {
	s.line = s.line[:0]
	if s.skip < len(s.buf) {
		text := s.buf[s.skip:]
		s.skip = len(s.buf)
		s.add(text, s.offset)
	}
	return s.line
}

// read reads more text into the buffer, and checks that it is still the same file.
func (s *Source) read(most int) (int, error) {
	s.buf = append(s.buf[:0], s.buf[s.skip:]...)
	s.skip = 0
	size := max(most, 64<<10)
	at := len(s.buf)
	if cap(s.buf) < at+size {
		s.buf = append(make([]byte, 0, at+size), s.buf...)
	}
	n, err := fill(s.text, s.buf[at:at+size])
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s.path, err)
	}
	if n > 0 && s.atPath && !s.gzip && s.replaced(s.offset+int64(n)) {
		n = 0 // it was truncated meanwhile: these bytes may be of either content
		if err := s.skipTo(s.offset); err != nil {
			return 0, err
		}
	}
	s.buf = s.buf[:at+n]
	s.offset += int64(n)
	if b := s.id.HeadBytes; n > 0 && b < headMost && s.offset >= min(int64(2*b), headMost) {
		return n, s.knowBetter()
	}
	return n, nil
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
	return err == nil && (fi.Size() < upto || !s.id.sameHead(s.cur))
}

// knowBetter recognises the file by more bytes from now on.
func (s *Source) knowBetter() error {
	fi, err := s.cur.Stat()
	if err != nil {
		return err
	}
	id, head, err := identify(s.cur, fi)
	if err != nil || id.HeadBytes <= s.id.HeadBytes || hash(head[:s.id.HeadBytes]) != s.id.Head {
		return err
	}
	s.id = id
	return s.book.update(s.number, id)
}

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
			return nil, io.EOF
		}
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
	if s.atPath && !s.gzip && s.replaced(s.offset) {
		return truncated, nil
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
	if f := find(s.path, &s.id, s.offset); f != nil {
		at := s.offset - int64(len(s.buf)-s.skip)
		return s.use(f.file, s.number, s.id, f.current, at) == nil
	}
	s.o.Warn(fmt.Errorf("%s: truncated; lines that were written just before, if there were, are not sent, as there is no copy", s.path))
	return false
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

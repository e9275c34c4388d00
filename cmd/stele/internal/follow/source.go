package follow

import (
	"bytes"
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
	// Alone reads one file that is complete, by whatever name it has: no other is its next
	// generation.
	Alone bool
	// MaxLine is the largest line in bytes; longer ones are cut into pieces of that size.
	// 0 means 256 KiB.
	MaxLine int
	// Grace is how long a file that was renamed must be unchanged, once the new one has
	// lines, until it counts as complete. 0 means 500 ms.
	Grace time.Duration
	// Warn, unless nil, is told of lines that may have been missed.
	Warn func(error)
	// Watcher, unless nil, wakes the source when its file changes; else that is looked at
	// five times a second.
	Watcher *Watcher
	// Turns, unless nil, bounds how many sources have text in memory at once, by its
	// capacity. A source has its turn from the reading of text to the next call of Next, so
	// one goroutine must not wait for two sources.
	Turns chan struct{}

	markEvery time.Duration // 0 means 10 s
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
	watch *subscription
	turn  bool // it has one of Options.Turns

	cur     *os.File // of the generation number; nil before the first
	text    io.Reader
	packed  bool // compressed
	number  uint32
	id      identity
	atPath  bool   // cur has the name of the source, as of the last look
	torn    bool   // cur got another content while it was read
	offset  int64  // up to which the text was read
	handed  int64  // up to which lines were handed out, or were safe at the begin
	tail    []byte // the last bytes before tailEnd that were read
	tailEnd int64
	seen    os.FileInfo // of cur, when it was looked at last and was not new
	marked  time.Time   // when the last mark was made

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
	if o.markEvery == 0 {
		o.markEvery = 10 * time.Second
	}
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	if err := setting.InRange("follow: Options.MaxLine", o.MaxLine, 64, 16<<20); err != nil {
		return nil, err
	}
	s := &Source{path: path, o: o, book: book, watch: &subscription{}}
	if err := s.begin(after); err != nil {
		s.Close()
		return nil, err
	}
	if o.Follow {
		s.watch = o.Watcher.subscribe(path)
	}
	return s, nil
}

// Close closes the files of the source; the book stays open.
func (s *Source) Close() error {
	s.endTurn()
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
	if s.book.generation(after.Generation()) == nil && !s.book.inherit(after.Generation()) {
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
	for i := range s.book.doc.Generations {
		g := &s.book.doc.Generations[i]
		if g.Number < number {
			continue
		}
		at := g.Start
		if g.Number == number {
			at = max(at, offset)
		}
		s.number, s.handed = g.Number, at
		if m := find(s.path, g, at); m != nil {
			return s.use(m.file, g.Number, g.Identity, m.atPath, at)
		}
		if s.sharedAtPath() == 0 {
			s.o.Warn(fmt.Errorf("%s: the file that was there before is gone%s; lines of it behind byte %d, if there are, are not sent", s.path, unread(s.path), at))
		}
	}
	return nil
}

// unread names the files beside a path that cannot be read.
func unread(path string) string {
	for _, c := range list(path) {
		f := c.open()
		if f == nil {
			continue
		}
		format := compressionOf(f)
		f.Close()
		if format != nil && format.text == nil && IsGeneration(c.name, path) {
			return fmt.Sprintf(" (or is %s, compressed by %s, which is not read)", c.name, format.name)
		}
	}
	return ""
}

// sharedAtPath returns up to where the file that has the name now is the last generation.
func (s *Source) sharedAtPath() int64 {
	f, err := os.Open(s.path)
	if err != nil {
		return 0
	}
	defer f.Close()
	return s.shared(f)
}

// shared returns up to where a file that is to be a new generation is the last one: it has
// lost the rest, as at a power cut.
func (s *Source) shared(f *os.File) int64 {
	g := s.book.last()
	if s.o.Again || g.Number != s.number {
		return 0
	}
	return g.shared(f, s.handed)
}

// use reads a file from an offset of its text on, in the place of the one before. If it
// fails, f is closed, and all is as it was.
func (s *Source) use(f *os.File, number uint32, id identity, atPath bool, offset int64) error {
	text, err := textFrom(f, offset)
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", f.Name(), err), f.Close())
	}
	if s.cur != nil {
		s.cur.Close()
	}
	s.cur, s.number, s.id, s.atPath, s.packed = f, number, id, atPath, compressionOf(f) != nil
	s.text, s.offset, s.handed, s.buf, s.skip, s.idle = text, offset, offset, s.buf[:0], 0, time.Time{}
	s.torn, s.seen, s.tail, s.marked = false, nil, s.tail[:0], time.Time{}
	return nil
}

// textFrom returns the text of a file from an offset on.
func textFrom(f *os.File, offset int64) (io.Reader, error) {
	text, err := Text(f)
	if err != nil {
		return nil, err
	}
	if r, ok := text.(io.Seeker); ok {
		_, err := r.Seek(offset, io.SeekStart)
		return text, err
	}
	n, err := io.CopyN(io.Discard, text, offset)
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%d bytes of text, less than the %d that were sent", n, offset)
	}
	return text, err
}

// back goes back to an offset of a text that is not compressed.
func (s *Source) back(offset int64) error {
	_, err := s.text.(io.Seeker).Seek(offset, io.SeekStart)
	s.offset = offset
	return err
}

// openNew opens the next file as a new generation, if there is one that has text, from an
// offset on. It is written into the book before.
func (s *Source) openNew(start int64) (ok bool, err error) {
	c := next(s.path, s.book, s.left)
	if c == nil {
		if _, err := os.Stat(s.path); err != nil && (!s.o.Follow && s.number == 0 || !errors.Is(err, os.ErrNotExist)) {
			return false, err
		}
		return false, nil // one that was there may come again
	}
	f := c.open()
	if f == nil {
		_, err := os.Stat(c.name) // it may have been renamed, or it cannot be read
		if err == nil {
			err = readable(c.name)
		} else if s.o.Follow && errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return false, err
	}
	fi, err := f.Stat()
	if err != nil || fi.Size() == 0 {
		f.Close()
		return false, err
	}
	id, err := identify(f, fi)
	if err == nil && id.HeadBytes > 0 {
		if n := s.shared(f); n > 0 && start == 0 {
			start = n
			s.o.Warn(fmt.Errorf("%s: it has lost its end, and goes on behind byte %d; lines from there on are sent, perhaps again", s.path, n))
		}
		err = s.book.add(generation{Number: s.number + 1, Identity: id, Start: start})
	}
	if err != nil || id.HeadBytes == 0 {
		f.Close()
		return false, err
	}
	return true, s.use(f, s.number+1, id, c.name == s.path, start)
}

// readable returns the error of opening a file.
func readable(name string) error {
	f, err := os.Open(name)
	if err == nil {
		err = f.Close()
	}
	return err
}

// Before returns the text before the position of the source, of whole lines, at most that
// many bytes: none if the file is compressed.
func (s *Source) Before(most int) []byte {
	if s.cur == nil || s.packed {
		return nil
	}
	text := make([]byte, min(int64(most), s.handed))
	n, _ := s.cur.ReadAt(text, s.handed-int64(len(text)))
	if text = text[:n]; int64(n) == s.handed {
		return text
	}
	_, text, _ = bytes.Cut(text, []byte("\n"))
	return text
}

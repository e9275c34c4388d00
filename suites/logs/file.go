package logs

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sync/atomic"

	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/suites/internal/datafile"
)

// A logFile has log lines that were made before, so that only the store that takes them
// is measured. It consists of logFileHead and chunks of logChunk lines, in the order of
// their times, integers little-endian:
//
//	chunk: bytes of what follows uint32 | streams uint16 | stream uint32 ... | line ... logChunk times
//	line:  time int64 | index of the chunk's stream uint16 | length uint16 | bytes
//
// Several readers share it.
type logFile struct {
	f       *os.File
	streams []logstore.Labels
	chunks  []int64 // where each begins, and the end of the last
	next    atomic.Int64
	around  bool // begin again at the end
}

const (
	logFileHead = "stele lines\x002\n" // with the version of the format
	logChunk    = 1000
	logLineHead = 8 + 2 + 2
)

// writeLogFile writes lines, a multiple of logChunk, into a new file and syncs it.
func writeLogFile(name string, next func(*Line), lines int64) (err error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, datafile.MiB)
	if _, err := w.WriteString(logFileHead); err != nil {
		return err
	}
	var c chunkWriter
	for range lines / logChunk {
		if err := c.fill(next); err != nil {
			return err
		}
		if err := c.write(w); err != nil {
			return err
		}
	}
	return errors.Join(w.Flush(), f.Sync())
}

// A chunkWriter makes one chunk after another.
type chunkWriter struct {
	index       map[int]uint16 // of each stream in the chunk, among head's
	head, lines []byte
}

// fill makes a chunk of the next lines.
func (c *chunkWriter) fill(next func(*Line)) error {
	if c.index == nil {
		c.index = make(map[int]uint16, logChunk)
	}
	clear(c.index)
	c.head, c.lines = append(c.head[:0], 0, 0, 0, 0, 0, 0), c.lines[:0]
	var e Line
	for range logChunk {
		next(&e)
		if len(e.Line) > math.MaxUint16 {
			return fmt.Errorf("suites: a line of %s: %d bytes; want at most %d", e.App, len(e.Line), math.MaxUint16)
		}
		i, ok := c.index[e.Stream]
		if !ok {
			i = uint16(len(c.index))
			c.index[e.Stream] = i
			c.head = binary.LittleEndian.AppendUint32(c.head, uint32(e.Stream))
		}
		c.lines = binary.LittleEndian.AppendUint64(c.lines, uint64(e.Time))
		c.lines = binary.LittleEndian.AppendUint16(c.lines, i)
		c.lines = binary.LittleEndian.AppendUint16(c.lines, uint16(len(e.Line)))
		c.lines = append(c.lines, e.Line...)
	}
	binary.LittleEndian.PutUint32(c.head, uint32(len(c.head)-4+len(c.lines)))
	binary.LittleEndian.PutUint16(c.head[4:], uint16(len(c.index)))
	return nil
}

func (c *chunkWriter) write(w io.Writer) error {
	if _, err := w.Write(c.head); err != nil {
		return err
	}
	_, err := w.Write(c.lines)
	return err
}

// chunkStreams appends the streams of a chunk, given without its size, and returns its
// lines too.
func chunkStreams(dst []uint32, chunk []byte) (streams []uint32, lines []byte) {
	n := int(binary.LittleEndian.Uint16(chunk))
	for i := range n {
		dst = append(dst, binary.LittleEndian.Uint32(chunk[2+4*i:]))
	}
	return dst, chunk[2+4*n:]
}

// openLogFile opens a file that writeLogFile wrote. The labels are those of the streams of
// its lines, by Line.Stream.
func openLogFile(name string, labels []logstore.Labels) (*logFile, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	l := &logFile{f: f, streams: labels}
	if err := checkLogFile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	var head [4]byte
	at := int64(len(logFileHead))
	for {
		l.chunks = append(l.chunks, at)
		if _, err := f.ReadAt(head[:], at); err == io.EOF {
			break
		} else if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		at += 4 + int64(binary.LittleEndian.Uint32(head[:]))
	}
	if len(l.chunks) < 2 {
		return nil, errors.Join(fmt.Errorf("%s has no lines", name), f.Close())
	}
	return l, nil
}

// checkLogFile returns an error if f does not begin as this program writes it.
func checkLogFile(f *os.File) error {
	head := make([]byte, len(logFileHead))
	if _, err := f.ReadAt(head, 0); err != nil && err != io.EOF {
		return err
	}
	if string(head) != logFileHead {
		return fmt.Errorf("%s: begins with %q; want %q: remove lines that another version has made", f.Name(), head, logFileHead)
	}
	return nil
}

// lines returns the number of lines.
func (l *logFile) lines() int64 { return int64(len(l.chunks)-1) * logChunk }

func (l *logFile) Close() error { return l.f.Close() }

// A logReader reads batches. It is for one goroutine. Each chunk goes to one of the
// readers of a file.
type logReader struct {
	file  *logFile
	chunk []byte
	rest  []byte // of the chunk

	streams []uint32 // of the chunk; what follows counts them by their index
	place   []int32  // of each: how many lines, then where the next one goes
	used    []uint16

	batch   logstore.Batch
	entries []logstore.Entry
}

func (l *logFile) reader() *logReader { return &logReader{file: l, place: make([]int32, logChunk)} }

// read returns the next n lines, a divisor of logChunk, grouped by stream. The batch is
// empty at the end of the file, and valid until the next call.
func (r *logReader) read(n int) (logstore.Batch, error) {
	if len(r.rest) == 0 {
		if err := r.load(); err != nil || len(r.rest) == 0 {
			return nil, err
		}
	}
	from, at := r.rest, 0
	r.used = r.used[:0]
	for range n {
		stream := binary.LittleEndian.Uint16(from[at+8:])
		if r.place[stream] == 0 {
			r.used = append(r.used, stream)
		}
		r.place[stream]++
		at += logLineHead + int(binary.LittleEndian.Uint16(from[at+10:]))
	}
	r.rest = from[at:]
	if cap(r.entries) < n {
		r.entries = make([]logstore.Entry, n)
	}
	entries := r.entries[:n]
	r.batch = r.batch[:0]
	first := int32(0)
	for _, s := range r.used {
		lines := r.place[s]
		r.batch = append(r.batch, logstore.Stream{Labels: r.file.streams[r.streams[s]], Entries: entries[first : first+lines]})
		r.place[s] = first
		first += lines
	}
	for at = 0; len(from) > len(r.rest); from = from[at:] {
		stream := binary.LittleEndian.Uint16(from[8:])
		at = logLineHead + int(binary.LittleEndian.Uint16(from[10:]))
		e := &entries[r.place[stream]]
		e.Time, e.Line = int64(binary.LittleEndian.Uint64(from)), from[logLineHead:at]
		r.place[stream]++
	}
	for _, s := range r.used {
		r.place[s] = 0
	}
	return r.batch, nil
}

// load reads the next chunk of the file.
func (r *logReader) load() error {
	i, chunks := r.file.next.Add(1)-1, int64(len(r.file.chunks)-1)
	if i >= chunks {
		if !r.file.around {
			return nil
		}
		i %= chunks
	}
	at := r.file.chunks[i]
	n := int(r.file.chunks[i+1] - at)
	if cap(r.chunk) < n {
		r.chunk = make([]byte, n+n/4)
	}
	if _, err := r.file.f.ReadAt(r.chunk[:n], at); err != nil {
		return err
	}
	r.streams, r.rest = chunkStreams(r.streams[:0], r.chunk[4:n])
	return nil
}

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
// is measured. It consists of chunks of logChunk lines, in the order of their times,
// integers little-endian:
//
//	chunk: bytes of what follows uint32 | line ... logChunk times
//	line:  time int64 | stream uint16 | length uint16 | bytes
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
	logChunk    = 1000
	logLineHead = 8 + 2 + 2
)

// writeLogFile writes lines, a multiple of logChunk, into a new file and syncs it.
func writeLogFile(name string, l *Lines, lines int64) (err error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, datafile.MiB)
	var e Line
	var chunk []byte
	for range lines / logChunk {
		chunk = append(chunk[:0], 0, 0, 0, 0)
		for range logChunk {
			l.Next(&e)
			if len(e.Line) > math.MaxUint16 {
				return fmt.Errorf("suites: a line of %s: %d bytes; want at most %d", e.App, len(e.Line), math.MaxUint16)
			}
			chunk = binary.LittleEndian.AppendUint64(chunk, uint64(e.Time))
			chunk = binary.LittleEndian.AppendUint16(chunk, uint16(e.Stream))
			chunk = binary.LittleEndian.AppendUint16(chunk, uint16(len(e.Line)))
			chunk = append(chunk, e.Line...)
		}
		binary.LittleEndian.PutUint32(chunk, uint32(len(chunk)-4))
		if _, err := w.Write(chunk); err != nil {
			return err
		}
	}
	return errors.Join(w.Flush(), f.Sync())
}

// openLogFile opens a file that writeLogFile wrote with lines of the same systems.
func openLogFile(name string, systems *logSystems) (*logFile, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	l := &logFile{f: f, streams: systems.Labels()}
	var head [4]byte
	at := int64(0)
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

// Labels returns the labels of the streams, in the order of Line.Stream.
func (l *logSystems) Labels() []logstore.Labels {
	list := make([]logstore.Labels, len(l.streams))
	for i, s := range l.streams {
		list[i] = logstore.MustLabels("app", s.App, "host", s.Host, "level", s.Level)
	}
	return list
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

	batch   logstore.Batch
	entries []logstore.Entry
	place   []int32 // of each stream: how many lines, then where the next one goes
	used    []uint16
}

func (l *logFile) reader() *logReader {
	return &logReader{file: l, place: make([]int32, len(l.streams))}
}

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
		r.batch = append(r.batch, logstore.Stream{Labels: r.file.streams[s], Entries: entries[first : first+lines]})
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
	r.rest = r.chunk[4:n]
	return nil
}

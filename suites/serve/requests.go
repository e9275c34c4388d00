package serve

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/klauspost/compress/snappy"

	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/suites/logs"
)

// Requests are pushes that were made before, in a file: a head, then each request with its
// length before it, as it is written to a connection. Several clients share them.
//
//	"stele requests\x001\n" | lines a request uint32 | { bytes uint32 | request } ...
type Requests struct {
	f     *os.File
	at    []int64 // where each begins, behind its length, and the end of the file
	batch int
	next  atomic.Int64
}

const requestsHead = "stele requests\x001\n"

// A Next makes one line after another.
type Next func(*logs.Line)

// WriteRequests writes count pushes of batch lines each into a new file: Loki's protobuf,
// compressed by snappy. labels are those of streams, by logs.Line.Stream.
func WriteRequests(name string, next Next, labels []string, batch, count int) (err error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	if _, err := w.Write(binary.LittleEndian.AppendUint32([]byte(requestsHead), uint32(batch))); err != nil {
		return err
	}
	e := Encoder{Labels: labels}
	for range count {
		r := e.Request(next, batch)
		if _, err := w.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(r)))); err != nil {
			return err
		}
		if _, err := w.Write(r); err != nil {
			return err
		}
	}
	return w.Flush()
}

// OpenRequests opens a file that WriteRequests has written.
func OpenRequests(name string) (*Requests, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	r := &Requests{f: f}
	if err := r.index(); err != nil {
		return nil, errors.Join(fmt.Errorf("serve: %s: %w", name, err), f.Close())
	}
	return r, nil
}

func (r *Requests) index() error {
	in := bufio.NewReaderSize(r.f, 1<<20)
	head := make([]byte, len(requestsHead)+4)
	if _, err := io.ReadFull(in, head); err != nil || string(head[:len(requestsHead)]) != requestsHead {
		return errors.New("not a file of requests")
	}
	r.batch = int(binary.LittleEndian.Uint32(head[len(requestsHead):]))
	at := int64(len(head))
	for {
		var size [4]byte
		if _, err := io.ReadFull(in, size[:]); err == io.EOF {
			r.at = append(r.at, at+4)
			return nil
		} else if err != nil {
			return err
		}
		r.at = append(r.at, at+4)
		n := int(binary.LittleEndian.Uint32(size[:]))
		if _, err := in.Discard(n); err != nil {
			return err
		}
		at += 4 + int64(n)
	}
}

// Count returns how many requests there are, and Batch how many lines each has.
func (r *Requests) Count() int { return len(r.at) - 1 }

// Batch returns the lines of a request.
func (r *Requests) Batch() int { return r.batch }

// Rewind makes the first request the next one.
func (r *Requests) Rewind() { r.next.Store(0) }

// Skip makes request n the next one.
func (r *Requests) Skip(n int) { r.next.Store(int64(n)) }

// Close closes the file.
func (r *Requests) Close() error { return r.f.Close() }

// A requestReader takes runs of requests for one client.
type requestReader struct {
	r        *Requests
	run      int64
	from, to int64
	buf      []byte
	base     int64
}

// readAhead is about how many bytes a client reads at once.
const readAhead = 64 << 10

func (r *Requests) reader() *requestReader {
	size := (r.at[len(r.at)-1] - r.at[0]) / int64(max(r.Count(), 1))
	return &requestReader{r: r, run: max(1, min(readAhead/max(size, 1), 128))}
}

// take returns the next request, nil if there are none below most. It is valid until the next call.
func (r *requestReader) take(most int64) ([]byte, error) {
	if r.from == r.to {
		r.to = r.r.next.Add(r.run)
		r.from = r.to - r.run
		if r.to = min(r.to, most); r.from >= r.to {
			r.from = r.to
			return nil, nil
		}
		r.base = r.r.at[r.from]
		r.buf = slices.Grow(r.buf[:0], int(r.r.at[r.to]-r.base))[:r.r.at[r.to]-4-r.base]
		if _, err := r.r.f.ReadAt(r.buf, r.base); err != nil {
			return nil, err
		}
	}
	p := r.buf[r.r.at[r.from]-r.base : r.r.at[r.from+1]-4-r.base]
	r.from++
	return p, nil
}

// An Encoder encodes pushes of Loki's protobuf.
type Encoder struct {
	Labels []string // of streams
	// Headers are further ones, each with its end of line.
	Headers string

	streams map[int]*[]byte // fields of a stream
	order   []int
	body    []byte
	packed  []byte
	out     []byte
	entry   []byte
}

// Request returns a push of the next n lines, as it is written to a connection. It is
// valid until the next call.
func (e *Encoder) Request(next Next, n int) []byte {
	if e.streams == nil {
		e.streams = map[int]*[]byte{}
	}
	var l logs.Line
	e.order = e.order[:0]
	for range n {
		next(&l)
		s, ok := e.streams[l.Stream]
		if !ok {
			s = new([]byte)
			e.streams[l.Stream] = s
		}
		if len(*s) == 0 {
			*s = appendField((*s)[:0], 1, []byte(e.Labels[l.Stream]))
			e.order = append(e.order, l.Stream)
		}
		*s = e.appendEntry(*s, &l)
	}
	e.body = e.body[:0]
	for _, i := range e.order {
		s := e.streams[i]
		e.body = appendField(e.body, 1, *s)
		*s = (*s)[:0]
	}
	e.packed = snappy.Encode(e.packed[:cap(e.packed)], e.body)
	e.out = append(e.out[:0], "POST /loki/api/v1/push HTTP/1.1\r\nHost: 127.0.0.1:3100\r\nUser-Agent: stele-suite-serve\r\nContent-Type: application/x-protobuf\r\n"...)
	e.out = append(e.out, e.Headers...)
	e.out = strconv.AppendInt(append(e.out, "Content-Length: "...), int64(len(e.packed)), 10)
	return append(append(e.out, "\r\n\r\n"...), e.packed...)
}

func (e *Encoder) appendEntry(b []byte, l *logs.Line) []byte {
	stamp := binary.AppendUvarint([]byte{1 << 3}, uint64(l.Time)/1e9)
	stamp = binary.AppendUvarint(append(stamp, 2<<3), uint64(l.Time)%1e9)
	e.entry = appendField(appendField(e.entry[:0], 1, stamp), 2, l.Line)
	return appendField(b, 2, e.entry)
}

// appendField appends a field of protobuf that has a length.
func appendField(b []byte, n int, value []byte) []byte {
	b = binary.AppendUvarint(b, uint64(n)<<3|2)
	return append(binary.AppendUvarint(b, uint64(len(value))), value...)
}

// Texts returns labels as pushes have them.
func Texts(l interface{ Labels() []logstore.Labels }) []string {
	var texts []string
	for _, labels := range l.Labels() {
		texts = append(texts, labels.String())
	}
	return texts
}

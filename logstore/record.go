package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// A record of the log is a batch, or a part of one, and self-contained:
// labels are written in full. All integers are varints as in
// encoding/binary.
//
//	head, see recordHead
//	uvarint  how many streams
//	for each stream:
//	  uvarint  length of its labels
//	           labels, see Labels
//	  uvarint  how many entries, from 1 to maxPlaces
//	  for each entry:
//	    uvarint  time of the first; of the others varint, the time less that before
//	    uvarint  length of the line, times two; plus one if metadata follow
//	             line
//	    uvarint  length of the metadata, if there are any
//	             metadata, in the encoding of labels
//
// For example, {app="api"} with "GET /" at 1,000 ns and "ok" at 990 ns,
// accepted at 2027-01-15 08:00:00 UTC:
//
//	02 00 00 80 a4 a7 da 06
//	01  08 03 61 70 70 03 61 70 69  02
//	e8 07  0a 47 45 54 20 2f
//	13     04 6f 6b
//
// In version 1, which is read and no longer written, the head is the byte 1,
// and a stream may have any number of entries. A record may also hold state
// instead of streams: see record_state.go.
const (
	recordVersion = 2
	// recordSize bounds the bytes of a record, unless it has a single entry.
	recordSize = 4 << 20
	// maxLine bounds Options.MaxLine: a line, its metadata and its labels fit
	// into a quarter of the smallest log file.
	maxLine = 1 << 20
)

// A recordStream is the entries of one stream in a record: rows first to last
// of a rowSet.
type recordStream struct {
	labels Labels
	stream *stream    // nil: not known yet
	in     *memStream // its rows in the memtable that the append has entered
	index  int        // in the Batch
	first  int
	last   int
	place  int   // rank of the first row among those of the stream in the record
	raw    int64 // bytes of lines and metadata
}

// A rowSet is the rows of one or more records. Until a record is in an arena,
// off counts from its beginning and chunk is unset.
type rowSet struct {
	head    recordHead
	tenant  *tenant // of head, once it is known
	streams []recordStream
	rows    []memRow
	ranked  map[*stream]int // rows of each stream, see rank
	state   []stateItem     // of a record that holds state; then it has no streams
}

func (s *rowSet) reset() {
	clear(s.streams)
	clear(s.state)
	s.head, s.tenant, s.streams, s.rows, s.state = recordHead{}, nil, s.streams[:0], s.rows[:0], s.state[:0]
}

// rank sets the place of each stream of a record, which may have the same stream
// more than once.
func (s *rowSet) rank() {
	if len(s.streams) < 2 {
		return
	}
	if s.ranked == nil {
		s.ranked = map[*stream]int{}
	}
	clear(s.ranked)
	for i := range s.streams {
		p := &s.streams[i]
		p.place = s.ranked[p.stream]
		s.ranked[p.stream] = p.place + p.last - p.first
	}
}

func uvarintLen(x uint64) int { return (bits.Len64(x|1) + 6) / 7 }

func varintLen(x int64) int { return uvarintLen(uint64(x)<<1 ^ uint64(x>>63)) }

// entryLen returns the encoded size of e after an entry with the time before,
// firstLen that of the first entry of a stream.
func entryLen(e *Entry, before int64) int { return varintLen(e.Time-before) + bodyLen(e) }

func firstLen(e *Entry) int { return uvarintLen(uint64(e.Time)) + bodyLen(e) }

func bodyLen(e *Entry) int {
	n := len(e.Line)
	if m := len(e.Metadata.enc); m > 0 {
		return uvarintLen(uint64(n)<<1|1) + n + uvarintLen(uint64(m)) + m
	}
	return uvarintLen(uint64(n)<<1) + n
}

// streamLen returns the encoded size of what precedes the entries of a stream.
func streamLen(l Labels, entries int) int {
	return uvarintLen(uint64(len(l.enc))) + len(l.enc) + uvarintLen(uint64(entries))
}

// encodeRecord appends the record p of the batch to dst. On entry off of each row
// is the index of its entry in the batch; encodeRecord sets it to the offset of
// the line in dst, and sets size.
func (w *appendState) encodeRecord(dst []byte, b Batch, p recordRange) []byte {
	h := w.headOf(p)
	return w.encodeStreams(h.append(dst), b, w.streams[p.first:p.last])
}

func (s *rowSet) encodeStreams(dst []byte, b Batch, parts []recordStream) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(parts)))
	for i := range parts {
		p := &parts[i]
		dst = appendString(dst, p.labels.enc)
		rows := s.rows[p.first:p.last]
		dst = binary.AppendUvarint(dst, uint64(len(rows)))
		entries := b[p.index].Entries
		var before int64
		for j := range rows {
			e := &entries[rows[j].off]
			if j == 0 {
				dst = binary.AppendUvarint(dst, uint64(e.Time))
			} else {
				dst = binary.AppendVarint(dst, e.Time-before)
			}
			before = e.Time
			dst = s.encodeBody(dst, e, &rows[j])
		}
	}
	return dst
}

func (s *rowSet) encodeBody(dst []byte, e *Entry, r *memRow) []byte {
	r.size = uint32(len(e.Line)) << 1
	if e.Metadata.enc != "" {
		r.size |= 1
	}
	dst = binary.AppendUvarint(dst, uint64(r.size))
	r.off = uint32(len(dst))
	dst = append(dst, e.Line...)
	if e.Metadata.enc != "" {
		dst = appendString(dst, e.Metadata.enc)
	}
	return dst
}

var errRecord = errors.New("not a batch of log lines")

// recordReader decodes a record.
type recordReader struct {
	p   []byte
	off int
}

// parse sets s to the contents of the record p, all of which it verifies. A
// stream for whose labels known returns a stream needs no labels of its own.
func (s *rowSet) parse(p []byte, known func(labels []byte) *stream) error {
	s.reset()
	r := recordReader{p: p}
	if len(p) == 0 {
		return fmt.Errorf("%w: it is empty", errRecord)
	}
	kind, err := r.head(&s.head)
	if err != nil {
		return err
	}
	if kind == kindState {
		s.state, err = r.state(s.state)
		return err
	}
	// A stream takes three bytes at least and an entry two, so the counts are
	// bounded by what is there.
	n, err := r.count(3)
	for ; n > 0 && err == nil; n-- {
		err = s.parseStream(&r, known)
	}
	if err == nil && r.off < len(p) {
		err = r.bad("bytes after the end")
	}
	return err
}

func (s *rowSet) parseStream(r *recordReader, known func([]byte) *stream) error {
	enc, err := r.bytes()
	if err != nil {
		return err
	}
	p := recordStream{first: len(s.rows), stream: known(enc)}
	if p.stream == nil {
		if p.labels, err = parseLabels(string(enc)); err != nil {
			return r.bad(err.Error())
		}
	} else {
		p.labels = p.stream.labels
	}
	n, err := r.count(2)
	switch {
	case err != nil:
		return err
	case n == 0:
		return r.bad("a stream without entries")
	case n > maxPlaces && s.head.version > 1:
		return r.bad(fmt.Sprintf("a stream of %d entries; want at most %d", n, maxPlaces))
	}
	t := int64(0)
	for i := range n {
		row, raw, err := r.entry(t, i == 0)
		if err != nil {
			return err
		}
		t = row.time
		p.raw += raw
		s.rows = append(s.rows, row)
	}
	p.last = len(s.rows)
	s.streams = append(s.streams, p)
	return nil
}

// entry decodes an entry that follows one with the time before.
func (r *recordReader) entry(before int64, first bool) (row memRow, raw int64, err error) {
	if first {
		t, err := r.uvarint()
		if err != nil {
			return row, 0, err
		}
		row.time = int64(t)
	} else {
		d, w := binary.Varint(r.p[r.off:])
		if w <= 0 {
			return row, 0, r.bad("an invalid time")
		}
		r.off += w
		row.time = before + d
	}
	if row.time < 0 {
		return row, 0, r.bad("a time before 1970")
	}
	size, err := r.uvarint()
	if err != nil {
		return row, 0, err
	}
	n := size >> 1
	if n > uint64(len(r.p)-r.off) || size > math.MaxUint32 {
		return row, 0, r.bad("a line longer than the rest")
	}
	row.size, row.off = uint32(size), uint32(r.off)
	r.off += int(n)
	raw = int64(n)
	if row.hasMeta() {
		meta, err := r.bytes()
		if err != nil {
			return row, 0, err
		}
		if _, err := parseLabels(string(meta)); err != nil || len(meta) == 0 {
			return row, 0, r.bad("invalid metadata")
		}
		raw += int64(len(meta))
	}
	return row, raw, nil
}

func (r *recordReader) bad(why string) error {
	return fmt.Errorf("%w: %s at byte %d of %d", errRecord, why, r.off, len(r.p))
}

func (r *recordReader) uvarint() (uint64, error) {
	x, w := binary.Uvarint(r.p[r.off:])
	if w <= 0 {
		return 0, r.bad("an invalid number")
	}
	r.off += w
	return x, nil
}

// count decodes the number of items that follow, of at least size bytes each.
func (r *recordReader) count(size int) (int, error) {
	n, err := r.uvarint()
	if err == nil && n > uint64((len(r.p)-r.off)/size) {
		err = r.bad("a count larger than the rest")
	}
	return int(n), err
}

// bytes decodes a length and as many bytes.
func (r *recordReader) bytes() ([]byte, error) {
	n, err := r.count(1)
	if err != nil {
		return nil, err
	}
	r.off += n
	return r.p[r.off-n : r.off], nil
}

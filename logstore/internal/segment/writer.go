package segment

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

// A Writer writes a segment to w, from its first byte to its last, in calls of
// 256 KiB at most. Call AddBlock for each block, with its runs, whose streams
// are given by their labels; then Finish. It is for one goroutine. After an
// error all calls return it.
//
// Its memory is some 512 KiB, and the index of all streams, runs and blocks.
type Writer struct {
	w    io.Writer
	salt uint64
	err  error

	buf     []byte // not yet written
	flushed int64  // bytes that have been

	// The filters of the last blocks, to be written as a group.
	filters []byte
	pending []pendingFilter

	blocks  []blockEntry
	streams map[string]*streamBuilder
	info    Info // so far

	list []byte // scratch
	runs []blockRun
}

type pendingFilter struct{ block, size int }

// A streamBuilder is a stream of the segment being written.
type streamBuilder struct {
	Stream
	runs []seqRun
	seqs uint64 // one more than the highest seq
}

// A StreamRun is a Run of a stream given by its labels; AddBlock sets Block.
type StreamRun struct {
	Labels string
	Run
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer {
	return newWriter(w, rand.Uint64())
}

func newWriter(w io.Writer, salt uint64) *Writer {
	return &Writer{w: w, salt: salt, buf: append(make([]byte, 0, groupSize), header(salt)...), streams: map[string]*streamBuilder{}}
}

// AddBlock writes a block. The runs cover its rows, from the first to the last;
// those of one stream must come in the order that Run describes. An empty
// filter rules nothing out. AddBlock keeps no argument but the labels.
func (w *Writer) AddBlock(block, filter []byte, runs []StreamRun) error {
	w.runs = w.runs[:0]
	for _, r := range runs {
		s := w.stream(r.Labels)
		w.runs = append(w.runs, blockRun{r, s.seqs})
		s.seqs++
	}
	return w.add(block, filter, w.runs)
}

// add is AddBlock of runs that have their seq.
func (w *Writer) add(block, filter []byte, runs []blockRun) error {
	if w.err != nil {
		return w.err
	}
	entry, err := w.check(block, filter, runs)
	if err != nil {
		w.err = fmt.Errorf("segment: block %d: %w", len(w.blocks), err)
		return w.err
	}
	w.list = appendBlockRuns(w.list[:0], runs)
	number := len(w.blocks)
	head := frame{
		kind: kindBlock, number: uint32(number), list: uint32(len(w.list)), payload: entry.size,
		listSum: checksum(w.list), sum: entry.sum,
	}
	entry.off, entry.list = w.Written(), head.list
	w.blocks = append(w.blocks, entry)
	w.put(head.append(nil, w.salt, entry.off))
	w.put(w.list)
	w.put(block)
	for _, r := range runs {
		w.addRun(r, number)
	}
	if len(filter) > 0 {
		w.pending = append(w.pending, pendingFilter{number, len(filter)})
		w.filters = append(w.filters, filter...)
		if len(w.filters) >= groupSize {
			w.putFilters()
		}
	}
	return w.err
}

// check verifies the arguments of AddBlock, and returns the beginning of the
// block's entry.
func (w *Writer) check(block, filter []byte, runs []blockRun) (blockEntry, error) {
	var rows, raw int64
	for i, r := range runs {
		switch {
		case len(r.Labels) > maxLabels:
			return blockEntry{}, fmt.Errorf("run %d: %d bytes of labels; want at most %d", i, len(r.Labels), maxLabels)
		case int64(r.First) != rows || r.Rows <= 0:
			return blockEntry{}, fmt.Errorf("run %d: %d rows from row %d on; want at least 1 from row %d on", i, r.Rows, r.First, rows)
		case r.MaxTime < r.MinTime:
			return blockEntry{}, fmt.Errorf("run %d: times from %d to %d; want them in order", i, r.MinTime, r.MaxTime)
		case r.seq >= math.MaxInt64:
			return blockEntry{}, fmt.Errorf("run %d: seq %d; want less than %d", i, r.seq, int64(math.MaxInt64))
		case r.Raw < 0:
			return blockEntry{}, fmt.Errorf("run %d: %d bytes; want 0 or more", i, r.Raw)
		}
		rows += int64(r.Rows)
		raw += r.Raw
		if rows > math.MaxInt32 || raw > math.MaxInt32 {
			return blockEntry{}, errors.New("it has too many rows or bytes")
		}
	}
	switch {
	case rows == 0 || len(block) == 0:
		return blockEntry{}, errors.New("it is empty")
	case len(block) > maxPart || len(filter) > maxPart || len(w.blocks) == math.MaxInt32:
		return blockEntry{}, errors.New("it is too large")
	}
	return blockEntry{
		size: uint32(len(block)), sum: checksum(block), filterSize: uint32(len(filter)),
		rows: uint32(rows), raw: uint32(raw), runs: uint32(len(runs)),
	}, nil
}

func (w *Writer) stream(labels string) *streamBuilder {
	s := w.streams[labels]
	if s == nil {
		s = &streamBuilder{Stream: Stream{Labels: labels}}
		w.streams[labels] = s
	}
	return s
}

// addRun adds a run to its stream and to the totals.
func (w *Writer) addRun(r blockRun, block int) {
	s := w.stream(r.Labels)
	if s.Rows == 0 {
		s.MinTime, s.MaxTime = r.MinTime, r.MaxTime
	}
	if w.info.Rows == 0 {
		w.info.MinTime, w.info.MaxTime = r.MinTime, r.MaxTime
	}
	r.Block = block
	s.runs = append(s.runs, seqRun{r.Run, r.seq})
	s.seqs = max(s.seqs, r.seq+1)
	s.MinTime, s.MaxTime = min(s.MinTime, r.MinTime), max(s.MaxTime, r.MaxTime)
	s.Rows += int64(r.Rows)
	s.Raw += r.Raw
	w.info.MinTime, w.info.MaxTime = min(w.info.MinTime, r.MinTime), max(w.info.MaxTime, r.MaxTime)
	w.info.Rows += int64(r.Rows)
	w.info.Raw += r.Raw
}

func (w *Writer) putFilters() {
	rest := w.filters
	for _, p := range w.pending {
		f := rest[:p.size]
		rest = rest[p.size:]
		head := frame{kind: kindFilter, number: uint32(p.block), payload: uint32(p.size), sum: checksum(f)}
		off := w.Written()
		w.blocks[p.block].filterOff = off
		w.put(head.append(nil, w.salt, off))
		w.put(f)
	}
	w.filters, w.pending = w.filters[:0], w.pending[:0]
}

func (w *Writer) put(p []byte) {
	for len(p) > 0 && w.err == nil {
		n := min(len(p), groupSize-len(w.buf))
		w.buf = append(w.buf, p[:n]...)
		p = p[n:]
		if len(w.buf) == groupSize {
			w.flush()
		}
	}
}

func (w *Writer) flush() {
	if w.err != nil {
		return
	}
	n, err := w.w.Write(w.buf)
	if err == nil && n < len(w.buf) {
		err = io.ErrShortWrite
	}
	if err != nil {
		w.err = fmt.Errorf("segment: write: %w", err)
		return
	}
	w.flushed += int64(n)
	w.buf = w.buf[:0]
}

// Written returns the bytes of the segment so far, without the filters that
// wait for their group.
func (w *Writer) Written() int64 { return w.flushed + int64(len(w.buf)) }

// Finish writes the rest and the index. After, Upto, Generation and Created of
// info must be set.
func (w *Writer) Finish(info Info) (Info, error) {
	if w.err == nil && info.After > info.Upto {
		w.err = fmt.Errorf("segment: finish: After %d, Upto %d; want Upto at least After", info.After, info.Upto)
	}
	if w.err != nil {
		return Info{}, w.err
	}
	w.putFilters()
	w.info.After, w.info.Upto, w.info.Generation, w.info.Created = info.After, info.Upto, info.Generation, info.Created
	w.info.Streams, w.info.Blocks = len(w.streams), len(w.blocks)
	e := footer{index: w.Written(), salt: w.salt}
	table := w.putLists()
	e.blocks = w.Written()
	for _, r := range w.blocks {
		w.list = r.append(w.list[:0])
		e.blocksSum = addChecksum(e.blocksSum, w.list)
		w.put(w.list)
	}
	e.streams = w.Written()
	e.streamsSum = checksum(table)
	w.put(table)
	w.info.Size = w.Written() + footerSize
	e.info = w.info
	w.put(e.append(nil))
	w.flush()
	if w.err != nil {
		return Info{}, w.err
	}
	w.err = errors.New("segment: the Writer is finished")
	return w.info, nil
}

// putLists writes the list of runs of each stream, by labels, and returns the
// table of streams.
func (w *Writer) putLists() (table []byte) {
	names := slices.Sorted(maps.Keys(w.streams))
	total := 0
	for _, name := range names {
		total += len(name)
	}
	table = binary.AppendUvarint(nil, uint64(total))
	var labels labelWriter
	for _, name := range names {
		s := w.streams[name]
		slices.SortFunc(s.runs, func(a, b seqRun) int { return cmp.Compare(a.seq, b.seq) })
		w.list = w.list[:0]
		var lw listWriter
		for i, r := range s.runs {
			if i > 0 && r.seq == s.runs[i-1].seq && w.err == nil { // in a source that was made so
				w.err = errors.New("segment: two runs of a stream have the same seq")
			}
			w.list = lw.append(w.list, r)
		}
		w.put(w.list)
		table = labels.append(table, name)
		table = streamEntry{Stream: s.Stream, seqs: s.seqs, size: uint32(len(w.list)), sum: checksum(w.list)}.append(table, w.info.MinTime)
	}
	return table
}

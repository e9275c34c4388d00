package segmenttest

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A Run is consecutive rows of one stream in a block, by time.
type Run struct {
	Labels           string
	Rows             int
	MinTime, MaxTime int64
	Raw              int64
	// Seq orders the runs of a stream. 0: this one is behind all of the stream that
	// were added before.
	Seq uint64

	block, first int
}

// filtersSize is how many bytes of filters are written together.
const filtersSize = 256 << 10

// A Writer writes a segment to w as stores did. The caller gives blocks, filters and
// runs that belong together: the Writer checks nothing.
type Writer struct {
	w    io.Writer
	salt uint64
	off  int64
	err  error

	filters [][]byte // of the last blocks, nil where there is none
	blocks  []BlockEntry
	streams map[string][]Run
	info    segment2.Info
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return NewWriterWithSalt(w, rand.Uint64()) }

// NewWriterWithSalt is NewWriter with a salt that is not random.
func NewWriterWithSalt(w io.Writer, salt uint64) *Writer {
	to := &Writer{w: w, salt: salt, streams: map[string][]Run{}}
	to.put(Header(salt))
	return to
}

func (w *Writer) put(p []byte) {
	if w.err == nil {
		_, w.err = w.w.Write(p)
	}
	w.off += int64(len(p))
}

// AddBlock writes a block, whose rows the runs have. An empty filter means that
// the block has none.
func (w *Writer) AddBlock(block, filter []byte, runs []Run) error {
	runs = slices.Clone(runs)
	entry := BlockEntry{Offset: w.off, Size: uint32(len(block)), Sum: checksum(block), FilterSize: uint32(len(filter)), Runs: uint32(len(runs))}
	for i := range runs {
		r := &runs[i]
		r.block, r.first = len(w.blocks), int(entry.Rows)
		if before := w.streams[r.Labels]; r.Seq == 0 && len(before) > 0 {
			r.Seq = slices.MaxFunc(before, bySeq).Seq + 1
		}
		w.streams[r.Labels] = append(w.streams[r.Labels], *r)
		entry.Rows += uint32(r.Rows)
		entry.Raw += uint32(r.Raw)
		w.addTotals(r)
	}
	list := appendBlockRuns(nil, runs)
	entry.List = uint32(len(list))
	w.put(Frame{"BLOK", uint32(len(w.blocks)), entry.List, entry.Size, checksum(list), entry.Sum}.Append(nil, w.salt, entry.Offset))
	w.put(list)
	w.put(block)
	w.blocks = append(w.blocks, entry)
	w.filters = append(w.filters, slices.Clone(filter))
	waiting := 0
	for _, f := range w.filters {
		waiting += len(f)
	}
	if waiting >= filtersSize {
		w.putFilters()
	}
	return w.err
}

func bySeq(a, b Run) int { return cmp.Compare(a.Seq, b.Seq) }

func (w *Writer) addTotals(r *Run) {
	if w.info.Rows == 0 {
		w.info.MinTime, w.info.MaxTime = r.MinTime, r.MaxTime
	}
	w.info.MinTime, w.info.MaxTime = min(w.info.MinTime, r.MinTime), max(w.info.MaxTime, r.MaxTime)
	w.info.Rows += int64(r.Rows)
	w.info.Raw += r.Raw
}

func (w *Writer) putFilters() {
	first := len(w.blocks) - len(w.filters)
	for i, f := range w.filters {
		if len(f) > 0 {
			w.blocks[first+i].FilterOffset = w.off
			w.put(Frame{Kind: "FLTR", Number: uint32(first + i), Payload: uint32(len(f)), Sum: checksum(f)}.Append(nil, w.salt, w.off))
			w.put(f)
		}
	}
	w.filters = nil
}

// Finish writes the rest. After, Upto, Generation and Created of info must be set. It
// returns the Info of the segment.
func (w *Writer) Finish(info segment2.Info) (segment2.Info, error) {
	w.putFilters()
	w.info.Version = version
	w.info.After, w.info.Upto, w.info.Generation, w.info.Created = info.After, info.Upto, info.Generation, info.Created
	w.info.Streams, w.info.Blocks = len(w.streams), len(w.blocks)
	e := Footer{Lists: w.off, Salt: w.salt}
	table := w.putLists()
	e.Blocks = w.off
	var blocks []byte
	for _, b := range w.blocks {
		blocks = b.Append(blocks)
	}
	e.BlocksSum, e.StreamsSum = checksum(blocks), checksum(table)
	w.put(blocks)
	e.Streams = w.off
	w.put(table)
	w.info.Size = w.off + footerSize
	e.Info = w.info
	w.put(e.Append(nil))
	if w.err != nil {
		return segment2.Info{}, fmt.Errorf("segmenttest: %w", w.err)
	}
	return w.info, nil
}

// putLists writes the list of runs of each stream, by labels, and returns the table of
// streams.
func (w *Writer) putLists() (table []byte) {
	names := slices.Sorted(maps.Keys(w.streams))
	total := 0
	for _, name := range names {
		total += len(name)
	}
	table = binary.AppendUvarint(nil, uint64(total))
	var labels Labels
	for _, name := range names {
		runs := slices.SortedFunc(slices.Values(w.streams[name]), bySeq)
		list := appendStreamRuns(nil, runs)
		s := StreamEntry{MinTime: runs[0].MinTime, MaxTime: runs[0].MaxTime, Seqs: runs[len(runs)-1].Seq + 1, Size: uint32(len(list)), Sum: checksum(list)}
		for _, r := range runs {
			s.MinTime, s.MaxTime = min(s.MinTime, r.MinTime), max(s.MaxTime, r.MaxTime)
			s.Rows += int64(r.Rows)
			s.Raw += r.Raw
		}
		w.put(list)
		table = s.Append(labels.Append(table, name), w.info.MinTime)
	}
	return table
}

package segment

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A streamEntry is the entry of a stream in the table of streams.
type streamEntry struct {
	Stream
	off  int64  // of the list
	size uint32 // bytes of it
	sum  uint32
	seqs uint64 // one more than the highest seq of its runs
}

// tables are the index of a segment, which Trim frees.
type tables struct {
	streams []streamEntry // by labels
	blocks  []byte        // of all blocks, as in the file
	count   int           // of blocks
	// lists has the runs of each stream of a scanned segment, else it is nil.
	lists [][]seqRun
	// intact has a bit for each filter whose checksum has been verified.
	intact []atomic.Uint64
	// outline is nil until it is used.
	outline atomic.Pointer[outline]
}

func newTables(streams []streamEntry, blocks []byte) *tables {
	n := len(blocks) / blockEntrySize
	return &tables{streams: streams, blocks: blocks, count: n, intact: make([]atomic.Uint64, (n+63)/64)}
}

func (t *tables) blockEntry(i int) blockEntry { return parseBlockEntry(t.blocks[i*blockEntrySize:]) }

// block is for parseList.
func (t *tables) block(i int64) (blockEntry, bool) {
	if i < 0 || i >= int64(t.count) {
		return blockEntry{}, false
	}
	return t.blockEntry(int(i)), true
}

var errTotals = errors.New("its streams do not add up to the footer")

// parseStreams decodes the table of streams, and compares it with the totals of
// the footer.
func parseStreams(p []byte, e footer) ([]streamEntry, error) {
	c := decoder{p: p}
	total := c.atMost(uint64(len(p)) * restartInterval)
	count := e.info.Streams
	if c.bad || count < 0 || int64(count) > int64(len(c.p)/minStream) {
		return nil, errForm
	}
	var labels labelReader
	labels.all.Grow(int(total))
	streams := make([]streamEntry, count)
	off := e.index
	all := segment2.Info{MinTime: math.MaxInt64, MaxTime: math.MinInt64}
	for i := range streams {
		s := &streams[i]
		s.Labels = labels.next(&c)
		s.MinTime = e.info.MinTime + int64(c.uvarint())
		s.MaxTime = s.MinTime + int64(c.uvarint())
		s.Rows = int64(c.atMost(math.MaxInt64))
		s.Raw = int64(c.atMost(math.MaxInt64))
		s.seqs = c.atMost(math.MaxInt64)
		s.off = off
		s.size = uint32(c.atMost(uint64(min(e.blocks-off, math.MaxUint32))))
		if sum := c.take(4); len(sum) == 4 {
			s.sum = binary.LittleEndian.Uint32(sum)
		}
		switch {
		case c.bad || uint64(labels.all.Len()) > total:
			return nil, errForm
		case i > 0 && s.Labels <= streams[i-1].Labels, !segment2.WellFormed(s.Labels):
			return nil, errLabels
		case s.MaxTime < s.MinTime || s.Rows > e.info.Rows-all.Rows || s.Raw > e.info.Raw-all.Raw:
			return nil, errTotals
		}
		off += int64(s.size)
		all.Rows += s.Rows
		all.Raw += s.Raw
		all.MinTime, all.MaxTime = min(all.MinTime, s.MinTime), max(all.MaxTime, s.MaxTime)
	}
	if count == 0 {
		all.MinTime, all.MaxTime = 0, 0
	}
	switch {
	case len(c.p) > 0 || uint64(labels.all.Len()) != total || off != e.blocks:
		return nil, errForm
	case all.Rows != e.info.Rows || all.Raw != e.info.Raw || all.MinTime != e.info.MinTime || all.MaxTime != e.info.MaxTime:
		return nil, errTotals
	}
	return streams, nil
}

// checkBlocks verifies that the blocks and filters of the table are adjacent
// from the header to the index, without gaps: so every byte of the file has a
// checksum, and nothing outside the frames is read. An error is about block
// bad, or about all blocks if that is -1.
func (t *tables) checkBlocks(e footer) (bad int, err error) {
	var rows, raw int64
	next, filter := int64(headerSize), 0
	// group verifies the filters between two blocks: those of the blocks before
	// upto that no earlier group has.
	group := func(upto int) bool {
		for ; filter < upto; filter++ {
			f := t.blockEntry(filter)
			if f.filterSize == 0 {
				continue
			}
			if f.filterOff != next {
				return false
			}
			next += frameHeaderSize + int64(f.filterSize)
		}
		return next <= e.index
	}
	for i := range t.count {
		r := t.blockEntry(i)
		if r.off != next && !group(i) {
			return filter, errForm
		}
		if r.off != next || r.size == 0 || r.size > maxPart || r.filterSize > maxPart || r.rows == 0 || r.runs == 0 || int64(r.runs) > int64(r.list)/minBlockRun {
			return i, errForm
		}
		if next = r.payload() + int64(r.size); next > e.index {
			return i, errForm
		}
		rows += int64(r.rows)
		raw += int64(r.raw)
	}
	switch {
	case !group(t.count):
		return filter, errForm
	case next != e.index:
		return -1, errForm
	case rows != e.info.Rows || raw != e.info.Raw:
		return -1, errors.New("its blocks do not add up to the footer")
	}
	return 0, nil
}

// find returns the number of the stream with these labels.
func (t *tables) find(labels string) (i int, ok bool) {
	return slices.BinarySearchFunc(t.streams, labels, func(s streamEntry, l string) int { return strings.Compare(s.Labels, l) })
}

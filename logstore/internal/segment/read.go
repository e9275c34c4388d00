package segment

import (
	"slices"
	"sync"

	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A buffer is pooled memory for one read.
type buffer struct{ p []byte }

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// keepBuffer bounds the buffers that go back to the pool.
const keepBuffer = 1 << 20

func getBuffer(n int) *buffer {
	b := buffers.Get().(*buffer)
	b.p = slices.Grow(b.p[:0], n)[:n]
	return b
}

// read reads n bytes at off into the buffer.
func (b *buffer) read(src segment2.Source, n, off int64, block int) (err error) {
	b.p, err = segment2.ReadPieces(src, b.p[:0], n, off, block)
	return err
}

func (b *buffer) put() {
	if cap(b.p) <= keepBuffer {
		buffers.Put(b)
	}
}

// view calls f with the n bytes at off, without a copy if the source is a
// Viewer. An error of f is a *segment2.CorruptError.
func (s *Segment) view(off, n int64, block int, f func([]byte) error) error {
	if s.viewer != nil && n <= segment2.MaxRead {
		err := s.viewer.View(off, int(n), f)
		if err != nil && !isCorrupt(err) {
			err = segment2.ReadError(s.src, err, off, block)
		}
		return err
	}
	buf := getBuffer(0)
	defer buf.put()
	if err := buf.read(s.src, n, off, block); err != nil {
		return err
	}
	return f(buf.p)
}

// list reads the list of runs of a stream, and compares it with the table's
// entry of the stream.
func (s *Segment) list(t *tables, stream int) (list []seqRun, err error) {
	if t.lists != nil {
		return t.lists[stream], nil
	}
	want := t.streams[stream]
	err = s.view(want.off, int64(want.size), -1, func(p []byte) error {
		var err error
		list, err = s.parseListOf(nil, t, stream, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// parseListOf appends the runs of a stream, whose list is p, to dst.
func (s *Segment) parseListOf(dst []seqRun, t *tables, stream int, p []byte) ([]seqRun, error) {
	want := t.streams[stream]
	damaged := func(why string) error {
		return corrupt(s.src, want.off, -1, "the list of runs of stream %d: %s", stream, why)
	}
	if checksum(p) != want.sum {
		return dst, damaged("the checksum does not match")
	}
	all, err := parseList(dst, p, t.block)
	if err != nil {
		return dst, damaged(err.Error())
	}
	list := all[len(dst):]
	has := Stream{Labels: want.Labels, MinTime: list[0].MinTime, MaxTime: list[0].MaxTime}
	for _, r := range list {
		has.MinTime, has.MaxTime = min(has.MinTime, r.MinTime), max(has.MaxTime, r.MaxTime)
		has.Rows += int64(r.Rows)
		has.Raw += r.Raw
	}
	if has != want.Stream || list[len(list)-1].seq+1 != want.seqs {
		return dst, damaged("it does not add up to the table")
	}
	return all, nil
}

// A probe tests one filter. It is pooled with its method value, so that a test
// allocates nothing.
type probe struct {
	s       *Segment
	block   int
	entry   blockEntry
	intact  bool // the checksum has been verified
	needles []filter.Needle
	may     bool
	call    func([]byte) error
}

var probes = sync.Pool{New: func() any {
	p := new(probe)
	p.call = p.ask
	return p
}}

// May reports whether a row of the block may have all of the needles. It
// returns true, even with an error, where the filter cannot be read or is
// damaged: so no line is hidden. The checksum of a filter is verified on first
// use after Open or Trim; later only its form is.
func (s *Segment) May(block int, needles ...filter.Needle) (bool, error) {
	t, err := s.load()
	if err != nil {
		return true, err
	}
	entry := t.blockEntry(block)
	if entry.filterSize == 0 || !slices.ContainsFunc(needles, func(n filter.Needle) bool { return !n.Empty() }) {
		return true, nil
	}
	word, bit := &t.intact[block/64], uint64(1)<<(block%64)
	p := probes.Get().(*probe)
	p.s, p.block, p.entry, p.needles, p.may = s, block, entry, needles, true
	p.intact = word.Load()&bit != 0
	off, n := entry.filterOff, frameHeaderSize+int64(entry.filterSize)
	if p.intact {
		off, n = off+frameHeaderSize, n-frameHeaderSize
	}
	err = s.view(off, n, block, p.call)
	if err == nil && !p.intact {
		word.Or(bit)
	}
	may := p.may || err != nil
	p.s, p.needles = nil, nil
	probes.Put(p)
	return may, err
}

func (p *probe) ask(b []byte) error {
	if !p.intact {
		if why := p.s.checkFilter(b, p.block, p.entry); why != "" {
			return corrupt(p.s.src, p.entry.filterOff, p.block, "%s", why)
		}
		b = b[frameHeaderSize:]
	}
	for _, n := range p.needles {
		if !filter.May(b, n) {
			p.may = false
			break
		}
	}
	return nil
}

// checkFilter verifies the frame of the filter of a block. It returns the
// damage, or "".
func (s *Segment) checkFilter(b []byte, block int, entry blockEntry) string {
	f, ok := parseFrame(b, s.footer.salt, entry.filterOff)
	switch {
	case !ok || f.kind != kindFilter || f.payload != entry.filterSize || !s.scanned && int(f.number) != block:
		return "the header of the filter is not as it was written"
	case checksum(b[frameHeaderSize:]) != f.sum:
		return "the checksum of the filter does not match"
	}
	return ""
}

// A blockFrame is a block with its frame.
type blockFrame struct {
	payload []byte
	runs    []blockRun
	// listErr is the error of the header or the list of runs, payloadErr that
	// of the block. Where one is set, runs or payload must not be used.
	listErr, payloadErr error
}

// readFrame reads a block with its frame into buf, and its runs into the memory
// of runs. The error is that of the source.
func (s *Segment) readFrame(buf *buffer, runs []blockRun, t *tables, block int) (b blockFrame, err error) {
	entry := t.blockEntry(block)
	n := frameHeaderSize + int64(entry.list) + int64(entry.size)
	if n <= segment2.MaxRead {
		err = buf.read(s.src, n, entry.off, block)
	} else { // only lists have no holes
		err = buf.read(s.src, n-int64(entry.size), entry.off, block)
		if err == nil {
			buf.p, err = segment2.ReadPieces(s.src, buf.p, int64(entry.size), entry.payload(), block)
		}
	}
	if err != nil {
		return b, err
	}
	list := buf.p[frameHeaderSize : frameHeaderSize+entry.list]
	b.payload, b.runs = buf.p[frameHeaderSize+entry.list:], runs[:0]
	if checksum(b.payload) != entry.sum {
		b.payloadErr = corrupt(s.src, entry.payload(), block, "the checksum does not match")
	}
	f, ok := parseFrame(buf.p, s.footer.salt, entry.off)
	switch {
	case !ok || f.kind != kindBlock || f.list != entry.list || f.payload != entry.size || f.sum != entry.sum || !s.scanned && int(f.number) != block:
		b.listErr = corrupt(s.src, entry.off, block, "its header is not as it was written")
	case checksum(list) != f.listSum:
		b.listErr = corrupt(s.src, entry.off+frameHeaderSize, block, "the checksum of its list of runs does not match")
	default:
		var rows, raw int64
		b.runs, rows, raw, err = parseBlockRuns(b.runs, list, block)
		if err != nil || rows != int64(entry.rows) || raw != int64(entry.raw) || len(b.runs) != int(entry.runs) {
			b.listErr = corrupt(s.src, entry.off+frameHeaderSize, block, "its list of runs is not that of the table of blocks")
		}
	}
	return b, nil
}

// readFilter reads the filter of a block into buf; nil if it has none. Damage
// is a *segment2.CorruptError.
func (s *Segment) readFilter(buf *buffer, t *tables, block int) ([]byte, error) {
	entry := t.blockEntry(block)
	if entry.filterSize == 0 {
		return nil, nil
	}
	if err := buf.read(s.src, frameHeaderSize+int64(entry.filterSize), entry.filterOff, block); err != nil {
		return nil, err
	}
	if why := s.checkFilter(buf.p, block, entry); why != "" {
		return nil, corrupt(s.src, entry.filterOff, block, "%s", why)
	}
	return buf.p[frameHeaderSize:], nil
}

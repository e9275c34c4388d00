package segment

import (
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"
)

// An Info describes a segment.
type Info struct {
	// The segment holds the positions (After, Upto] of the log. If a segment
	// has all positions of another, the one with the higher Generation counts,
	// and the other is a leftover.
	After, Upto uint64
	Generation  uint32
	Created     int64 // ns since 1970; 0: unknown

	MinTime, MaxTime int64 // of all entries; 0 if there are none
	Rows, Raw        int64 // entries, and bytes of their lines and metadata
	Streams, Blocks  int
	Size             int64 // bytes of the file
}

// A Stream describes a stream of a segment, the i-th by labels.
type Stream struct {
	Labels           string // encoded by package logstore
	MinTime, MaxTime int64
	Rows, Raw        int64
}

// A Run is consecutive rows of one stream in a block, by time. The runs of a
// stream are listed so that of two entries with equal times the one appended
// first is in the earlier run.
type Run struct {
	Block            int
	First, Rows      int // rows of the block
	MinTime, MaxTime int64
	Raw              int64
}

// A Block locates and describes a block.
type Block struct {
	Offset, Bytes             int64 // of the block, without what stands before it
	FilterOffset, FilterBytes int64 // 0 bytes: it has no filter
	Rows                      int
	Raw                       int64
	Runs                      int // in most blocks as many as streams
}

// A Source is the bytes of a segment: a file, for example, or an object of an
// object store with range reads.
type Source interface {
	io.ReaderAt
	Name() string
}

// A Viewer is a Source that hands out memory without a copy, as *fileio.Reader
// does.
type Viewer interface {
	View(off int64, n int, f func([]byte) error) error
}

// A Segment is open for reading, by many goroutines at once.
type Segment struct {
	src    Source
	viewer Viewer // src, if it is one
	footer footer
	// tables is nil after Trim, until the next use.
	tables  atomic.Pointer[tables]
	scanned bool // the tables are not in the file, so Trim keeps them
	closed  atomic.Bool
}

// Open reads the footer and the tables, and no block: 64 KiB, and a second read
// if the tables of streams and blocks are larger. The error is a *CorruptError,
// a *VersionError, or that of the source.
func Open(src Source, size int64) (*Segment, error) {
	if size < headerSize+footerSize {
		return nil, corrupt(src, 0, -1, "%d bytes are no segment", size)
	}
	n := min(size, tailSize)
	buf := getBuffer(int(n))
	defer buf.put()
	if err := readFull(src, buf.p, size-n, -1); err != nil {
		return nil, err
	}
	e, ver, ok := parseFooter(buf.p[n-footerSize:])
	switch {
	case !ok:
		return nil, corrupt(src, size-footerSize, -1, "the footer is not as it was written")
	case ver != version:
		return nil, &VersionError{src.Name(), ver}
	case e.info.Size != size:
		return nil, corrupt(src, size-footerSize, -1, "the file has %d bytes, and had %d", size, e.info.Size)
	case e.index < headerSize || e.blocks < e.index || e.streams < e.blocks || e.streams > size-footerSize || (e.streams-e.blocks)%blockEntrySize != 0:
		return nil, corrupt(src, size-footerSize, -1, "the footer is not well-formed")
	}
	e.info.Blocks = int((e.streams - e.blocks) / blockEntrySize)
	s := &Segment{src: src, footer: e}
	s.viewer, _ = src.(Viewer)
	var read []byte // the tables, unless they begin before what was read
	if from := e.blocks - (size - n); from >= 0 {
		read = buf.p[from : n-footerSize]
	}
	if err := s.loadTables(read); err != nil {
		return nil, err
	}
	return s, nil
}

// loadTables verifies the tables of blocks and streams and keeps them. If p is
// nil it reads them.
func (s *Segment) loadTables(p []byte) error {
	e := s.footer
	if p == nil {
		buf := getBuffer(0)
		defer buf.put()
		if err := buf.read(s.src, e.info.Size-footerSize-e.blocks, e.blocks, -1); err != nil {
			return err
		}
		p = buf.p
	}
	blocks, streams := p[:e.streams-e.blocks], p[e.streams-e.blocks:]
	if checksum(blocks) != e.blocksSum {
		return corrupt(s.src, e.blocks, -1, "the checksum of the table of blocks does not match")
	}
	if checksum(streams) != e.streamsSum {
		return corrupt(s.src, e.streams, -1, "the checksum of the table of streams does not match")
	}
	list, err := parseStreams(streams, e)
	if err != nil {
		return corrupt(s.src, e.streams, -1, "the table of streams: %v", err)
	}
	t := newTables(list, append([]byte(nil), blocks...))
	if bad, err := t.checkBlocks(e); err != nil {
		return corrupt(s.src, e.blocks+int64(max(bad, 0))*blockEntrySize, bad, "the table of blocks: %v", err)
	}
	s.tables.CompareAndSwap(nil, t)
	return nil
}

// load returns the tables, and reads them again after Trim.
func (s *Segment) load() (*tables, error) {
	for {
		if t := s.tables.Load(); t != nil {
			return t, nil
		}
		if s.closed.Load() {
			return nil, fmt.Errorf("segment: read %s: %w", s.src.Name(), fs.ErrClosed)
		}
		if err := s.loadTables(nil); err != nil {
			return nil, err
		}
	}
}

// Info describes the segment.
func (s *Segment) Info() Info { return s.footer.info }

// Stream describes the i-th of Info().Streams streams. It reads only after
// Trim.
func (s *Segment) Stream(i int) (Stream, error) {
	t, err := s.load()
	if err != nil {
		return Stream{}, err
	}
	return t.streams[i].Stream, nil
}

// Block describes the i-th of Info().Blocks blocks.
func (s *Segment) Block(i int) (Block, error) {
	t, err := s.load()
	if err != nil {
		return Block{}, err
	}
	r := t.blockEntry(i)
	b := Block{
		Offset: r.payload(), Bytes: int64(r.size), FilterBytes: int64(r.filterSize),
		Rows: int(r.rows), Raw: int64(r.raw), Runs: int(r.runs),
	}
	if r.filterSize > 0 {
		b.FilterOffset = r.filterOff + frameHeaderSize
	}
	return b, nil
}

// Trim frees the tables of streams and blocks, some 44 bytes a block and 100 a
// stream, which are read again on demand.
func (s *Segment) Trim() {
	if !s.scanned {
		s.tables.Store(nil)
	}
}

// Close frees the memory of the segment; the source is the caller's.
func (s *Segment) Close() {
	s.closed.Store(true)
	s.tables.Store(nil)
}

package segment

import (
	"fmt"
	"io/fs"
	"sync/atomic"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

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

// A Segment is open for reading, by many goroutines at once.
type Segment struct {
	src    segment2.Source
	viewer segment2.Viewer // src, if it is one
	footer footer
	// tables is nil after Trim, until the next use.
	tables  atomic.Pointer[tables]
	scanned bool // the tables are not in the file, so Trim keeps them
	closed  atomic.Bool
}

// Open reads the footer and the tables, and no block: 64 KiB, and a second read
// if the tables of streams and blocks are larger. The error is a *segment2.CorruptError,
// a *segment2.VersionError, or that of the source.
func Open(src segment2.Source, size int64) (*Segment, error) {
	if size < headerSize+footerSize {
		return nil, corrupt(src, 0, -1, "%d bytes are no segment", size)
	}
	n := min(size, tailSize)
	buf := getBuffer(int(n))
	defer buf.put()
	if err := segment2.ReadFull(src, buf.p, size-n, -1); err != nil {
		return nil, err
	}
	e, ver, ok := parseFooter(buf.p[n-footerSize:])
	switch {
	case !ok:
		return nil, corrupt(src, size-footerSize, -1, "the footer is not as it was written")
	case ver != version:
		return nil, &segment2.VersionError{File: src.Name(), Version: ver}
	case e.info.Size != size:
		return nil, corrupt(src, size-footerSize, -1, "the file has %d bytes, and had %d", size, e.info.Size)
	case e.index < headerSize || e.blocks < e.index || e.streams < e.blocks || e.streams > size-footerSize || (e.streams-e.blocks)%blockEntrySize != 0:
		return nil, corrupt(src, size-footerSize, -1, "the footer is not well-formed")
	}
	e.info.Blocks = int((e.streams - e.blocks) / blockEntrySize)
	s := &Segment{src: src, footer: e}
	s.viewer, _ = src.(segment2.Viewer)
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
func (s *Segment) Info() segment2.Info { return s.footer.info }

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

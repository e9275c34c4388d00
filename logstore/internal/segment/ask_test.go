package segment

import "github.com/stele-go/stele/logstore/internal/segment2"

// What tests ask of a segment beside its Index.

// A Block locates and describes a block.
type Block struct {
	Offset, Bytes             int64 // of the block, without what stands before it
	FilterOffset, FilterBytes int64 // 0 bytes: it has no filter
	Rows                      int
	Raw                       int64
	Runs                      int // in most blocks as many as streams
}

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

// Runs reads the runs of a stream: one range of the file.
func (s *Segment) Runs(stream int) ([]Run, error) {
	t, err := s.load()
	if err != nil {
		return nil, err
	}
	list, err := s.list(t, stream)
	if err != nil {
		return nil, err
	}
	runs := make([]Run, len(list))
	for i, r := range list {
		runs[i] = r.Run
	}
	return runs, nil
}

// ReadBlock appends the bytes of the block, whose checksum it verifies: one
// range of the file. After an error dst is returned as it was.
func (s *Segment) ReadBlock(dst []byte, block int) ([]byte, error) {
	t, err := s.load()
	if err != nil {
		return dst, err
	}
	r, at := t.blockEntry(block), len(dst)
	p, err := segment2.ReadPieces(s.src, dst, int64(r.size), r.payload(), block)
	if err != nil {
		return dst, err
	}
	if checksum(p[at:]) != r.sum {
		return dst, corrupt(s.src, r.payload(), block, "the checksum does not match")
	}
	return p, nil
}

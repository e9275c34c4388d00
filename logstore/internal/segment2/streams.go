package segment2

import (
	"encoding/binary"
	"math"
)

// In the column seqs of the streams, oneRun says that a stream has one run whose
// seq is 0, and noRun that it has none. Otherwise the number is one more than
// StreamTotals.Seqs, which is 1 at least.
const (
	oneRun = 0
	noRun  = 1
)

// appendStreams appends a part of the streams. A stream with Rows 0 has Seqs
// runs: one with seq 0, or none.
func appendStreams(dst []byte, streams []StreamTotals) []byte {
	for _, s := range streams {
		seqs := s.Seqs + 1
		if s.Rows == 0 {
			seqs = noRun
			if s.Seqs > 0 {
				seqs = oneRun
			}
		}
		dst = binary.AppendUvarint(dst, seqs)
	}
	column := func(f func(s *StreamTotals) []byte) {
		for i := range streams {
			if streams[i].Rows > 0 {
				dst = f(&streams[i])
			}
		}
	}
	column(func(s *StreamTotals) []byte { return binary.AppendUvarint(dst, uint64(s.Rows)) })
	column(func(s *StreamTotals) []byte { return binary.AppendUvarint(dst, uint64(s.Raw)) })
	last := int64(0)
	column(func(s *StreamTotals) []byte {
		step := s.MinTime - last
		last = s.MinTime
		return appendZigzag(dst, step)
	})
	column(func(s *StreamTotals) []byte { return binary.AppendUvarint(dst, uint64(s.MaxTime-s.MinTime)) })
	return dst
}

// parseStreams decodes a part of the streams, which has count of them.
func parseStreams(p []byte, count int) ([]StreamTotals, error) {
	if count > PartStreams || len(p) < count {
		return nil, errForm
	}
	c := decoder{p: p}
	streams := make([]StreamTotals, count)
	full := make([]*StreamTotals, 0, count)
	for i := range streams {
		s := &streams[i]
		switch n := c.atMost(maxSeq + 2); n {
		case oneRun:
			s.Seqs = 1
		case noRun:
		default:
			s.Seqs = n - 1
			full = append(full, s)
		}
	}
	for _, s := range full {
		s.Rows = int64(c.atMost(math.MaxInt64))
	}
	for _, s := range full {
		s.Raw = int64(c.atMost(math.MaxInt64))
	}
	last := int64(0)
	for _, s := range full {
		last += c.zigzag()
		s.MinTime = last
	}
	for _, s := range full {
		s.MaxTime = s.MinTime + int64(c.uvarint())
		if s.MaxTime < s.MinTime || s.Rows == 0 {
			return nil, errForm
		}
	}
	if err := c.end(); err != nil {
		return nil, err
	}
	return streams, nil
}

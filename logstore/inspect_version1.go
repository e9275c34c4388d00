package logstore

import (
	"iter"

	"github.com/stele-go/stele/logstore/internal/segment"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A version1Content is a segment of version 1, by its index or by its blocks.
type version1Content struct {
	file string
	seg  *segment.Segment
}

func (c version1Content) info() segment2.Info {
	i := c.seg.Info()
	return segment2.Info{
		Version: 1, After: i.After, Upto: i.Upto, Generation: i.Generation, Created: i.Created,
		MinTime: i.MinTime, MaxTime: i.MaxTime, Rows: i.Rows, Raw: i.Raw, Streams: i.Streams, Blocks: i.Blocks, Size: i.Size,
	}
}

func (c version1Content) streams() iter.Seq2[StreamInfo, error] {
	return func(yield func(StreamInfo, error) bool) {
		for i := range c.seg.Info().Streams {
			info, err := c.stream(i)
			if !yield(info, err) || err != nil {
				return
			}
		}
	}
}

func (c version1Content) stream(i int) (StreamInfo, error) {
	st, err := c.seg.Stream(i)
	if err != nil {
		return StreamInfo{}, err
	}
	labels, err := streamLabelsOf(c.file, i, st.Labels)
	if err != nil {
		return StreamInfo{}, err
	}
	runs, err := c.seg.Runs(i)
	return StreamInfo{
		File: c.file, Labels: labels, MinTime: st.MinTime, MaxTime: st.MaxTime, Rows: st.Rows, Raw: st.Raw, Runs: len(runs),
	}, err
}

func (c version1Content) blocks() iter.Seq2[BlockInfo, error] {
	return func(yield func(BlockInfo, error) bool) {
		blocks := make([]BlockInfo, c.seg.Info().Blocks)
		for i := range c.seg.Info().Streams {
			runs, err := c.seg.Runs(i)
			if err != nil {
				yield(BlockInfo{}, err)
				return
			}
			for _, r := range runs {
				b := &blocks[r.Block]
				if b.Rows == 0 {
					b.MinTime, b.MaxTime = r.MinTime, r.MaxTime
				}
				b.MinTime, b.MaxTime = min(b.MinTime, r.MinTime), max(b.MaxTime, r.MaxTime)
				b.Rows += int64(r.Rows)
			}
		}
		for i, b := range blocks {
			at, err := c.seg.Block(i)
			if err != nil {
				yield(BlockInfo{}, err)
				return
			}
			b.File, b.Number, b.Offset, b.Bytes, b.FilterOffset, b.FilterBytes = c.file, i, at.Offset, at.Bytes, at.FilterOffset, at.FilterBytes
			b.Rows, b.Raw, b.Streams = int64(at.Rows), at.Raw, at.Runs
			if !yield(b, nil) {
				return
			}
		}
	}
}

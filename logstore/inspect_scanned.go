package logstore

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A scannedContent is a segment of version 2 whose end is damaged: what its blocks
// say, all of which were read.
type scannedContent struct {
	file    string
	scanned *segment2.Scanned
	list    []BlockInfo
	totals  map[uint32]*streamTotal
	all     segment2.Info
}

// newScannedContent reads all blocks. lost has an error for each that cannot be
// read.
func newScannedContent(file string, s *segment2.Scanned) (c *scannedContent, lost []error, err error) {
	c = &scannedContent{file: file, scanned: s, all: s.Info(), totals: map[uint32]*streamTotal{}}
	c.all.Rows, c.all.Raw = 0, 0
	var f segment2.Frame
	var d block.Decoder
	for i := range c.all.Blocks {
		err := s.ReadFrame(context.Background(), &f, i)
		if err == nil {
			err = c.add(&f, &d, i)
		}
		if _, damaged := asDamage(err); damaged {
			lost = append(lost, err)
		} else if err != nil {
			return nil, nil, err
		}
	}
	c.all.Blocks, c.all.Streams = len(c.list), len(c.totals)
	return c, lost, nil
}

// add counts the i-th block.
func (c *scannedContent) add(f *segment2.Frame, d *block.Decoder, i int) error {
	off, bytes := c.scanned.Frame(i)
	dictionary, err := c.scanned.Dictionary(context.Background(), f.Dictionary)
	if err != nil {
		return err
	}
	times, err := d.Decode(f.Block, dictionary)
	if err != nil {
		return &CorruptError{c.file, off, fmt.Sprintf("block %d: %v", f.Number, err)}
	}
	var b streamTotal
	for _, r := range f.Runs {
		if r.Rows == 0 || uint64(r.First)+uint64(r.Rows) > uint64(len(times)) {
			return &CorruptError{c.file, off, fmt.Sprintf("block %d: its runs are not its rows", f.Number)}
		}
		raw := int64(0)
		for row := r.First; row < r.First+r.Rows; row++ {
			raw += int64(len(d.Line(int(row))) + len(d.Meta(int(row))))
		}
		t := c.totals[r.Ordinal]
		if t == nil {
			t = new(streamTotal)
			c.totals[r.Ordinal] = t
		}
		first, last := times[r.First], times[r.First+r.Rows-1]
		t.add(first, last, int64(r.Rows), raw)
		b.add(first, last, int64(r.Rows), raw)
	}
	if len(c.list) == 0 {
		c.all.MinTime, c.all.MaxTime = b.min, b.max
	}
	c.all.MinTime, c.all.MaxTime = min(c.all.MinTime, b.min), max(c.all.MaxTime, b.max)
	c.all.Rows, c.all.Raw = c.all.Rows+b.rows, c.all.Raw+b.raw
	c.list = append(c.list, BlockInfo{
		File: c.file, Number: f.Number, Offset: off, Bytes: bytes,
		MinTime: b.min, MaxTime: b.max, Rows: b.rows, Raw: b.raw, Streams: b.runs, Codec: Codec(f.Codec),
	})
	return nil
}

func (c *scannedContent) info() segment2.Info { return c.all }

func (c *scannedContent) checkRuns() error { return nil }

func (c *scannedContent) streams() iter.Seq2[StreamInfo, error] {
	return func(yield func(StreamInfo, error) bool) {
		for st, err := range c.labels() {
			var info StreamInfo
			if err == nil {
				info = c.totals[st.ordinal].info(c.file, st.tenant, st.labels)
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

func (c *scannedContent) labels() iter.Seq2[ordinalLabels, error] {
	return func(yield func(ordinalLabels, error) bool) {
		for _, ordinal := range slices.Sorted(maps.Keys(c.totals)) {
			tenant, enc, ok := c.scanned.Key(ordinal)
			if !ok {
				continue // lost, as scanContent has told
			}
			l, err := streamLabelsOf(c.file, int(ordinal), enc)
			if !yield(ordinalLabels{ordinal, tenant, l}, err) || err != nil {
				return
			}
		}
	}
}

func (c *scannedContent) blocks() iter.Seq2[BlockInfo, error] {
	return func(yield func(BlockInfo, error) bool) {
		for _, b := range c.list {
			if !yield(b, nil) {
				return
			}
		}
	}
}

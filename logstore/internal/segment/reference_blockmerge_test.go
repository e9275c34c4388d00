package segment

import (
	"cmp"
	"slices"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/filter"
)

// A blockMerger writes the merged blocks, one batch at a time.
type blockMerger struct {
	encoder block.Encoder
	small   [maxParts]decodedBlock
	runs    []blockRun
	rows    []row // of one run, while it is made

	block, joined []byte
	filters       [maxParts]buffer
}

// A decodedBlock is a block of the current batch.
type decodedBlock struct {
	block.Decoder
	stored []byte
	times  []int64
}

// A row is the i-th of a decoded block.
type row struct {
	time    int64
	slot, i int
}

// write writes the block of a batch. Its filter joins the filters of the
// batch's blocks.
func (g *blockMerger) write(m *merger, b *batch) error {
	g.encoder.Reset()
	g.runs = g.runs[:0]
	var filters [maxParts][]byte
	for slot, id := range b.blocks {
		s := m.sources[id.source]
		if err := g.small[slot].open(s, id.block); err != nil {
			return err
		}
		var err error
		if filters[slot], err = s.readFilter(&g.filters[slot], s.t, id.block); err != nil {
			return err
		}
	}
	for _, one := range b.groups {
		if err := g.add(m, b, one); err != nil {
			return err
		}
	}
	var err error
	if g.block, err = g.encoder.Append(g.block[:0]); err != nil {
		return err
	}
	g.joined = filter.Join(g.joined[:0], filters[:len(b.blocks)]...)
	return m.w.add(g.block, g.joined, g.runs)
}

// add merges the runs of a group into one, by time. Rows with equal times keep
// the order of the group.
func (g *blockMerger) add(m *merger, b *batch, one group) error {
	g.rows = g.rows[:0]
	raw := int64(0)
	for _, p := range one.parts {
		d, had := &g.small[p.slot], raw
		for i := p.First; i < p.First+p.Rows; i++ {
			g.rows = append(g.rows, row{d.times[i], p.slot, i})
			raw += int64(len(d.Line(i)) + len(d.Meta(i)))
		}
		if raw-had != p.Raw {
			id := b.blocks[p.slot]
			return m.sources[id.source].wrong(id.block, errBytes)
		}
	}
	byTime := func(a, b row) int { return cmp.Compare(a.time, b.time) }
	if !slices.IsSortedFunc(g.rows, byTime) {
		slices.SortStableFunc(g.rows, byTime)
	}
	g.runs = append(g.runs, blockRun{seq: one.parts[0].seq, StreamRun: StreamRun{Labels: one.labels, Run: Run{
		First: g.encoder.Rows(), Rows: len(g.rows), Raw: raw,
		MinTime: g.rows[0].time, MaxTime: g.rows[len(g.rows)-1].time,
	}}})
	for _, r := range g.rows {
		d := &g.small[r.slot]
		g.encoder.Add(r.time, d.Line(r.i), d.Meta(r.i))
	}
	return nil
}

// open reads and decodes a block.
func (d *decodedBlock) open(s *mergeSource, n int) (err error) {
	if d.stored, err = s.ReadBlock(d.stored[:0], n); err != nil {
		return err
	}
	if d.times, err = d.Decode(d.stored); err == nil && d.Rows() != int(s.t.blockEntry(n).rows) {
		err = errRows
	}
	if err != nil {
		return s.wrong(n, err)
	}
	return nil
}

// wrong returns the error of a block whose checksum matches but whose contents
// are wrong.
func (s *mergeSource) wrong(n int, why error) error {
	return wrongContent(s.src, s.t.blockEntry(n), n, why)
}

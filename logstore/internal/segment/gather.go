package segment

import (
	"cmp"
	"slices"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/filter"
)

// A gather makes a new block of the rows of small ones.
type gather struct {
	encoder block.Encoder
	runs    []placed
	from    []blockID // whose rows there are
	rows    []row     // of one run, while it is made
	text    []byte    // their lines and metadata

	block, joined []byte
}

// A blockID is a block of a source.
type blockID struct{ source, block int }

// A row is a row of a small block; line and metadata are in text, from at on.
type row struct {
	time           int64
	at, line, meta int
}

// add merges runs of a stream, which follow each other in its list, into one
// run, by time. Those with equal times stay in the order of the list.
func (g *gather) add(m *merger, labels string, parts []part) error {
	g.rows, g.text = g.rows[:0], g.text[:0]
	for _, p := range parts {
		if err := g.take(m, p); err != nil {
			return err
		}
	}
	byTime := func(a, b row) int { return cmp.Compare(a.time, b.time) }
	if !slices.IsSortedFunc(g.rows, byTime) {
		slices.SortStableFunc(g.rows, byTime)
	}
	run := placed{seq: parts[0].seq, StreamRun: StreamRun{Labels: labels, Run: Run{
		First: g.encoder.Rows(), Rows: len(g.rows), Raw: int64(len(g.text)),
		MinTime: g.rows[0].time, MaxTime: g.rows[len(g.rows)-1].time,
	}}}
	for _, r := range g.rows {
		line, meta := g.text[r.at:r.at+r.line], g.text[r.at+r.line:r.at+r.line+r.meta]
		g.encoder.Add(r.time, line, meta)
	}
	g.runs = append(g.runs, run)
	return nil
}

// take copies the rows of a run out of its block.
func (g *gather) take(m *merger, p part) error {
	id := blockID{p.source, p.Block}
	s := m.sources[p.source]
	d, err := m.cache.get(s, id)
	if err != nil {
		return err
	}
	times, err := d.Times()
	if err != nil {
		return corrupt(s.src, s.t.record(p.Block).payload(), p.Block, "%v", err)
	}
	at := len(g.text)
	for i := p.First; i < p.First+p.Rows; i++ {
		line, meta := d.Line(i), d.Meta(i)
		g.rows = append(g.rows, row{times[i], len(g.text), len(line), len(meta)})
		g.text = append(append(g.text, line...), meta...)
	}
	if int64(len(g.text)-at) != p.Raw {
		return corrupt(s.src, s.t.record(p.Block).payload(), p.Block, "%v", errBytes)
	}
	if !slices.Contains(g.from, id) {
		g.from = append(g.from, id)
	}
	return nil
}

// write writes the block, if there are rows, and begins the next. Its filter is
// that of all the blocks that it has rows of.
func (g *gather) write(m *merger) (err error) {
	if g.encoder.Rows() == 0 {
		return nil
	}
	if g.block, err = g.encoder.Append(g.block[:0]); err != nil {
		return err
	}
	filters := make([][]byte, len(g.from))
	for i, id := range g.from {
		s := m.sources[id.source]
		var buf buffer
		if filters[i], err = s.readFilter(&buf, s.t, id.block); err != nil {
			return err
		}
	}
	g.joined = filter.Join(g.joined[:0], filters...)
	if err := m.w.add(g.block, g.joined, g.runs); err != nil {
		return err
	}
	g.encoder.Reset()
	g.runs, g.from = g.runs[:0], g.from[:0]
	return nil
}

// cachedBlocks is how many decoded blocks are kept: as most segments that are
// merged at once have one small block for many streams that follow each other.
const cachedBlocks = 16

// A blockCache keeps the small blocks that were decoded last.
type blockCache struct {
	clock   uint64
	entries []*cachedBlock
}

type cachedBlock struct {
	id   blockID
	used uint64
	p    []byte
	d    block.Decoder
}

// get returns a block whose lines are decoded; it is valid until the next call.
func (c *blockCache) get(s *mergeSource, id blockID) (*block.Decoder, error) {
	c.clock++
	var e *cachedBlock
	for _, have := range c.entries {
		if have.id == id {
			have.used = c.clock
			return &have.d, nil
		}
		if e == nil || have.used < e.used {
			e = have
		}
	}
	if len(c.entries) < cachedBlocks {
		e = new(cachedBlock)
		c.entries = append(c.entries, e)
	}
	e.id = blockID{-1, -1} // until it is there
	var err error
	if e.p, err = s.ReadBlock(e.p[:0], id.block); err != nil {
		return nil, err
	}
	rec := s.t.record(id.block)
	if err = e.d.Open(e.p); err == nil && e.d.Rows() != int(rec.rows) {
		err = errRows
	}
	if err == nil {
		err = e.d.Lines()
	}
	if err != nil {
		return nil, corrupt(s.src, rec.payload(), id.block, "%v", err)
	}
	e.id, e.used = id, c.clock
	return &e.d, nil
}

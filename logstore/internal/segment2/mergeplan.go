package segment2

import (
	"cmp"
	"slices"
	"sort"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/filter"
)

const (
	// maxJoined is the most filters that are joined, and the most blocks that are
	// merged into one. One filter in 256 seems to have a key that it does not have;
	// of 16 joined ones, fewer than one in 16.
	maxJoined = 16

	// recodedSmall bounds the size of blocks of another codec than Encoder's that are
	// merged as small ones, whatever BlockRaw is: larger blocks are not small for their
	// codec.
	recodedSmall = 256 << 10

	// maxMerged bounds the raw bytes of a merged block, whatever BlockRaw is: its
	// parts are less than MaxRead.
	maxMerged = 2 << 20
)

// A blockID is a block of a source.
type blockID struct {
	source uint16
	codec  uint16
	block  uint32
}

// A mergeUnit is a block that is copied, or small ones that are merged into one.
type mergeUnit struct {
	low    uint32 // the ordinal of the lowest stream, in the new segment
	blocks []blockID
	recode bool // also if it is one block
}

// A batch is small blocks that may be merged.
type batch struct {
	mergeUnit
	parts     int // that the joined filter will have; 0: it rules nothing out
	rows, raw int64
	runs      int
}

// weight is the bytes of lines, or the cost of many empty lines.
func weight(rows, raw int64) int64 { return max(raw, 4*rows) }

// plan puts adjacent small blocks of a tenant, by source and number, into
// batches, and sorts all units. A batch has whole blocks, so each filter is part
// of one joined filter only, which describes the rows of its block and no
// others. A small block that fits neither neighbour is copied.
func (m *merger) plan() error {
	growing := make([]*batch, len(m.tenantEnds))
	var buf []byte
	for number, s := range m.sources {
		for i := range s.zones {
			g, err := s.Group(m.ctx, i)
			if UnlessRebuilt(err) != nil {
				return err
			}
			s.group = g
			for n := range g.Blocks {
				if err := m.planBlock(growing, number, g, g.First+n, &buf); err != nil {
					return err
				}
			}
		}
	}
	for _, b := range growing {
		m.endBatch(b)
	}
	slices.SortFunc(m.units, func(a, b mergeUnit) int {
		return cmp.Or(cmp.Compare(a.low, b.low), cmp.Compare(a.blocks[0].source, b.blocks[0].source), cmp.Compare(a.blocks[0].block, b.blocks[0].block))
	})
	return nil
}

// planBlock plans a block.
func (m *merger) planBlock(growing []*batch, source int, g *Group, number int, buf *[]byte) error {
	s, b := m.sources[source], g.Block(number)
	if int64(b.Low) >= int64(len(s.ordinals)) {
		return s.corrupt(b.Offset, number, errOrdinals)
	}
	lost := s.removal.of(uint32(number))
	if lost != nil && lost.all {
		return nil
	}
	next := batch{
		mergeUnit: mergeUnit{low: s.ordinals[b.Low], blocks: []blockID{{uint16(source), b.Codec, uint32(number)}}},
		rows:      int64(b.Rows), raw: int64(b.Raw), runs: int(b.Runs),
	}
	if lost != nil {
		if !knownCodec(b.Codec) {
			return &VersionError{File: s.src.Name(), Version: version, Codec: b.Codec}
		}
		next.low, next.rows = s.ordinals[lost.low], next.rows-int64(lost.rows)
		next.raw = int64(float64(next.raw) * float64(next.rows) / float64(b.Rows)) // about
	}
	if !knownCodec(b.Codec) || s.version2 && b.positions == 0 || !m.encodes(&next) {
		m.units = append(m.units, next.mergeUnit)
		return nil
	}
	next.recode = b.Codec != m.blocks.encoder.Codec()
	if !m.makesFilter(next.blocks) {
		var err error
		if *buf, err = s.ReadFilter(m.ctx, *buf, g, number); err != nil {
			return err
		}
		next.parts = filter.Parts(*buf)
	}
	last := &growing[m.tenantOf(next.low)]
	if *last != nil && m.fits(*last, &next) {
		(*last).join(&next)
		return nil
	}
	m.endBatch(*last)
	*last = &next
	return nil
}

// encodes reports whether a block is encoded again: it is small, or of another codec
// than the new blocks and MergeOptions.Recode allows it.
func (m *merger) encodes(b *batch) bool {
	size := weight(b.rows, b.raw)
	if b.blocks[0].codec == m.blocks.encoder.Codec() {
		return 2*size < m.target()
	}
	if size <= m.recode {
		m.recode -= size
		return true
	}
	return 2*size < min(m.target(), recodedSmall)
}

// target is the size that merged blocks may have.
func (m *merger) target() int64 { return min(int64(m.o.BlockRaw), maxMerged) }

// tenantOf returns the number of the tenant of a stream of the new segment.
func (m *merger) tenantOf(ordinal uint32) int {
	return sort.Search(len(m.tenantEnds), func(i int) bool { return m.tenantEnds[i] > ordinal })
}

// fits reports whether next may join the batch. A filter that rules nothing out
// is not joined with others: the result would rule nothing out either.
func (m *merger) fits(b, next *batch) bool {
	rows, raw := b.rows+next.rows, b.raw+next.raw
	joins := b.parts+next.parts <= maxJoined && (b.parts == 0) == (next.parts == 0)
	return len(b.blocks) < maxJoined && (joins || m.makesFilter(b.blocks) || m.makesFilter(next.blocks)) && weight(rows, raw) <= m.target() && rows <= block.MaxRows && b.runs+next.runs <= maxBlockRuns
}

func (b *batch) join(next *batch) {
	b.low = min(b.low, next.low)
	b.blocks = append(b.blocks, next.blocks...)
	b.parts += next.parts
	b.rows += next.rows
	b.raw += next.raw
	b.runs += next.runs
	b.recode = b.recode || next.recode
}

func (m *merger) endBatch(b *batch) {
	if b != nil {
		m.units = append(m.units, b.mergeUnit)
	}
}

package segment

import "github.com/stele-go/stele/logstore/internal/filter"

// maxParts is the most filters that are joined, and the most blocks that are
// merged into one. One filter in 256 seems to have a key that it does not have;
// of 16 joined ones, fewer than one in 16.
const maxParts = 16

// A batch is small blocks that are merged into one.
type batch struct {
	blocks []blockID
	groups []group
	parts  int // that the joined filter will have; 0: it rules nothing out
	rows   int64
	raw    int64
}

// A blockID is a block of a source.
type blockID struct{ source, block int }

// A group is adjacent runs of a stream, in order, that are merged into one.
type group struct {
	labels string
	parts  []part
}

// A part is a run of the slot-th block of a batch.
type part struct {
	slot int
	seqRun
}

// add adds a run to the last group if goesOn is set, else to a new group.
func (b *batch) add(labels string, p part, goesOn bool) {
	if !goesOn {
		b.groups = append(b.groups, group{labels: labels})
	}
	g := &b.groups[len(b.groups)-1]
	g.parts = append(g.parts, p)
}

// weight is the bytes of lines, or the cost of many empty lines.
func weight(rows, raw int64) int64 { return max(raw, 4*rows) }

// good reports whether a block is copied.
func (m *merger) good(rows, raw int64) bool { return 2*weight(rows, raw) >= int64(m.o.BlockRaw) }

// plan puts adjacent small blocks, by source and number, into batches. A batch
// has whole blocks, so each filter is part of one joined filter only, which
// describes the rows of its block and no others. A batch grows up to BlockRaw
// and maxParts. A small block that fits neither neighbour is copied.
func (m *merger) plan() error {
	var last *batch
	for i, s := range m.sources {
		for n := range s.t.count {
			entry := s.t.blockEntry(n)
			if m.good(int64(entry.rows), int64(entry.raw)) {
				continue
			}
			f, err := s.readFilter(&m.filter, s.t, n)
			if err != nil {
				return err
			}
			next := batch{parts: filter.Parts(f), rows: int64(entry.rows), raw: int64(entry.raw)}
			if last == nil || !m.fits(last, next) {
				last = new(batch)
				m.batches = append(m.batches, last)
			}
			s.destinations[n] = destination{batch: last, slot: len(last.blocks)}
			last.blocks = append(last.blocks, blockID{i, n})
			last.parts += next.parts
			last.rows += next.rows
			last.raw += next.raw
		}
	}
	several := m.batches[:0]
	for _, b := range m.batches {
		if len(b.blocks) > 1 {
			several = append(several, b)
		} else {
			m.sources[b.blocks[0].source].destinations[b.blocks[0].block].batch = nil
		}
	}
	m.batches = several
	return nil
}

// fits reports whether next may join the batch. A filter that rules nothing out
// is not joined with others: the result would rule nothing out either.
func (m *merger) fits(b *batch, next batch) bool {
	return len(b.blocks) < maxParts && b.parts+next.parts <= maxParts && (b.parts == 0) == (next.parts == 0) &&
		weight(b.rows+next.rows, b.raw+next.raw) <= int64(m.o.BlockRaw)
}

package segment2

import (
	"cmp"
	"slices"
	"unsafe"
)

// A blockMerger merges blocks into one, which it encodes.
type blockMerger struct {
	encoder BlockEncoder
	small   [maxJoined]decodedBlock
	parts   []mergedPart
	rows    []mergedRow // of one run, while it is made
	runs    Runs
	ids     []ID
	block   []byte
	filter  []byte // of the block, if one was made
	made    bool
}

// memory returns about how many bytes of memory the merger keeps.
func (g *blockMerger) memory() int64 {
	n := g.encoder.Weight() + int64(cap(g.block)+cap(g.filter)) + int64(cap(g.runs))*runBytes +
		int64(cap(g.rows))*int64(unsafe.Sizeof(mergedRow{})) + int64(cap(g.ids))*int64(unsafe.Sizeof(ID{})) + int64(cap(g.parts))*int64(unsafe.Sizeof(mergedPart{}))
	for i := range g.small {
		d := &g.small[i]
		n += d.decoder.Weight() + int64(cap(d.runs))*int64(unsafe.Sizeof(span{})) + int64(cap(d.ids))*int64(unsafe.Sizeof(ID{}))
	}
	return n
}

// release gives up the memory that the merger keeps.
func (g *blockMerger) release() {
	g.encoder.Release()
	*g = blockMerger{encoder: g.encoder}
}

// A mergedPart is a run of a small block.
type mergedPart struct {
	ordinal  uint32 // in the new segment
	slot     int    // of the block
	run      FrameRun
	seq, raw uint64 // seq in the new segment
}

// A mergedRow is the i-th row of the block in a slot.
type mergedRow struct {
	time    int64
	slot, i int
}

// write merges blocks into one, and returns those. Blocks that only a newer
// program can decode are apart, and so are all if they do not fit into one.
func (g *blockMerger) write(m *merger, blocks []blockID) (joined, apart []blockID, err error) {
	g.made = m.makesFilter(blocks)
	g.encoder.Reset(g.made)
	g.parts, g.runs, g.ids = g.parts[:0], g.runs[:0], g.ids[:0]
	for _, id := range blocks {
		ok, err := g.small[len(joined)].open(m, id)
		switch {
		case err != nil:
			return nil, nil, err
		case ok:
			g.addParts(m, len(joined))
			joined = append(joined, id)
		default:
			apart = append(apart, id)
		}
	}
	if len(joined) < len(blocks) && len(joined) < 2 {
		return nil, blocks, nil
	}
	slices.SortFunc(g.parts, func(a, b mergedPart) int {
		return cmp.Or(cmp.Compare(a.ordinal, b.ordinal), cmp.Compare(a.seq, b.seq))
	})
	for rest := g.parts; len(rest) > 0; {
		n := 1
		for n < len(rest) {
			goesOn, err := g.follows(m, &rest[n-1], &rest[n])
			if err != nil {
				return nil, nil, err
			}
			if !goesOn {
				break
			}
			n++
		}
		g.add(rest[:n])
		rest = rest[n:]
	}
	out := EncodedBlock{Block: g.block, Runs: g.runs, IDs: g.ids}
	err = g.encoder.Encode(&out)
	if g.block = out.Block; err != nil || len(g.block) > MaxRead {
		return nil, blocks, err
	}
	if g.made {
		g.filter = g.encoder.Filter(nil)
	}
	return joined, apart, m.w.AddBlock(out)
}

// makesFilter reports whether the block that is merged from some gets a new filter,
// rather than theirs. That of a codec other than 1 says what its own block has beside
// its templates, so it does not describe a block that is encoded again.
func (m *merger) makesFilter(blocks []blockID) bool {
	if m.blocks.encoder.Codec() != CodecLines {
		return true
	}
	return slices.ContainsFunc(blocks, func(id blockID) bool { return id.codec != CodecLines })
}

// addParts adds the runs of a block.
func (g *blockMerger) addParts(m *merger, slot int) {
	d := &g.small[slot]
	for i, r := range d.frame.Runs {
		if d.empties(r) {
			continue
		}
		ordinal := m.sources[d.id.source].ordinals[r.Ordinal]
		g.parts = append(g.parts, mergedPart{ordinal, slot, r, m.shift(int(d.id.source), ordinal, r.Seq), uint64(d.runs[i].raw)})
	}
}

// follows reports whether b follows a, and no other run of the stream is between
// them: its entries of equal times would have to stay between. It returns false
// if it cannot tell.
func (g *blockMerger) follows(m *merger, a, b *mergedPart) (bool, error) {
	from, to := int(g.small[a.slot].id.source), int(g.small[b.slot].id.source)
	switch {
	case a.ordinal != b.ordinal:
		return false, nil
	case from == to:
		return b.run.Seq == a.run.Seq+1, nil
	case b.run.Seq != 0:
		return false, nil
	}
	seqs, err := m.sources[from].seqs(m, a.run.Ordinal)
	if err != nil || seqs != a.run.Seq+1 {
		return false, err
	}
	for _, s := range m.sources[from+1 : to] {
		if s.hasStream(a.ordinal) {
			return false, nil
		}
	}
	return true, nil
}

// seqs returns one more than the highest seq of a stream of the source.
func (s *mergeSource) seqs(m *merger, ordinal uint32) (uint64, error) {
	if s.part == nil || s.part.First != ordinal-ordinal%PartStreams {
		p, err := s.Streams(m.ctx, int(ordinal/PartStreams))
		if UnlessRebuilt(err) != nil {
			return 0, err
		}
		s.part = p
	}
	return s.part.Streams[ordinal-s.part.First].Seqs, nil
}

// add merges runs into one, by time. Rows with equal times keep the order of the
// runs.
func (g *blockMerger) add(parts []mergedPart) {
	g.rows = g.rows[:0]
	raw := uint64(0)
	for _, p := range parts {
		d := &g.small[p.slot]
		raw += p.raw
		for i := p.run.First; i < p.run.First+p.run.Rows; i++ {
			if d.stays(i) {
				g.rows = append(g.rows, mergedRow{d.times[i], p.slot, int(i)})
			} else {
				raw -= uint64(len(d.decoder.Line(int(i))) + len(d.decoder.Meta(int(i))))
			}
		}
	}
	byTime := func(a, b mergedRow) int { return cmp.Compare(a.time, b.time) }
	if !slices.IsSortedFunc(g.rows, byTime) {
		slices.SortStableFunc(g.rows, byTime)
	}
	g.runs = append(g.runs, Run{
		Ordinal: parts[0].ordinal, Seq: parts[0].seq, Rows: uint32(len(g.rows)), Raw: int64(raw),
		MinTime: g.rows[0].time, MaxTime: g.rows[len(g.rows)-1].time,
	})
	for _, r := range g.rows {
		d := &g.small[r.slot]
		g.encoder.Add(r.time, d.decoder.Line(r.i), d.decoder.Meta(r.i))
		if len(d.ids) > 0 {
			g.ids = append(g.ids, d.ids[r.i])
		}
	}
}

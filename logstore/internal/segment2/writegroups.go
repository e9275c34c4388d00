package segment2

import (
	"slices"
	"unsafe"

	"github.com/stele-go/stele/logstore/internal/block"
)

// A groupsWriter collects the groups of blocks.
type groupsWriter struct {
	zip    *zipper
	blocks []Block
	zones  []zone       // of complete groups
	runs   []storedPart // of these
	tables []storedPart // of these
	// The group that grows has the blocks from first on, these runs, and these tables.
	first        int
	latest       Runs
	latestTables Tables
	enc          []byte // scratch
}

// add adds a block with its runs, and its table if it has one.
func (g *groupsWriter) add(b Block, runs Runs, table []block.TemplateRows) error {
	if n := len(g.blocks) - g.first; n == GroupBlocks || n > 0 && len(g.latest)+len(runs) > GroupRuns {
		if err := g.end(); err != nil {
			return err
		}
	}
	g.blocks = append(g.blocks, b)
	g.latest = append(g.latest, runs...)
	g.latestTables.add(table)
	return nil
}

// end ends the group. Its runs are kept as they will be stored: some 8 bytes a
// run in place of 56.
func (g *groupsWriter) end() error {
	blocks := g.blocks[g.first:]
	if len(blocks) == 0 {
		return nil
	}
	z := zoneOf(blocks)
	z.First = g.first
	g.enc = appendRuns(g.enc[:0], g.latest, blocks, z.Zone)
	part, err := g.zip.store(g.enc)
	if err != nil {
		return err
	}
	g.enc = g.latestTables.append(g.enc[:0])
	tables, err := g.zip.store(g.enc)
	if err != nil {
		return err
	}
	g.zones, g.runs, g.tables = append(g.zones, z), append(g.runs, part), append(g.tables, tables)
	g.first, g.latest = len(g.blocks), g.latest[:0]
	g.latestTables.reset()
	return nil
}

// memory returns about how many bytes of memory the groups take.
func (g *groupsWriter) memory() int64 {
	return int64(cap(g.blocks))*int64(unsafe.Sizeof(Block{})) + int64(cap(g.zones))*int64(unsafe.Sizeof(zone{})) +
		partsMemory(g.runs) + partsMemory(g.tables) + g.latestTables.Weight() + int64(cap(g.latest))*runBytes + int64(cap(g.enc))
}

// totalsMemory returns about how many bytes of memory totals takes.
func totalsMemory(streams int) int64 {
	return int64(min(streams, totalsWindow)) * int64(unsafe.Sizeof(streamTotal{}))
}

// totalsWindow is how many streams are added up at a time.
const totalsWindow = 64 << 10

// A streamTotal is StreamTotals, also of a stream with one run.
type streamTotal struct {
	StreamTotals
	runs int
}

// totals calls put with the totals of each stream, in the order of ordinals, by
// PartStreams and the rest. Runs are read again from the complete groups for
// each window of streams, as the totals of all streams take ten times as much
// memory; most groups have the streams of one window or two.
func (g *groupsWriter) totals(streams int, put func([]StreamTotals) error) error {
	window := make([]streamTotal, min(streams, totalsWindow))
	part := make([]StreamTotals, 0, PartStreams)
	for low := 0; low < streams; low += totalsWindow {
		window := window[:min(streams-low, totalsWindow)]
		clear(window)
		if err := g.addUp(window, int64(low)); err != nil {
			return err
		}
		for some := range slices.Chunk(window, PartStreams) {
			part = part[:0]
			for i := range some {
				part = append(part, some[i].stored())
			}
			if err := put(part); err != nil {
				return err
			}
		}
	}
	return nil
}

// addUp adds the runs of the streams from low on.
func (g *groupsWriter) addUp(window []streamTotal, low int64) error {
	for i, z := range g.zones {
		if int64(z.High) < low || int64(z.Low) >= low+int64(len(window)) {
			continue
		}
		p, err := unzip(g.enc, g.runs[i].p, g.runs[i].raw)
		if err != nil {
			return err
		}
		runs, err := parseRuns(p, &Group{First: z.First, Blocks: g.blocks[z.First : z.First+z.Blocks]}, z.Zone)
		if err != nil {
			return err
		}
		for _, r := range runs {
			if at := int64(r.Ordinal) - low; at >= 0 && at < int64(len(window)) {
				window[at].add(r)
			}
		}
	}
	return nil
}

func (s *streamTotal) add(r Run) {
	if s.runs == 0 {
		s.MinTime, s.MaxTime = r.MinTime, r.MaxTime
	}
	s.runs++
	s.MinTime, s.MaxTime = min(s.MinTime, r.MinTime), max(s.MaxTime, r.MaxTime)
	s.Rows += int64(r.Rows)
	s.Raw += r.Raw
	s.Seqs = max(s.Seqs, r.Seq+1)
}

// stored returns the totals as the section streams has them.
func (s *streamTotal) stored() StreamTotals {
	if s.runs == 1 && s.Seqs == 1 {
		return StreamTotals{Seqs: 1}
	}
	return s.StreamTotals
}

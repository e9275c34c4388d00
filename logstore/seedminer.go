package logstore

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/logstore/internal/segment2"
	"github.com/stele-go/stele/logstore/internal/template"
)

// A lazyMiner finds the templates of lines that are sealed. It is made when it is first
// needed, so that Open takes no longer for it, and a store that writes no block of
// CodecColumns has none.
type lazyMiner struct {
	once sync.Once
	of   atomic.Pointer[template.Miner]
}

// get returns the miner; the first call makes it, and learn gives it templates.
func (l *lazyMiner) get(learn func(*template.Miner)) *template.Miner {
	l.once.Do(func() {
		m := template.NewMiner()
		learn(m)
		l.of.Store(m)
	})
	return l.of.Load()
}

func (l *lazyMiner) memory() int64 {
	if m := l.of.Load(); m != nil {
		return m.Memory()
	}
	return 0
}

// Bounds of what is read to learn the templates of earlier segments, and of these.
const (
	learnedSegments  = 8
	learnedBlocks    = 64
	learnedTemplates = 8 << 10
	learnedLines     = 3 // of a template in a block
)

// learnTemplates gives a miner the templates of the newest segments, so that what an
// earlier run has learned is not learned again. A dictionary does not tell what its slots
// stand for, so some lines of each template are rebuilt. What cannot be read is left out:
// the templates are found again then.
func (s *Store) learnTemplates(m *template.Miner) {
	if s.catalog == nil {
		return
	}
	n := s.catalog.Snapshot()
	if n == nil { // a query may be the first to need a miner after the catalog has closed
		return
	}
	defer n.Release()
	l := templateLearner{miner: m, known: map[string]struct{}{}, blocks: learnedBlocks}
	segments := 0
	for _, seg := range slices.Backward(slices.Collect(n.Segments())) {
		if segments++; segments > learnedSegments || l.blocks == 0 || len(l.known) >= learnedTemplates {
			return
		}
		for _, b := range l.choose(seg) {
			select {
			case <-s.closed:
				return
			default:
				l.learn(seg, b)
			}
		}
	}
}

// A templateLearner learns the templates of one segment after the other.
type templateLearner struct {
	miner   *template.Miner
	known   map[string]struct{} // keys of templates
	blocks  int                 // that may still be read
	frame   segment2.Frame
	decoder block.Decoder
}

// A learnedBlock is a block that has templates which no block before it has.
type learnedBlock struct {
	group  *segment2.Group
	number int
	rows   int64 // of these templates
}

// choose returns the blocks of a segment that have templates which are not known, those with
// the most lines of them first.
func (l *templateLearner) choose(seg catalog.Segment) (list []learnedBlock) {
	ctx := context.Background()
	zones, err := seg.Zones(ctx)
	if segment2.UnlessRebuilt(err) != nil {
		return nil
	}
	seen := map[dictionaryEntry]struct{}{}
	for i := range zones {
		g, err := seg.Group(ctx, i)
		if segment2.UnlessRebuilt(err) != nil {
			continue
		}
		tables, err := seg.Tables(ctx, i)
		if segment2.UnlessRebuilt(err) != nil {
			continue
		}
		for n := range g.Blocks {
			b := learnedBlock{group: g, number: g.First + n}
			for _, t := range tables.Of(b.number) {
				e := dictionaryEntry{g.Blocks[n].Dictionary, t.ID}
				if _, ok := seen[e]; !ok && len(seen) < learnedTemplates {
					seen[e] = struct{}{}
					b.rows += int64(t.Rows)
				}
			}
			if b.rows > 0 {
				list = append(list, b)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b learnedBlock) int { return cmp.Compare(b.rows, a.rows) })
	list = list[:min(len(list), l.blocks)]
	l.blocks -= len(list)
	return list
}

// A dictionaryEntry is a template of a dictionary of a segment.
type dictionaryEntry struct {
	dictionary uint16
	id         uint32
}

// learn learns the templates of a block that are not known.
func (l *templateLearner) learn(seg catalog.Segment, b learnedBlock) {
	ctx := context.Background()
	if segment2.UnlessRebuilt(seg.ReadFrame(ctx, &l.frame, b.group, b.number)) != nil {
		return
	}
	d, err := seg.Dictionary(ctx, l.frame.Dictionary)
	if segment2.UnlessRebuilt(err) != nil || l.decoder.Open(l.frame.Block, d) != nil {
		return
	}
	of, err := l.decoder.RowTemplates()
	if err != nil {
		return
	}
	wanted := make([]int, len(of.Table)) // lines of each template
	for k, t := range of.Table {
		key := d.At(t.ID).Key()
		if _, ok := l.known[key]; !ok && len(l.known) < learnedTemplates {
			l.known[key] = struct{}{}
			wanted[k] = learnedLines
		}
	}
	var rows []int
	bits := make([]uint64, (l.decoder.Rows()+63)/64)
	for row, k := range of.Rows {
		if wanted[k] > 0 {
			wanted[k]--
			rows = append(rows, row)
			bits[row/64] |= 1 << (row % 64)
		}
	}
	if len(rows) == 0 || l.decoder.LinesOf(bits) != nil {
		return
	}
	for _, row := range rows {
		l.miner.Learn(d.At(of.Table[of.Rows[row]].ID), l.decoder.Line(row))
	}
}

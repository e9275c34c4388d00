package logstore

import (
	"errors"
	"slices"
	"sync"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/segment2"
	"github.com/stele-go/stele/logstore/internal/template"
)

// patternsTask counts entries by the patterns of their lines.
type patternsTask struct {
	buckets totalsTask // for its buckets alone
	names   []string   // of labels, sorted
	groups  *patternGroups
	idle    chan *patternCounter

	mining sync.Once
	miner  *template.Miner // of lines that are not in columns

	mu      sync.Mutex
	charged int64 // for the memory of miner
}

func newPatternsTask(x *search, a PatternAggregation) *patternsTask {
	names := slices.Clone(a.By)
	slices.Sort(names)
	return &patternsTask{
		buckets: totalsTask{x: x, step: int64(a.Step), offset: int64(a.Offset)},
		names:   slices.Compact(names), groups: newPatternGroups(&x.sums), idle: make(chan *patternCounter, x.store.o.Workers),
	}
}

func (*patternsTask) yields() bool { return false }

func (t *patternsTask) visit(r *reading, l leaf, bound int64, _ allotment, out *outcome) {
	b, _ := l.(*blockLeaf)
	columns := b != nil && b.entry().Codec == segment2.CodecColumns
	if columns && t.countTable(r, b, out.add, false) {
		return
	}
	mode := unordered
	if columns && r.x.filter == nil {
		mode = timesOnly
	}
	rest, err := l.pick(r, bound, mode)
	if err != nil {
		if _, damaged := asDamage(err); damaged && columns && t.countTable(r, b, out.add, true) {
			return
		}
		out.add(err)
		return
	}
	if rest != nil {
		out.more = append(out.more, rest)
	}
	if len(r.picks) == 0 {
		return
	}
	c := t.counter()
	defer t.release(c)
	if columns {
		err = c.countColumns(r, b, out.add)
	}
	if !columns || errors.Is(err, block.ErrNoTemplates) {
		err = c.countLines(r, l, b, out.add)
	}
	out.add(err)
}

// counter returns a counter that no goroutine uses.
func (t *patternsTask) counter() *patternCounter {
	select {
	case c := <-t.idle:
		return c
	default:
		return &patternCounter{t: t}
	}
}

func (t *patternsTask) release(c *patternCounter) {
	select {
	case t.idle <- c:
	default:
	}
}

// mine returns the miner for lines that are not in columns. It begins with what sealing has
// found, and what it learns is its own: queries do not change how lines are sealed.
func (t *patternsTask) mine() *template.Miner {
	t.mining.Do(func() {
		if s := t.buckets.x.store; s.o.Codec == CodecColumns {
			t.miner = s.miner.get(s.learnTemplates).Clone()
		} else {
			t.miner = template.NewMiner()
		}
	})
	return t.miner
}

// chargeMiner counts the memory that the miner has come to take.
func (t *patternsTask) chargeMiner() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	grown := t.miner.Memory() - t.charged
	if grown <= 0 {
		return nil
	}
	t.charged += grown
	return t.groups.memory.charge(grown)
}

// countTable counts a block all of whose rows are in one bucket of groups without labels,
// by its table, which the index has. It reports whether it has. A block that has lines without
// a template must be read, unless it was found damaged: they have <_> then.
func (t *patternsTask) countTable(r *reading, l *blockLeaf, fail func(error), damaged bool) bool {
	e := l.entry()
	if len(t.names) > 0 || !l.selectsAll(r.x) || !t.buckets.within(e.MinTime, e.MaxTime) {
		return false
	}
	tables, err := l.in.tablesOf(r.x, l.group.Number)
	if err != nil { // the block may be intact though what is known of it is not
		return false
	}
	known, err := l.in.dictionary(r.x, e.Dictionary)
	table := tables.Of(l.number)
	if err != nil || known.dictionary == nil || len(table) == 0 {
		return false
	}
	for _, of := range table {
		if int64(of.ID) >= int64(known.dictionary.Len()) {
			return false
		}
	}
	if _, plain := plainOf(known.dictionary, table); plain && !damaged && t.groups.takesOutlines() {
		return false
	}
	c := t.counter()
	defer t.release(c)
	c.beginColumns(known.dictionary, table)
	labels, err := t.groups.labelsOf(nil)
	start := t.buckets.bucket(e.MinTime)
	for i := 0; i < len(table) && err == nil; i++ {
		var g *patternGroup
		if g, err = c.group(labels, uint32(i)); err == nil {
			err = g.counts.add(t.groups.memory, start, int64(table[i].Rows), 0)
		}
	}
	if err == nil {
		err = c.charge()
	}
	if err != nil {
		fail(err)
	}
	if !damaged { // else it is counted as one that was read
		r.stats.Blocks.Streams++
		r.stats.Bytes.Streams += int64(e.Raw)
	}
	return true
}

// selectsAll reports whether a search without a filter selects all rows of the block that are
// in its range.
func (l *blockLeaf) selectsAll(x *search) bool {
	e, info := l.entry(), l.in.Info()
	return x.filter == nil && x.resume == nil && l.part == nil && !l.window.isCut() && l.in.behind == nil && l.in.clips == nil &&
		len(l.in.gone) == 0 && l.in.hasAll(e.Low, e.High) && (x.within.isAll() || info.After+1 >= x.within.since && x.within.has(info.Upto))
}

package logstore

import (
	"slices"
	"sync"

	"github.com/stele-go/stele/logstore/internal/segment2"
	"github.com/stele-go/stele/logstore/internal/template"
)

// Lines in blocks of CodecColumns are templates and variables. A search asks the templates of
// a segment once, then, for each block, its table and its filter, then its columns. It
// rebuilds only the lines that these leave open.

// searchedTemplates are the dictionaries of a segment that a search has met last, and what
// it knows of their templates, and the tables of a group.
type searchedTemplates struct {
	mu   sync.Mutex
	list []searchedDictionary // the last one at the end

	tablesMu sync.Mutex
	tables   *segment2.Tables // nil: none were asked for
	group    int              // of tables
}

// maxSearchedDictionaries is how many dictionaries of a segment are kept: blocks that are near
// each other share one, and a segment may say that it has thousands of large ones.
const maxSearchedDictionaries = 4

type searchedDictionary struct {
	number     uint16
	dictionary *template.Dictionary
	plan       *template.Plan // nil: nothing can be known
	fields     *fieldPlans    // nil: no fields are wanted
}

// dictionary returns a dictionary of the segment: the same one in each call, unless others came
// between, so that one that must be read from its copy, or that no cache keeps, is not decoded
// for each block. The zero value is that of blocks without one.
func (in *searched) dictionary(x *search, number uint16) (d searchedDictionary, err error) {
	if number == 0 {
		return d, nil
	}
	t := &in.templates
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, known := range t.list {
		if known.number == number {
			t.list = append(slices.Delete(t.list, i, i+1), known)
			return known, nil
		}
	}
	d.number = number
	d.dictionary, err = in.Dictionary(x.ctx, number)
	if d.dictionary == nil {
		return searchedDictionary{}, err
	}
	if x.lines != nil {
		d.plan = template.NewPlan(x.lines, d.dictionary)
	}
	if p := x.planner(); p != nil {
		d.fields = p.plans(d.dictionary)
	}
	if len(t.list) == maxSearchedDictionaries {
		t.list = slices.Delete(t.list, 0, 1)
	}
	t.list = append(t.list, d)
	return d, err
}

// tablesOf returns the tables of a group of the segment. They are kept for its next block, as
// those that were rebuilt, and those that no cache keeps, take long.
func (in *searched) tablesOf(x *search, group int) (*segment2.Tables, error) {
	t := &in.templates
	t.tablesMu.Lock()
	defer t.tablesMu.Unlock()
	if t.tables != nil && t.group == group {
		return t.tables, nil
	}
	tables, err := in.Tables(x.ctx, group)
	if err = segment2.UnlessRebuilt(err); err == nil {
		t.tables, t.group = tables, group
	}
	return tables, err
}

// searchColumns leaves those picks of a block that the filter of the search matches, and
// reads their lines, if the search has a use for them. ok is false if the block must be read
// for that.
func (l *blockLeaf) searchColumns(r *reading) (ok bool, err error) {
	plan := r.plan()
	if plan == nil {
		return false, nil
	}
	found, ok, err := r.block.Search(plan)
	if !ok || err != nil {
		return ok, l.wrapDamage(err)
	}
	all := len(r.picks)
	r.picks = slices.DeleteFunc(r.picks, func(p pick) bool { return !hasRow(found.May, p.row) })
	r.stats.Lines += int64(all - len(r.picks))
	if len(r.picks) == 0 {
		return true, nil
	}
	r.sure = found.Sure
	defer func() { r.sure = nil }()
	r.dropBeyondLimit(l)
	if err := l.rebuildPicks(r); err != nil {
		return true, err
	}
	return true, r.match(l)
}

// rebuildPicks reads metadata, and the lines of the picks of which more must be known.
func (l *blockLeaf) rebuildPicks(r *reading) error {
	r.rebuilt = append(r.rebuilt[:0], make([]uint64, (r.block.Rows()+63)/64)...)
	f, noLines := r.filter(), r.noLines()
	known, bare := noLines && r.sure != nil && (f.begin == nil || r.judged != nil), noLines && f.lineless
	rebuilt := 0
	for _, p := range r.picks {
		if !bare && !(known && r.isSure(p)) {
			r.rebuilt[p.row/64] |= 1 << (p.row % 64)
			rebuilt++
		}
	}
	if rebuilt == 0 {
		return l.readMetadata(r)
	}
	r.lineless = false
	r.stats.Columns.Rebuilt += int64(rebuilt)
	if err := r.block.LinesOf(r.rebuilt); err != nil {
		return l.wrapDamage(err)
	}
	if !r.linesRead {
		text, _ := r.block.Text()
		r.stats.RawBytes += int64(len(text) - r.block.Rows())
	}
	return nil
}

func hasRow(words []uint64, row int32) bool { return words[row/64]>>(row%64)&1 != 0 }

// needsFilters reports whether filters of blocks of the group may tell something.
func (x *search) needsFilters(g *segment2.Group) bool {
	if !x.require.empty() || x.lines == nil || !x.lines.Asks() {
		return !x.require.empty()
	}
	return slices.ContainsFunc(g.Blocks, func(b segment2.Block) bool { return b.Codec == segment2.CodecColumns })
}

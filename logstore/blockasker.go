package logstore

import (
	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/segment2"
	"github.com/stele-go/stele/logstore/internal/template"
)

// A blockAsker tells what is known of the blocks of a group without reading them: whether
// one may have an entry that the filter of a search matches, or how many match.
type blockAsker struct {
	r       *reading
	g       *groupBranch
	filters segment2.Filters // nil: no needle is asked for
	number  int              // of the block that is asked for
	ask     func(needles ...filter.Needle) (bool, error)
	judge   *template.BlockJudge

	tables *segment2.Tables
	asked  bool // for tables
}

func newBlockAsker(r *reading, g *groupBranch) *blockAsker {
	a := &blockAsker{r: r, g: g}
	a.ask = func(needles ...filter.Needle) (bool, error) {
		if a.filters == nil {
			return true, nil
		}
		return a.filters.May(a.g.group, a.number, needles...)
	}
	return a
}

// A blockVerdict is what is known, without reading a block of CodecColumns, of its entries
// that the filter of a search matches.
type blockVerdict struct {
	may   bool  // there may be some
	exact bool  // rows is how many there are, whatever metadata they have
	rows  int64 // that surely match
}

// of returns what is known of a block.
func (a *blockAsker) of(l *blockLeaf) (v blockVerdict, err error) {
	a.number = l.number
	plan, table, templates, err := a.plan(l)
	if err != nil {
		return v, err
	}
	if plan == nil {
		return a.byFilter()
	}
	if a.judge == nil {
		a.judge = template.NewBlockJudge(a.ask)
	}
	a.judge.Begin(plan)
	v.exact = true
	known := 0
	for i := range table {
		if table[i].ID >= templates { // the index is damaged, and the block may be intact
			return a.byFilter()
		}
		switch a.judge.Verdict(table[i].ID) {
		case template.Maybe:
			v.may, v.exact = true, false
			continue
		case template.Always:
			v.may = true
			v.rows += int64(table[i].Rows)
		}
		known++
	}
	if err := a.judge.Err(); err != nil {
		return blockVerdict{}, err
	}
	stats := &a.r.stats.Columns
	stats.Templates += int64(len(table))
	stats.Known += int64(known)
	return v, nil
}

// byFilter returns what the filter of the block alone tells.
func (a *blockAsker) byFilter() (v blockVerdict, err error) {
	v.may, err = a.r.x.require.mayMatch(a.ask)
	return v, err
}

// plan returns the plan for the templates of a block, its table, and how many templates the
// dictionary has. The plan is nil if nothing is known of them.
func (a *blockAsker) plan(l *blockLeaf) (_ *template.Plan, table []block.TemplateRows, templates uint32, err error) {
	x, e := a.r.x, l.entry()
	if x.lines == nil || e.Codec != segment2.CodecColumns {
		return nil, nil, 0, nil
	}
	if !a.asked {
		a.asked = true
		if a.tables, err = a.g.in.tablesOf(x, a.g.number); err != nil {
			return nil, nil, 0, err
		}
	}
	if table = a.tables.Of(l.number); table == nil {
		return nil, nil, 0, nil
	}
	known, err := a.g.in.dictionary(x, e.Dictionary)
	if known.plan == nil {
		return nil, nil, 0, err
	}
	return known.plan, table, uint32(known.dictionary.Len()), nil
}

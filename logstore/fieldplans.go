package logstore

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/column"
	"github.com/stele-go/stele/logstore/internal/template"
)

// A fieldPlanner asks a Fields for plans.
type fieldPlanner struct {
	name   string // what the caller calls the Fields
	of     *Fields
	filter *condition      // of entries that are passed, or judged, by fields, or nil
	lines  *template.Query // what it asks of lines; nil: nothing can be known

	mu    sync.Mutex
	rules map[*SlotRule]*column.Rule // met so far
}

func newFieldPlanner(name string, f *Fields, filter *condition) *fieldPlanner {
	p := &fieldPlanner{name: name, of: f, filter: filter}
	if filter != nil && filter.test != nil {
		p.lines = template.NewQuery(filter.test)
	}
	return p
}

// planner returns the planner of the search, nil if it wants no fields.
func (x *search) planner() *fieldPlanner {
	if x.fields != nil {
		return x.fields
	}
	return x.judge
}

// maxPlannedRules is how many rules are kept: of more, some are asked about twice.
const maxPlannedRules = 1 << 12

// rule returns a rule as columns use it, the same one in each call.
func (f *fieldPlanner) rule(r *SlotRule) *column.Rule {
	if r == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.rules[r]
	if c == nil {
		c = &column.Rule{Forbidden: r.Forbidden, Doubtful: r.Doubtful, Check: r.Check, Numbers: r.Numbers}
		if f.rules == nil || len(f.rules) == maxPlannedRules {
			f.rules = map[*SlotRule]*column.Rule{}
		}
		f.rules[r] = c
	}
	return c
}

// plan returns the plan for a template as blocks use it, nil for lines that are passed as
// they are.
func (f *fieldPlanner) plan(t template.Template) (_ *block.FieldPlan, err error) {
	if t.Slots() == 1 && len(t.Text()) == 0 { // any line may be of it
		return nil, nil
	}
	defer catchPanicOf(f.name+".Of", &err)
	plan, ok := f.of.Of(LineTemplate{t})
	if !ok {
		return nil, nil
	}
	if len(plan.Fields) != f.of.Number || len(plan.Rules) > 0 && len(plan.Rules) != t.Slots() {
		return nil, fmt.Errorf("logstore: %s.Of: a plan of %d fields and %d rules; want %d, and %d or none", f.name, len(plan.Fields), len(plan.Rules), f.of.Number, t.Slots())
	}
	p := &block.FieldPlan{Fields: make([]block.Field, len(plan.Fields)), Rules: make([]*column.Rule, len(plan.Rules))}
	for i, field := range plan.Fields {
		to := &p.Fields[i]
		to.Absent = field.Absent
		for _, piece := range field.Pieces {
			switch {
			case piece.Text != nil:
				to.AddText(piece.Text)
			case uint(piece.Slot) >= uint(t.Slots()):
				return nil, fmt.Errorf("logstore: %s.Of: a piece from slot %d of a template of %d", f.name, piece.Slot, t.Slots())
			default:
				to.AddSlot(piece.Slot)
			}
		}
	}
	for i, r := range plan.Rules {
		p.Rules[i] = f.rule(r)
	}
	return p, nil
}

// fieldPlans are the plans for the templates of a dictionary, by number, nil if one was not
// asked for.
type fieldPlans struct {
	list  []atomic.Pointer[fieldPlan]
	match *template.Plan // of the filter of the planner; nil: nothing can be known
}

type fieldPlan struct {
	of *block.FieldPlan // nil: lines are passed as they are
}

// plans returns what is to be known of the templates of a dictionary.
func (f *fieldPlanner) plans(d *template.Dictionary) *fieldPlans {
	p := &fieldPlans{list: make([]atomic.Pointer[fieldPlan], d.Len())}
	if f.lines != nil {
		p.match = template.NewPlan(f.lines, d)
	}
	return p
}

// of returns the plan for a template of a dictionary.
func (p *fieldPlans) of(f *fieldPlanner, d *template.Dictionary, id uint32) (*block.FieldPlan, error) {
	known := p.list[id].Load()
	if known == nil {
		plan, err := f.plan(d.At(id))
		if err != nil {
			return nil, err
		}
		known = &fieldPlan{plan}
		p.list[id].Store(known)
	}
	return known.of, nil
}

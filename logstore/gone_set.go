package logstore

import "slices"

// A goneSet is what is gone of one tenant, so that a query compares a stream only with
// deletions that may select it.
type goneSet struct {
	all []*gone // by position of the deletion
	// byLabel has those that select streams by the value of a label, under the first such
	// label, and others the rest.
	byLabel map[Label][]*gone
	others  []*gone
}

// goneSets returns what is gone of each tenant.
func goneSets(all []*deletion) map[string]*goneSet {
	sets := map[string]*goneSet{}
	for _, p := range all {
		set := sets[p.Drop.Tenant]
		if set == nil {
			set = &goneSet{byLabel: map[Label][]*gone{}}
			sets[p.Drop.Tenant] = set
		}
		set.add(&p.gone)
	}
	return sets
}

func (s *goneSet) add(g *gone) {
	s.all = append(s.all, g)
	for _, m := range g.selector {
		if m.Op == Equal && m.Value != "" { // which streams without the label have too
			l := Label{m.Name, m.Value}
			s.byLabel[l] = append(s.byLabel[l], g)
			return
		}
	}
	s.others = append(s.others, g)
}

// A memoryGone is what may be gone of a memtable, in the range of a query.
type memoryGone struct {
	*goneSet
	base     uint64
	from, to int64
}

// goneInMemory returns what may be gone of a memtable, or nil.
func (x *search) goneInMemory(m *memtable) *memoryGone {
	set := x.gone()
	if set == nil {
		return nil
	}
	in := &memoryGone{set, m.base, x.from, x.to}
	if !slices.ContainsFunc(set.all, in.has) {
		return nil
	}
	return in
}

func (in *memoryGone) has(g *gone) bool { return g.Before > in.base && g.meets(in.from, in.to-1) }

// of returns what is gone of a stream.
func (in *memoryGone) of(l Labels) (of []*gone) {
	if in == nil {
		return nil
	}
	test := func(list []*gone) {
		for _, g := range list {
			if in.has(g) && g.selector.matches(l) {
				of = append(of, g)
			}
		}
	}
	test(in.others)
	if len(in.byLabel) > 0 {
		for name, value := range l.All() {
			test(in.byLabel[Label{name, value}])
		}
	}
	return of
}

// gone returns what is gone of the tenant, or nil.
func (x *search) gone() *goneSet { return x.view.gone[x.tenant] }

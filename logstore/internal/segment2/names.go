package segment2

import (
	"context"
	"errors"
	"slices"
)

func (x *index2) Names(ctx context.Context, tenant string) (names []string, ok bool, err error) {
	some, all, err := x.share(ctx, tenant)
	if err != nil || !some {
		return nil, err == nil, err
	}
	if !all {
		return nil, false, nil
	}
	if s := x.card.summary; s != nil && s.complete {
		for i := range s.names {
			names = append(names, s.names[i].name)
		}
		return names, true, ctx.Err()
	}
	x = x.inOrder(ctx)
	defer x.stop()
	x.wantSections(TypePostings)
	d, err := x.postingsTable(ctx)
	if d == nil || !d.complete {
		return nil, false, err
	}
	if err := x.wantPostings(ctx, 0, len(d.first), func(int) bool { return true }); err != nil {
		return nil, false, err
	}
	for number := range d.first {
		list, err := x.postings(ctx, number)
		if err != nil {
			return nil, false, streamsTell(err)
		}
		for i := range list {
			if n := len(names); n == 0 || names[n-1] != list[i].name {
				names = append(names, list[i].name)
			}
		}
	}
	return names, true, nil
}

func (x *index2) Values(ctx context.Context, tenant, name string) (values []string, ok bool, err error) {
	some, all, err := x.share(ctx, tenant)
	if err != nil || !some {
		return nil, err == nil, err
	}
	if !all {
		return nil, false, nil
	}
	if s := x.card.summary; s != nil {
		n, ok := s.find(name)
		if !ok && s.complete {
			return nil, true, ctx.Err()
		}
		if ok && n.kind == summaryList {
			return slices.Clone(n.values), true, ctx.Err()
		}
	}
	x = x.inOrder(ctx)
	defer x.stop()
	x.wantSections(TypePostings)
	d, err := x.postingsTable(ctx)
	if d == nil {
		return nil, false, err
	}
	for p, err := range x.postingsOf(ctx, d, Condition{Name: name, Match: func(string) bool { return true }}) {
		if err != nil {
			return nil, false, streamsTell(err)
		}
		if p.runs != nil {
			values = append(values, p.value)
		}
	}
	return values, values != nil || d.complete, nil
}

// share reports whether some of the streams are a tenant's, and whether all are.
func (x *index2) share(ctx context.Context, tenant string) (some, all bool, err error) {
	low, high, err := x.tenant(ctx, tenant)
	return low < high, low == 0 && int(high) == x.card.info.Streams, err
}

// postingsTable returns the directory of the postings, or nil without an error
// if there are none.
func (x *index2) postingsTable(ctx context.Context) (*postingsTable, error) {
	if x.card.section(TypePostings) == nil {
		return nil, ctx.Err()
	}
	d, err := x.postingsDirectory(ctx)
	if err != nil {
		return nil, streamsTell(err)
	}
	return d, nil
}

// streamsTell marks damage of what the labels of the streams say too.
func streamsTell(err error) error {
	bad, ok := errors.AsType[*CorruptError](err)
	if !ok {
		return err
	}
	told := *bad // which others may have
	told.Rebuilt = true
	return &told
}

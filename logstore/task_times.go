package logstore

import "math"

// timesTask finds which leaves have entries within the limit of a query without
// a filter. It reads no line, and keeps of each leaf the part with entries.
type timesTask struct{}

func (timesTask) yields() bool { return false }

func (timesTask) visit(r *reading, l leaf, bound int64, _ allotment, out *outcome) {
	rest, err := l.pick(r, bound, timesOnly)
	if err != nil {
		out.add(err)
		return
	}
	if rest != nil {
		out.more = append(out.more, rest)
	}
	if len(r.picks) == 0 {
		return
	}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, p := range r.picks {
		k := r.x.key(p.time)
		first, last = min(first, k), max(last, k)
	}
	out.keys, out.kept = r.picks, l.between(first, last)
}

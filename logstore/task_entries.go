package logstore

// entriesTask copies the matching entries of leaves, for the consumer.
type entriesTask struct{}

func (entriesTask) yields() bool { return true }

func (entriesTask) visit(r *reading, l leaf, bound int64, of allotment, out *outcome) {
	rest, err := l.pick(r, bound, withLines)
	if err != nil {
		out.add(err)
		return
	}
	picks := r.picks
	if limit := r.x.limit; limit > 0 && len(picks) >= limit {
		// Entries beyond the limit within one leaf are beyond it in all.
		picks, rest = picks[:limit], nil
	}
	n := 0
	if len(picks) > 0 {
		out.results, n = copyPicks(r, l, picks, of, out.add)
	}
	if n < len(picks) {
		left := int64(float64(l.raw()) * float64(len(picks)-n) / float64(len(picks)))
		rest = l.behind(r.mark(picks[n-1]), r.x.key(picks[n].time), max(1, left))
	}
	if rest != nil {
		out.more = append(out.more, rest)
	}
}

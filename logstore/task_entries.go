package logstore

// entriesTask copies the matching entries of leaves, for the consumer.
type entriesTask struct{}

func (entriesTask) yields() bool { return true }

func (entriesTask) visit(r *reading, l leaf, bound int64, of allotment, out *outcome) {
	r.cut.begin(of.bytes)
	rest, err := l.pick(r, bound, withLines)
	r.cut.bytes = 0
	if err != nil {
		out.add(err)
		return
	}
	picks := r.picks
	if limit := r.x.limit; limit > 0 && len(picks) >= limit {
		// Entries beyond the limit within one leaf are beyond it in all.
		picks, rest, r.cut.left = picks[:limit], nil, 0
	}
	n := 0
	if len(picks) > 0 {
		out.results, n = copyPicks(r, l, picks, of, out.add)
	}
	if out.err != nil { // which ends the scan
		return
	}
	if left := len(picks) - n + r.cut.left; left > 0 {
		first := r.cut.first
		if n < len(picks) {
			first = r.x.key(picks[n].time)
		}
		bytes := int64(float64(l.raw()) * float64(left) / float64(n+left))
		rest = l.behind(r.mark(picks[n-1]), first, max(1, bytes))
		if b, ok := rest.(*blockLeaf); ok && out.results != nil {
			b.kept = out.results.lineBytes()
		}
	}
	if rest != nil {
		out.more = append(out.more, rest)
	}
}

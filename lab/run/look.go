package run

import "slices"

// Differences of farAway or more are seen before an experiment ends without gain, and
// more than tooMany times the most rounds would be needed to settle the others.
const (
	farAway = 0.25
	tooMany = 2
)

// Look analyses the results of one experiment, one for each place, after the rounds so
// far, and returns why it may end here, which it notes in Stopped, or "" to go on:
//
//   - StoppedClear: every comparison in every place has a verdict.
//   - StoppedNoGain: those without one would need more than twice the most rounds, and
//     each of them would have shown a difference of 1.25 times.
//
// A look notes its number of rounds in Looks, because it costs confidence. A result that
// is clear at its look k has the intervals of stats.RatioLook with the confidence
// stats.LookConfidence(0.95, k): 99.5 % at the first look. One that ended for
// another reason has those of stats.RatioPaired with stats.LastConfidence(0.95, k)
// after k looks: 95.5 % after one, 97 % after any number. Over all looks together an
// interval then covers 95 %, and a difference that is not there is found in at most 5 %
// of the experiments. Look at rounds that are fixed beforehand (stats.NextLook), and not
// after the last one.
//
// With another test than TestBootstrap a verdict rests on all comparisons of the run
// (Holm), so that no experiment can end early: Look analyses, notes nothing and returns
// "".
func (r *Run) Look(results []*Result, most int) (stopped string) {
	early := r.Settings.Test == TestBootstrap
	clear, gain := early, !early
	for _, res := range results {
		if early {
			// The confidence is that of an end here, as Analyse will find it again.
			res.Looks, res.Stopped = append(slices.Clip(res.Looks), res.roundsRun()), StoppedClear
		}
		res.analyse(r)
		res.judge(r)
		clear, gain = clear && res.clear(), gain || res.gain(most)
	}
	switch {
	case clear:
		stopped = StoppedClear
	case !gain:
		stopped = StoppedNoGain
	}
	for _, res := range results {
		res.Stopped = stopped
	}
	return stopped
}

// gain reports whether more rounds may bring a missing verdict, or show a large
// difference.
func (res *Result) gain(most int) bool {
	worth := func(needed int, visible float64) bool {
		return needed > 0 && needed <= tooMany*most || visible > farAway || visible == 0
	}
	compared := 0
	for i := range res.Comparisons {
		c := &res.Comparisons[i]
		if !res.Variant(c.Variant).judged() || !res.Variant(c.Baseline).judged() {
			continue
		}
		if compared++; c.Verdict == CannotTell && worth(c.RoundsNeeded, c.Visible) {
			return true
		}
	}
	for _, f := range res.Findings {
		if slices.ContainsFunc(f.Unclear, func(u Unclear) bool { return worth(u.RoundsNeeded, u.Visible) }) {
			return true
		}
	}
	return compared == 0 // a variant alone gets all rounds
}

// clear reports whether every comparison has a verdict, those with the fastest variant
// included. Variants that failed stay without one, and a variant alone has none.
func (res *Result) clear() bool {
	judged := func(name string) bool { return res.Variant(name).judged() }
	compared := 0
	for i := range res.Comparisons {
		c := &res.Comparisons[i]
		if !judged(c.Variant) || !judged(c.Baseline) {
			continue
		}
		if c.Verdict == CannotTell {
			return false
		}
		compared++
	}
	return compared > 0 && !slices.ContainsFunc(res.Findings, func(f Finding) bool { return len(f.Unclear) > 0 })
}

// roundsRun is the number of the last round that has a timed block.
func (res *Result) roundsRun() int {
	last := 0
	for i := range res.Blocks {
		if b := &res.Blocks[i]; b.Role == RoleTimed {
			last = max(last, b.Round)
		}
	}
	return last
}

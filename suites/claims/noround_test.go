package claims

import (
	"slices"
	"testing"

	"github.com/stele-go/stele/lab/run"
)

// withoutRound makes up the results of a claim on a machine that has all that the claim
// needs, for a run whose time was up before the first round.
func withoutRound(c *Claim, fs string) *made {
	m := in(fs, fs).onImage("/images").cpus(16)
	m.place.Environment.Journal = "ordered"
	return m.all(c, hundred).each(func(_ *run.Result, v *run.VariantResult) {
		v.Time, v.Metrics, v.Syscalls = noEstimate, nil, nil
		v.Latency = []run.Percentile{{P: 99, None: true}}
		uncounted := run.Reason{Code: run.ReasonNotCounted}
		v.Missing = map[string]run.Reason{"syscalls": uncounted, run.MetricSyscalls: uncounted}
	})
}

// Without a round nothing is missing, and nothing is refuted: the claims on creating files and
// directories cannot be told.
func TestNoRoundCannotTell(t *testing.T) {
	for _, c := range slices.Concat(Directories(), Creation()) {
		places := []*made{withoutRound(&c, "ext4")}
		if c.judgeAll != nil {
			places = append(places, withoutRound(&c, "xfs"), withoutRound(&c, "btrfs"))
		}
		expect(t, "no round", judge(t, &c, places...), CannotTell)
	}
}

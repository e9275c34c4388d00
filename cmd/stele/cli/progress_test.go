package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/claims"
)

// threeClaims is a selection of three claims, of which the second shares an experiment
// with the first and the third has none that was chosen, beside one of a suite.
func threeClaims() selection {
	e := func(name string) lab.Experiment { return lab.Experiment{Suite: "s", Name: name} }
	return selection{
		experiments: []lab.Experiment{e("suite"), e("a"), e("shared"), e("b")},
		claims: []claims.Claim{
			{ID: "D1", Experiments: []lab.Experiment{e("a"), e("shared")}},
			{ID: "D2", Experiments: []lab.Experiment{e("shared"), e("b")}},
			{ID: "D3", Experiments: []lab.Experiment{e("filtered out")}},
		},
	}
}

// Progress counts claims where claims are tested, and experiments elsewhere.
func TestProgressCountsClaims(t *testing.T) {
	tested := threeClaims().countClaims()
	for id, want := range map[string]string{
		"s/suite":  "[1/4] s/suite  round 2/20  25 %, about 1m0s left  v",
		"s/a":      "claim 1 of 2, D1: s/a  round 2/20  25 %, about 1m0s left  v",
		"s/shared": "claim 1 of 2, D1: s/shared  round 2/20  25 %, about 1m0s left  v",
		"s/b":      "claim 2 of 2, D2: s/b  round 2/20  25 %, about 1m0s left  v",
	} {
		e := lab.Event{Kind: "block", Experiment: id, Variant: "v", Round: 2, Rounds: 20, Index: 1, Of: 4, Share: 0.25, Left: run.Nanos(time.Minute)}
		if got := tested.step(e).describe(); got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
	e := lab.Event{Kind: "forecast", Of: 4, Left: run.Nanos(time.Minute)}
	for want, count := range map[string]claimCount{"2 claims, 4 experiments, about 1m0s; ": tested, "4 experiments, about 1m0s; ": {}} {
		if got := count.step(e).forecast(); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q at its beginning", got, want)
		}
	}
}

// An event as JSON has the claim beside the fields of lab.Event.
func TestProgressAsJSONHasTheClaim(t *testing.T) {
	var b bytes.Buffer
	show := showRun(&meter{w: &b, mode: "json"}, threeClaims().countClaims())
	show(lab.Event{Kind: "block", Experiment: "s/b", Index: 4, Of: 4})
	var got step
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := step{Event: lab.Event{Kind: "block", Experiment: "s/b", Index: 4, Of: 4}, Claim: "D2", ClaimIndex: 2, Claims: 2}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

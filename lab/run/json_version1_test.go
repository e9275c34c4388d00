package run

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
)

// A run that a Stele of version 1 wrote is read, analysed and compared as one of
// this version.
func TestReadVersion1(t *testing.T) {
	data, err := os.ReadFile("testdata/version1.json")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if r.Schema != Schema || len(r.Results) != 2 {
		t.Fatalf("schema %q, %d results", r.Schema, len(r.Results))
	}
	res := r.Results[0]
	if want := (Cut{Rounds: 8, Needed: 20, Took: 5e9}); res.Cut == nil || *res.Cut != want {
		t.Errorf("cut %+v, want %+v", res.Cut, want)
	}
	// The figures of the file itself, to the digit.
	c := res.Comparisons[0]
	if c.Verdict != Slower || c.Ratio.Median != 1.1769284369101882 || c.Ratio.N != 8 {
		t.Errorf("comparison %+v", c)
	}
	if f := res.Findings; len(f) != 2 || f[0].Kind != FoundBest || f[0].Fastest != "a" || f[0].Next != "b" || f[1].Kind != FoundNothing {
		t.Errorf("findings %+v", f)
	}
	want := []Warning{{Code: WarnOutliers, Rounds: []int{1}}, {Code: WarnBatched, N: 3}, {Code: WarnOutOfRange, N: 1}}
	if got := res.Variant("a").Warnings; !reflect.DeepEqual(got, want) {
		t.Errorf("warnings %+v, want %+v", got, want)
	}
	if w := r.Places[0].Environment.Warnings; len(w) != 1 || w[0].Code != WarnVirtual || w[0].Text == "" {
		t.Errorf("warnings about the place %+v", w)
	}
	if s := r.Results[1].Surfaces; len(s) != 1 || s[0].KneeHi != "2" {
		t.Errorf("surfaces %+v", s)
	}
	if res.Variant("a").Trace == nil || len(res.Variant("a").Trace.Calls) != 1 {
		t.Errorf("trace %+v", res.Variant("a").Trace)
	}

	// Written, it is a run of this version.
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	again, err := Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if report := compareTwo(r, again, CompareOptions{Force: true}); len(report.Problems)+len(report.Differences) != 0 || len(report.Rows) == 0 {
		t.Errorf("compared with itself: %+v", report)
	}
}

// Why a run was not complete was stored as a sentence.
func TestPartialFromVersion1(t *testing.T) {
	r, err := Read(strings.NewReader(`{"schema":"stele.run/1","settings":{"test":"bootstrap"},"partial":"interrupted","results":[]}`))
	if err != nil || r.Partial == nil || *r.Partial != (Partial{Cause: "interrupted"}) {
		t.Errorf("%+v, %v", r, err)
	}
}

// Why a figure is missing was stored as a sentence, and is kept as it is.
func TestReasonFromVersion1(t *testing.T) {
	var b Block
	if err := json.Unmarshal([]byte(`{"missing":{"a":"no counter","b":"","c":{"code":"few-ticks","n":3,"of":20}}}`), &b); err != nil {
		t.Fatal(err)
	}
	want := map[string]Reason{"a": {Code: ReasonText, Text: "no counter"}, "b": {}, "c": {Code: ReasonFewTicks, N: 3, Of: 20}}
	if !reflect.DeepEqual(b.Missing, want) {
		t.Errorf("%+v, want %+v", b.Missing, want)
	}
}

// A sentence about the rounds that cannot be read is an error, and no cut of 0 rounds.
func TestCutFromVersion1(t *testing.T) {
	for text, want := range map[string]Cut{
		"the budget had room for 3 of the 6 rounds that a verdict takes; with their pilots they took 5s. A longer budget brings a verdict.":   {Rounds: 3, Needed: 6, Took: 5e9},
		"the budget had room for 3 of the 6 rounds that a verdict takes; with their pilots they took 1m5s. A longer budget brings a verdict.": {Rounds: 3, Needed: 6, Took: 65e9},
	} {
		if c, err := cutFromVersion1(text); err != nil || c == nil || *c != want {
			t.Errorf("%q: %+v, %v; want %+v", text, c, err, want)
		}
	}
	if c, err := cutFromVersion1(""); c != nil || err != nil {
		t.Errorf("no sentence: %+v, %v", c, err)
	}
	for _, text := range []string{"too few rounds", "the budget had room for 3 of the 6 rounds that a verdict takes; with their pilots they took long"} {
		if c, err := cutFromVersion1(text); err == nil {
			t.Errorf("%q: %+v, want an error", text, c)
		}
	}
}

// Causes and links of waits were stored in words.
func TestWaitsFromVersion1(t *testing.T) {
	text, err := waitsFromVersion1([]byte(`{"window_ns":1,"series":[{"cause":"blocked: sync","time_ns":[1]},{"cause":"page fault: disk, read or metadata","time_ns":[2]},{"cause":"kernel, in f","time_ns":[3]}],
		"kernel_by_call":{"fsync":{"ext4 journal, waiting for a commit":4}},
		"chains":[{"links":[{"who":"a timer of the Go runtime","how":"ready, waiting for a processor"},{"who":"main.f","how":"in a system call"}],"time_ns":5}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var w Waits
	if err := json.Unmarshal(text, &w); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{CauseGo + "sync", CauseFault + CauseDiskRead, CauseIn + "f"} {
		if got := w.Series[i].Cause; got != want {
			t.Errorf("cause %q, want %q", got, want)
		}
	}
	if w.Kernel["fsync"][CauseJournalCommit] != 4 {
		t.Errorf("in the kernel: %v", w.Kernel)
	}
	want := []Link{{Who: WhoTimer, How: HowReady}, {Who: "main.f", How: HowSyscall}}
	if got := w.Chains[0].Links; !reflect.DeepEqual(got, want) {
		t.Errorf("links %v, want %v", got, want)
	}
}

// Notes, and why a field of an environment could not be read, were stored as sentences
// in early runs of this version too. They are kept as they are.
func TestSentencesOfEarlierRuns(t *testing.T) {
	for _, schema := range []string{schema1, Schema} {
		r, err := Read(strings.NewReader(`{"schema":"` + schema + `","settings":{"test":"bootstrap"},"results":[],"notes":["build 7",{"code":"shell","n":1250000}],
			"places":[{"name":"p","environment":{"unknown":{"model":"none told","cpu":{"code":"no-cpu-model"}}}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if want := []Note{{Code: NoteText, Text: "build 7"}, {Code: NoteShell, N: 1_250_000}}; !reflect.DeepEqual(r.Notes, want) {
			t.Errorf("%s: notes %+v, want %+v", schema, r.Notes, want)
		}
		want := map[string]Reason{"model": {Code: ReasonText, Text: "none told"}, "cpu": {Code: ReasonNoCPUModel}}
		if got := r.Places[0].Environment.Unknown; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: unknown %+v, want %+v", schema, got, want)
		}
	}
	var n Note
	if err := json.Unmarshal([]byte(`7`), &n); err == nil {
		t.Error("a number is read as a note")
	}
}

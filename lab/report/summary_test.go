package report

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/run/runtest"
)

// The text ends in a table of at most 80 columns, whatever the width, and in at most three
// sentences on what to do.
func TestTextEndsInTable(t *testing.T) {
	for _, width := range []int{60, 80, 140} {
		out := text(t, runtest.Sample(), TextOptions{Width: width})
		at := strings.LastIndex(out, "\nexperiment")
		if at < 0 {
			t.Fatalf("width %d: no table at the end of\n%s", width, out)
		}
		table, advice, _ := strings.Cut(out[at+1:], "\n\n")
		for _, l := range strings.Split(table, "\n") {
			if n := utf8.RuneCountInString(l); n > min(width, summaryWidth) {
				t.Errorf("width %d: %d columns: %s", width, n, l)
			}
		}
		if n := strings.Count(advice, "=> "); n == 0 || n > mostAdvice {
			t.Errorf("width %d: %d pieces of advice:\n%s", width, n, advice)
		}
	}
}

// Eight experiments of at most four ways fit on about two screens.
func TestQuickSetIsShort(t *testing.T) {
	r := runtest.Sample()
	r.Claims, r.Places = nil, r.Places[:1]
	one := *r.Results[1]
	r.Results = nil
	for i := range 8 {
		res := one
		res.Name = strings.Repeat("x", 3+i)
		res.ID = "mkdir/" + res.Name
		res.Variants = one.Variants[:4]
		r.Results = append(r.Results, &res)
	}
	if n := strings.Count(text(t, r, TextOptions{Width: 80}), "\n"); n > 120 {
		t.Errorf("%d lines", n)
	}
}

// The rows say what the verdict is, and of a row without one what could have been seen.
func TestSummaryWords(t *testing.T) {
	type ns = map[string]float64
	for _, c := range []struct {
		name      string
		vs        []run.VariantResult
		ns        ns
		way, much string
	}{
		{"a winner", named(killPrefix, "old", "x"), ns{"old": 100, "x": 48}, "x", "0.48x [0.48, 0.48]"},
		{"two winners", named(killPrefix, "old", "x", "y"), ns{"old": 100, "x": 50, "y": 51}, "x, same: y", "0.50x [0.50, 0.50]"},
		{"the baseline", named(killPrefix, "old", "x"), ns{"old": 100, "x": 125}, "old (baseline)", "0.80x [0.80, 0.80]"},
		{"the same", named(killPrefix, "old", "x"), ns{"old": 100, "x": 101}, "x", "same as old"},
		{"alone", named(killPrefix, "old"), ns{"old": 100}, "old", "not compared"},
	} {
		r := exactRun(8, c.vs, c.ns)
		r.Analyse()
		lines := summaryLines(r, r.Summary())
		if len(lines) != 1 || lines[0].Way != c.way || lines[0].Much != c.much || lines[0].Survives != "kill -9" {
			t.Errorf("%s: %+v", c.name, lines)
		}
	}
	r := exactRun(8, named(killPrefix, "old", "x"), ns{"old": 100, "x": 110})
	r.Settings.Tolerance = 0.2
	r.Analyse()
	if l := summaryLines(r, r.Summary())[0]; l.Much != "same as old within 20 %" {
		t.Errorf("%+v", l)
	}
	r = exactRun(8, named(killPrefix, "old", "x"), ns{"old": 100, "x": 100})
	slowLater(r, "x")
	r.Analyse()
	if l := summaryLines(r, r.Summary())[0]; l.Way != run.CannotTell || l.Much != "could have seen 1.2x" {
		t.Errorf("%+v", l)
	}
}

// Where goroutines share the operations, operations a second are shown, of all ways alike.
func TestThroughputIsNamed(t *testing.T) {
	r := exactRun(8, named(killPrefix, "one", "many"), map[string]float64{"one": 2000, "many": 1000})
	for i := range r.Results[0].Blocks {
		if b := &r.Results[0].Blocks[i]; b.Variant == "many" {
			b.Parallel = 8
		}
	}
	r.Analyse()
	for kind, out := range written(t, r) {
		if kind == "gobench" {
			continue
		}
		for _, want := range []string{"1.00 M/s", "500 k/s"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s has no %q:\n%s", kind, want, out)
			}
		}
	}
}

// Those of an open model have the time of an operation, though goroutines share them: the
// rate is given, and the same for all.
func TestOpenModelShowsTime(t *testing.T) {
	r := exactRun(8, named(killPrefix, "one", "many"), map[string]float64{"one": 2000, "many": 1000})
	for i := range r.Results[0].Blocks {
		b := &r.Results[0].Blocks[i]
		b.Parallel, b.Response = 8, b.Wall
		b.Wall *= 10
	}
	r.Analyse()
	if v := r.Results[0].Variant("many"); !v.Open || v.OpsPerSecond.Median != 1e5 {
		t.Errorf("open model: %v, %v operations a second; want true, 100000", v.Open, v.OpsPerSecond.Median)
	}
	if l := summaryLines(r, r.Summary())[0]; l.Speed != "1.00 us" {
		t.Errorf("an operation takes %s; want 1.00 us, the mean latency", l.Speed)
	}
}

// The command that would settle what is unclear is that of the run, for these experiments
// alone.
func TestSettleCommand(t *testing.T) {
	r := &run.Run{
		Command: []string{"stele", "bench", "mkdir", "--fs", "ext4,xfs", "--json", "x.json", "--rounds=6", "--budget", "1m", "--dir", "a b"},
		Results: []*run.Result{{ID: "mkdir/a"}, {ID: "mkdir/b/n=1"}},
	}
	s := &run.Settle{Experiments: []string{"mkdir/b/n=1"}, Rounds: 40, Took: run.Nanos(100 * time.Second)}
	want := "stele bench mkdir --fs ext4,xfs --dir 'a b' --filter '^(mkdir/b/n=1)$' --rounds 40 --budget 2m"
	got := settleCommand(r, s)
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if re := regexp.MustCompile(filterOf(r, s)); !re.MatchString("mkdir/b/n=1") || re.MatchString("mkdir/b/n=10") || re.MatchString("mkdir/a") {
		t.Error("the filter matches others")
	}
	r.Command, r.Settings.BlockTime = []string{"stele", "bench", "io", "--time", "10s", "jobs.ini"}, run.Nanos(500*time.Millisecond)
	want = "stele bench io jobs.ini --filter '^(mkdir/b/n=1)$' --rounds 40 --time 20s --budget 2m"
	if got := settleCommand(r, s); got != want {
		t.Errorf("of jobs with a time for all blocks\n got %s\nwant %s", got, want)
	}
	s.Experiments = append(s.Experiments, "mkdir/a")
	if got := settleCommand(r, s); strings.Contains(got, "--filter") {
		t.Errorf("all are unclear, and yet: %s", got)
	}
	for d, want := range map[time.Duration]string{30 * time.Second: "30s", 150 * time.Second: "2m30s", time.Hour: "1h", 71*time.Minute + 30*time.Second: "1h11m30s"} {
		if got := shortDuration(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// Of many ways the overview draws the fastest, and says how many it leaves out.
func TestOverviewOfManyWays(t *testing.T) {
	vs, ns := named(killPrefix, "old"), map[string]float64{"old": 100}
	for i := range 20 {
		name := fmt.Sprintf("way %d", i)
		vs = append(vs, named(killPrefix, name)...)
		ns[name] = float64(150 - 4*i)
	}
	r := exactRun(8, vs, ns)
	r.Analyse()
	o := newOverview(r, nil)
	if len(o.Rows) != 1 || len(o.Rows[0].Lanes) != mostLanes || o.Rows[0].More != 21-mostLanes {
		t.Fatalf("%+v", o)
	}
	names := ""
	for _, l := range o.Rows[0].Lanes {
		names += l.Name + ", "
	}
	if !strings.Contains(names, "old, ") || !strings.Contains(names, "way 19, ") || strings.Contains(names, "way 0, ") {
		t.Error(names)
	}
}

// Claims come first on the page and in Markdown, one line each.
func TestClaimsComeFirst(t *testing.T) {
	texts := written(t, runtest.Sample())
	for kind, marks := range map[string][2]string{"html": {`id="claims"`, `id="outcome"`}, "markdown": {"## Claims", "## Outcome"}} {
		first, second := strings.Index(texts[kind], marks[0]), strings.Index(texts[kind], marks[1])
		if first < 0 || second < first {
			t.Errorf("%s: claims at %d, the outcome at %d", kind, first, second)
		}
	}
	claims, _, _ := strings.Cut(texts["text"][strings.Index(texts["text"], "\nClaims: "):], "\nexperiment")
	if n := strings.Count(strings.TrimSpace(claims), "\n"); n != len(runtest.Sample().Claims) {
		t.Errorf("%d lines for %d claims:\n%s", n, len(runtest.Sample().Claims), claims)
	}
}

func TestSeenTimes(t *testing.T) {
	for visible, want := range map[float64]string{0.2: "1.2x", 0.04: "1.04x", 8.96: "10x", 0.996: "2.0x", 22.6: "24x", 105: "110x"} {
		if got := seenTimes(visible); got != want {
			t.Errorf("%v: %s, want %s", visible, got, want)
		}
	}
}

// What is left of a promise may take long to say: the heading is wrapped.
func TestHeadingIsWrapped(t *testing.T) {
	r := exactRun(8, named(powerPrefix, "old", "x"), map[string]float64{"old": 100, "x": 50})
	r.Places[0].Environment = run.Environment{FS: "ext4", Journal: "none"}
	r.Analyse()
	r.Results[0].Variants[0].Here, r.Results[0].Variants[0].Capped = killPrefix, []string{run.CapNoJournal, run.CapWriteback}
	out := text(t, r, TextOptions{Width: 80})
	if !strings.Contains(out, "no journal") {
		t.Fatal(out)
	}
	for _, l := range strings.Split(out, "\n") {
		if runes(l) > 80 {
			t.Errorf("%d columns: %s", runes(l), l)
		}
	}
}

func TestEllipsis(t *testing.T) {
	for in, want := range map[string]string{"abc": "abc", "abcdef": "abcdef", "abcdefg": "abcde…", "ab, cdefg": "ab, c…", "abcd, fg": "abcd…"} {
		if got := ellipsis(in, 6); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

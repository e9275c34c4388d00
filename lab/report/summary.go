package report

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab/run"
)

// A summaryLine is a row of a run.Summary in words, for every format alike.
type summaryLine struct {
	Label    string // the experiment, without its parameters where it has one point only
	Row      *run.SummaryRow
	Result   *run.Result
	Way      string // the fastest, with those that may be as fast
	Much     string // the ratio, or the reason for its absence
	Speed    string // of one operation, or operations a second
	Survives string
	Word     string // the verdict, for its colour
}

// summaryLines words the rows of a summary. Those of one job stand together, its points by
// their parameters and its places in the order of the run.
func summaryLines(r *run.Run, s *run.Summary) []summaryLine {
	var out []summaryLine
	for _, res := range ordered(r) {
		for i := range s.Rows {
			if row := &s.Rows[i]; row.Experiment == res.ID && row.Place == res.Place {
				l := newSummaryLine(res, row)
				l.Label = shortID(r, res)
				out = append(out, l)
			}
		}
	}
	return out
}

// shortID is the ID of a result, without the parameters where the run has no other point
// of its experiment.
func shortID(r *run.Run, res *run.Result) string {
	for _, o := range r.Results {
		if o.Suite == res.Suite && o.Name == res.Name && o.ID != res.ID {
			return clean(res.ID)
		}
	}
	return clean(res.Suite + "/" + res.Name)
}

// ordered returns the results, each experiment's places beside each other.
func ordered(r *run.Run) []*run.Result {
	var list, out []*run.Result
	for _, g := range grouped(r) {
		list = append(list, g.Results...)
	}
	for len(list) > 0 {
		id := list[0].ID
		list = slices.DeleteFunc(list, func(res *run.Result) bool {
			if res.ID == id {
				out = append(out, res)
			}
			return res.ID == id
		})
	}
	return out
}

func newSummaryLine(res *run.Result, row *run.SummaryRow) summaryLine {
	l := summaryLine{Row: row, Result: res, Way: row.Way, Survives: survivesShort(res, row), Speed: notAvailable, Word: run.CannotTell}
	if v := res.Variant(row.Way); v != nil && v.Time.N > 0 && known(v.Time.Median) {
		l.Speed = speed(res, v)
	}
	switch row.Kind {
	case run.FoundWinner:
		l.Way, l.Much, l.Word = tied(row), Ratio(*row.Ratio), run.Faster
	case run.FoundBest:
		l.Way, l.Word = row.Way+" (baseline)", run.Faster
		if row.Ratio != nil {
			l.Much = Ratio(*row.Ratio)
		}
	case run.FoundSame:
		l.Way, l.Much, l.Word = some(row.Same), "same as "+row.Way, run.Same
		if row.Tolerance > farTolerance {
			l.Much += " within " + percent(row.Tolerance)
		}
	case run.FoundAlone:
		l.Much, l.Word = "not compared", ""
	case run.FoundKnee:
		l.Way, l.Much, l.Speed, l.Word = kneeWay(res, row.Way), "knee of "+kneeOf(res, row.Way), perSecond(row.OpsPerSecond.Median), ""
	case run.FoundNothing:
		l.Way, l.Much, l.Word = row.Way, "not measured", ""
	default:
		l.Way, l.Much = run.CannotTell, couldHaveSeen(row)
	}
	l.Way, l.Much = clean(l.Way), clean(l.Much)
	return l
}

// farTolerance is where the same is no more what readers take for the same: the noise of
// the run has widened the tolerance, and the row says by how much.
const farTolerance = 0.10

// tied names the winner and those that may be as fast.
func tied(row *run.SummaryRow) string {
	s := row.Way
	if len(row.Same) > 0 {
		s += ", same: " + some(row.Same)
	}
	if len(row.Unclear) > 0 {
		s += " or " + some(row.Unclear)
	}
	return s
}

// some names the first of several and counts the others.
func some(names []string) string {
	if len(names) < 3 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
}

func couldHaveSeen(row *run.SummaryRow) string {
	if row.Visible <= 0 {
		return "too few rounds"
	}
	return "could have seen " + seenTimes(row.Visible)
}

// seenTimes writes a difference as a ratio: "1.2x" for 0.2.
func seenTimes(visible float64) string {
	if visible < 0.1 {
		return times(1 + visible)
	}
	x, err := strconv.ParseFloat(strconv.FormatFloat(1+visible, 'e', 1, 64), 64)
	if err != nil {
		x = 1 + visible
	}
	return strconv.FormatFloat(x, 'f', decimals(x, 2), 64) + "x"
}

func kneeWay(res *run.Result, name string) string {
	if v := res.Variant(name); v != nil && v.Cell != nil {
		return cellText(v.Cell)
	}
	return name
}

// kneeOf names the surface of a setting.
func kneeOf(res *run.Result, name string) string {
	if v := res.Variant(name); v != nil && v.Cell != nil {
		return v.Cell.Surface
	}
	return name
}

// parallel reports whether operations of a variant overlap. Wall time by operations is no
// operation's own time then, and operations a second are shown instead, for all variants
// of the experiment alike. Those of an open model come at a given rate, and are told apart
// by their time, the mean latency.
func parallel(res *run.Result) bool {
	return slices.ContainsFunc(res.Variants, func(v run.VariantResult) bool { return v.Parallel > 1 && !v.Open && v.OpsPerSecond.N > 0 })
}

// speed is the time of an operation, or the operations a second.
func speed(res *run.Result, v *run.VariantResult) string {
	if parallel(res) {
		return perSecond(v.OpsPerSecond.Median)
	}
	return duration(v.Time.Median)
}

// perSecond writes a number of operations a second: "12.3 k/s".
func perSecond(n float64) string {
	if !known(n) {
		return notAvailable
	}
	u := unitFor(n, []unit{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}})
	return strings.TrimSpace(digits(n/u.size)+" "+u.name) + "/s"
}

// survivesShort is what an operation of a row survives where it was measured, in one or
// two words.
func survivesShort(res *run.Result, row *run.SummaryRow) string {
	p := row.Promise
	if v := res.Variant(row.Way); v != nil {
		p = here(v)
	}
	switch {
	case !p.Writes():
		return "no writes"
	case p.Level == durability.Power:
		return "power cut"
	case p.Level == durability.Kill:
		return "kill -9"
	}
	return "nothing"
}

const summaryLegend = "A ratio is the way's share of the time of the baseline, or of the next best where the baseline is the fastest; its 95 % interval is in brackets."

// mostAdvice is how many sentences say what to do.
const mostAdvice = 3

// adviceTexts say what to do: the most rewarding first, and last what would settle
// what is unclear.
func adviceTexts(r *run.Run, s *run.Summary) []string {
	var out []string
	settle := settleText(r, s)
	for i := range s.Advice {
		a := &s.Advice[i]
		if a.Stay {
			continue // nothing is to be done
		}
		if len(out) == mostAdvice || settle != "" && len(out) == mostAdvice-1 {
			break
		}
		out = append(out, adviceText(a))
	}
	if settle != "" {
		out = append(out, settle)
	}
	return out
}

func adviceText(a *run.Advice) string {
	where := a.Suite + "/" + a.Name
	if a.N < a.Of {
		where += fmt.Sprintf(" (%d of %d cases)", a.N, a.Of)
	}
	much := times(a.Least.Median)
	if most := times(a.Most.Median); most != much {
		much = most + " to " + much
	}
	text := fmt.Sprintf("Use %s for %s: %s the time of %s", a.Way, where, much, a.Against)
	if a.Promise.Writes() {
		text += ", " + adviceSurvives(a)
	}
	return clean(text + ".")
}

// adviceSurvives names the crash that the way of an advice survives where it was measured,
// and leaves out the crash that it does not survive.
func adviceSurvives(a *run.Advice) string {
	text, _, _ := strings.Cut(here(&run.VariantResult{Promise: a.Promise, Here: a.Here}).Survives(), ",")
	return text
}

// settleText names the command that would bring the missing verdicts; "" if no reasonable
// one would.
func settleText(r *run.Run, s *run.Summary) string {
	if s.Settle == nil {
		return ""
	}
	of := units.Count(len(s.Settle.Experiments), "experiment")
	verb := "are"
	if len(s.Settle.Experiments) == 1 {
		verb = "is"
	}
	text := fmt.Sprintf("%s %s unclear; %d rounds would probably settle that", upperFirst(of), verb, s.Settle.Rounds)
	if c := settleCommand(r, s.Settle); c != "" {
		return clean(text + ": " + c)
	}
	return clean(text + ".")
}

// notKept are the flags of bench, each with a value, that another run of a part of the
// experiments does not take over.
var notKept = []string{"--filter", "--rounds", "--budget", "--time", "--seed", "--json", "--html", "--markdown", "--gobench", "--summary", "--progress"}

// settleCommand is the command of the run, for the unclear experiments and with more
// rounds.
func settleCommand(r *run.Run, s *run.Settle) string {
	if len(r.Command) == 0 {
		return ""
	}
	var args []string
	timed := false // --time is shared by the rounds, and more of them want more of it
	for i := 0; i < len(r.Command); i++ {
		name, _, inOne := strings.Cut(r.Command[i], "=")
		if slices.Contains(notKept, name) {
			timed = timed || name == "--time"
			if !inOne {
				i++ // its value
			}
			continue
		}
		args = append(args, shellWord(r.Command[i]))
	}
	if f := filterOf(r, s); f != "" {
		args = append(args, "--filter", shellWord(f))
	}
	const step = 30 * time.Second
	budget := (time.Duration(s.Took)*6/5 + step - 1).Truncate(step) // pilots and more are not in it
	args = append(args, "--rounds", fmt.Sprint(s.Rounds))
	if timed {
		all := time.Duration(s.Rounds) * time.Duration(r.Settings.BlockTime)
		args = append(args, "--time", shortDuration(max(all.Round(100*time.Millisecond), 100*time.Millisecond)))
	}
	args = append(args, "--budget", shortDuration(max(budget, step)))
	return strings.Join(args, " ")
}

// shortDuration is a flag's value without needless zeros: "1h30m", "2m30s".
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// filterOf is a regular expression for the unclear experiments, "" where these are all.
func filterOf(r *run.Run, s *run.Settle) string {
	others := slices.ContainsFunc(r.Results, func(res *run.Result) bool { return !slices.Contains(s.Experiments, res.ID) })
	if !others {
		return ""
	}
	var ids []string
	for _, id := range s.Experiments {
		ids = append(ids, regexp.QuoteMeta(id))
	}
	return "^(" + strings.Join(ids, "|") + ")$"
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./=,:@%+-]+$`)

// shellWord quotes s for a shell where that is needed.
func shellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// ratioKnown reports whether a comparison has a ratio to show.
func ratioKnown(c *run.Comparison) bool {
	return c != nil && known(c.Ratio.Median)
}

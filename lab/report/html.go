package report

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/stele-go/stele/lab/run"
)

//go:embed page.tmpl *.css
var pageFiles embed.FS

var pageTemplate = template.Must(template.New("page.tmpl").Funcs(template.FuncMap{
	"clean":   clean,
	"add1":    func(n int) int { return n + 1 },
	"columns": func(what string, names []columnHead) any { return columns{what, names} },
}).ParseFS(pageFiles, "page.tmpl"))

// HTML writes the run as one file that needs nothing else: no network, no
// script. It can be read in light and dark, on paper and on a narrow screen.
func HTML(w io.Writer, r *run.Run) error {
	css, err := styles("colors.css", "page.css")
	if err != nil {
		return err
	}
	p := newPage(r)
	p.CSS = template.CSS(css + hidingRules(r))
	if err := pageTemplate.Execute(w, p); err != nil {
		return fmt.Errorf("report: write HTML: %w", err)
	}
	return nil
}

// styles returns the named style sheets, one after the other.
func styles(names ...string) (string, error) {
	var b strings.Builder
	for _, name := range names {
		data, err := pageFiles.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("report: style sheet: %w", err)
		}
		b.Write(data)
	}
	return b.String(), nil
}

// hidingRules let the boxes of a legend hide a variant without a script.
func hidingRules(r *run.Run) string {
	most := 0
	for _, res := range r.Results {
		most = max(most, len(res.Variants))
	}
	var b strings.Builder
	for i := range most {
		fmt.Fprintf(&b, ".job:has(.toggle%d:not(:checked)) .v%d{display:none}\n", i, i)
	}
	return b.String()
}

type columns struct {
	What  string
	Names []columnHead
}

type page struct {
	CSS      template.CSS
	Title    string
	Headline string
	Settings string
	Partial  string
	Warnings []warningItem
	Overview *overview
	Advice   []string
	Verdicts []verdictItem
	// ClaimVerdicts are those of the experiments that claims rest on.
	ClaimVerdicts []verdictItem
	Doubts        []string
	PlaceTables   []placeTable
	ManyPlaces    bool
	ClaimTally    []tally
	Promises      []promiseItem
	Caps          []string // what the places keep less than promised
	MixedLegend   string
	Places        []placeItem
	Claims        []claimItem
	Jobs          []*job
	Method        method
	Glossary      []glossaryItem
}

type verdictItem struct {
	Anchor, ID, Sentence string
	Tally                []tally
}

// A tally counts the comparisons of one verdict.
type tally struct {
	Word, Class string
	N           int
	Mixed       bool
}

type promiseItem struct{ Promise, Level, Survives, After string }

type placeItem struct {
	Name, Line, Machine string
	Facts               []fact
}

type warningItem struct{ Code, Text string }

type claimItem struct {
	run.Claim
	Class, Line string
	Parts       []partItem
}

// A partItem is one question of a claim.
type partItem struct{ Answer, Class, What, Figure, Limit, Reason string }

type glossaryItem struct{ Anchor, Title, Name, Doc, Better string }

type method struct {
	Command, Schema, Version                  string
	Rounds                                    int
	BlockTime, Tolerance, Test                string
	Seed                                      uint64
	Reading, Loop, Resolution, Started, Took  string
	InProcess, MixLevels, Quick, HasBootstrap bool
}

// A job is one group: its results, and the charts and tables over all of them.
type job struct {
	Anchor, Title, Place, Question, Op string
	Multi                              bool
	Legend                             []legendTier
	Curves                             []chart
	Matrix                             *matrix
	MatrixLegend                       string
	Results                            []*resultView
}

type legendTier struct {
	Promise, Level, Survives string
	Variants                 []legendItem
}

type legendItem struct {
	Key       key
	Name, Doc string
}

type matrix struct {
	Head []string
	Rows []matrixRow
}

type matrixRow struct {
	Heading string
	Key     key
	Name    string
	Cells   []matrixCellView
}

type matrixCellView struct{ Text, Class string }

func newPage(r *run.Run) *page {
	p := &page{
		Title:    "Stele report, " + r.Started.UTC().Format("2 January 2006"),
		Headline: headline(r), Settings: upperFirst(clean(settingsLine(r))), Partial: Partial(r.Partial),
		Method: newMethod(r), Warnings: warningItems(r), Advice: adviceTexts(r, r.Summary()), PlaceTables: placeTables(r), ManyPlaces: len(r.Places) > 1,
	}
	if anyMixed(r) {
		p.MixedLegend = mixedLegend
	}
	for _, pr := range promises(r) {
		p.Promises = append(p.Promises, promiseItem{pr.String(), levelClass(pr), pr.Survives(), afterWords(pr)})
	}
	p.Caps = capLines(r)
	for _, pl := range r.Places {
		p.Places = append(p.Places, placeItem{Name: clean(pl.Name), Line: placeLine(pl), Machine: clean(machineLine(pl)), Facts: facts(pl.Environment)})
	}
	p.claims(r)
	p.jobs(r)
	for _, d := range doubts(r) {
		p.Doubts = append(p.Doubts, d.Sentence(d.Grave))
	}
	return p
}

// warningItems are the warnings of the places and the notes of the run, each once.
func warningItems(r *run.Run) []warningItem {
	var out []warningItem
	for _, d := range placeDoubts(r) {
		out = append(out, warningItem{d.Code, d.Words(len(r.Places))})
	}
	for _, n := range Notes(r) {
		out = append(out, warningItem{"note", n})
	}
	return out
}

func (p *page) claims(r *run.Run) {
	for _, c := range r.Claims {
		c.Promise = claimPromise(r, &c)
		item := claimItem{Claim: c, Class: verdictClass(c.Verdict), Line: claimLine(&c)}
		for _, part := range c.Parts {
			what := part.What
			if part.Condition != "" {
				what += " (" + part.Condition + ")"
			}
			item.Parts = append(item.Parts, partItem{clean(part.Answer), answerClass(part.Answer), clean(what), clean(part.Figure), clean(part.Limit), clean(part.Reason)})
		}
		p.Claims = append(p.Claims, item)
		i := slices.IndexFunc(p.ClaimTally, func(t tally) bool { return t.Word == clean(c.Verdict) })
		if i < 0 {
			i = len(p.ClaimTally)
			p.ClaimTally = append(p.ClaimTally, tally{Word: clean(c.Verdict), Class: item.Class})
		}
		p.ClaimTally[i].N++
	}
}

// answerClass is the colour of the answer to a question of a claim.
func answerClass(answer string) string {
	switch answer {
	case "yes":
		return "good"
	case "no":
		return "bad"
	}
	return "open"
}

// jobs lays out the experiments, and the overview that leads to them.
func (p *page) jobs(r *run.Run) {
	seen := map[string]bool{}
	anchors := map[*run.Result]string{}
	for i, g := range grouped(r) {
		j := newJob(r, g, fmt.Sprintf("e%d", i+1))
		p.Jobs = append(p.Jobs, j)
		for k, res := range g.Results {
			anchors[res] = j.Results[k].Anchor
			list := &p.Verdicts
			if forClaim(r, res) {
				list = &p.ClaimVerdicts
			}
			*list = append(*list, verdictItem{j.Results[k].Anchor, verdictLine(r, res), Verdict(r, res), tallies(res)})
			for _, m := range metricsOf(res) {
				if !seen[m.Name] {
					seen[m.Name] = true
					p.Glossary = append(p.Glossary, glossaryItem{metricAnchor(m.Name), metricTitle(m), clean(m.Name), clean(m.Doc), better(m.Better)})
				}
			}
		}
	}
	p.Overview = newOverview(r, anchors)
}

func metricAnchor(name string) string { return "m-" + benchWord(name) }

func better(b int) string {
	switch {
	case b < 0:
		return "less is better"
	case b > 0:
		return "more is better"
	}
	return ""
}

func tallies(res *run.Result) []tally {
	var out []tally
	add := func(word string, mixed bool) {
		for i := range out {
			if out[i].Word == word && out[i].Mixed == mixed {
				out[i].N++
				return
			}
		}
		out = append(out, tally{word, verdictClass(word), 1, mixed})
	}
	for _, c := range res.Comparisons {
		if v := res.Variant(c.Variant); v != nil && v.Error != "" {
			continue // it counts below
		}
		add(clean(c.Verdict), c.Mixed)
	}
	for _, v := range res.Variants {
		switch {
		case v.Unsupported:
			add("not here", false)
		case v.Error != "":
			add("failed", false)
		}
	}
	return out
}

func newMethod(r *run.Run) method {
	s := r.Settings
	return method{
		Command: clean(strings.Join(r.Command, " ")), Schema: clean(r.Schema), Version: clean(r.Version),
		Rounds: s.Rounds, BlockTime: duration(float64(s.BlockTime)), Tolerance: percent(s.Tolerance), Test: clean(s.Test), Seed: r.Seed,
		Reading: duration(float64(r.Clock.PerReading)), Loop: duration(r.Clock.PerOp), Resolution: duration(float64(r.Clock.Resolution)),
		Started: r.Started.UTC().Format("2006-01-02 15:04:05 UTC"), Took: wall(r.Duration),
		InProcess: s.InProcess, MixLevels: s.MixLevels, Quick: s.Quick, HasBootstrap: s.Test == "bootstrap",
	}
}

func newJob(r *run.Run, g *group, anchor string) *job {
	first := g.Results[0]
	j := &job{Anchor: anchor, Title: g.Title, Question: clean(first.Question), Op: clean(first.Op), Multi: len(g.Results) > 1}
	if len(r.Places) > 1 {
		j.Place = g.Place
	}
	for _, t := range tiers(first) {
		l := legendTier{Promise: t.Promise.String(), Level: levelClass(t.Promise), Survives: t.survives()}
		for _, row := range t.Rows {
			l.Variants = append(l.Variants, legendItem{key{row.Index}, clean(row.V.Name), clean(row.V.Doc)})
		}
		j.Legend = append(j.Legend, l)
	}
	if j.Multi {
		j.Curves = paramCharts(g)
		j.Matrix = newMatrix(g)
		j.MatrixLegend = matrixLegend
	}
	for i, res := range g.Results {
		a := anchor
		if j.Multi {
			a = fmt.Sprintf("%s-%d", anchor, i+1)
		}
		j.Results = append(j.Results, newResultView(r, res, a, j.Multi))
	}
	return j
}

func newMatrix(g *group) *matrix {
	t := matrixOf(g)
	m := &matrix{Head: t.head[1:]}
	order := variantOrder(g.Results[0]) // as the table's rows
	for _, l := range t.lines {
		row := matrixRow{Heading: l.heading}
		if l.cells != nil {
			row.Key, order = key{order[0]}, order[1:]
			row.Name = strings.TrimSpace(l.cells[0].text)
			for _, c := range l.cells[1:] {
				row.Cells = append(row.Cells, matrixCellView{c.text, signClass(c.text)})
			}
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

func signClass(text string) string {
	for _, word := range []string{run.Faster, run.Slower, run.Same, run.CannotTell} {
		if strings.HasSuffix(text, " "+verdictSign(word)) {
			return verdictClass(word)
		}
	}
	return ""
}

// Package randquery makes random queries over known labels and words, and makes a query simpler
// while it still shows a fault.
//
// Queries are of those parts of the language whose answer does not depend on the order of
// equal values. A metric query leaves out lines with __error__, and topk and bottomk are
// outermost.
package randquery

import (
	"math/rand/v2"
	"time"

	"github.com/stele-go/stele/logql/syntax"
)

// A Vocabulary is what queries are about.
type Vocabulary struct {
	Labels   map[string][]string // of streams, with their values
	Metadata []string            // names of structured metadata
	Fields   []string            // of lines: what parsers may find
	Numbers  []string            // those of Fields that are mostly numbers
	Values   []string            // of fields and metadata
	Words    []string            // of lines
	Patterns []string            // of | pattern, beginning with a capture
	Regexps  []string            // of | regexp
}

// A Generator makes queries. It is not safe for concurrent use.
type Generator struct {
	rng        *rand.Rand
	vocabulary Vocabulary
	labels     []string // of streams, in a fixed order
}

// New returns a generator of the same queries for the same seed.
func New(seed uint64, v Vocabulary) *Generator {
	g := &Generator{rng: rand.New(rand.NewPCG(seed, 1)), vocabulary: v}
	g.labels = sortedKeys(v.Labels)
	return g
}

func (g *Generator) chance(percent int) bool { return g.rng.IntN(100) < percent }

func pick[T any](g *Generator, list ...T) T { return list[g.rng.IntN(len(list))] }

// Log returns a query of lines.
func (g *Generator) Log() *syntax.LogExpr {
	e := &syntax.LogExpr{Matchers: g.matchers()}
	for range g.rng.IntN(6) {
		e.Stages = append(e.Stages, g.stage())
	}
	// Behind | drop level, the filter != "a" is a condition of drop: what is parsed counts.
	parsed, err := syntax.ParseLog(e.String())
	if err != nil {
		panic(e.String() + ": " + err.Error())
	}
	return parsed
}

// matchers makes a selector with at least one label that is not empty.
func (g *Generator) matchers() []syntax.Matcher {
	var list []syntax.Matcher
	first := g.rng.IntN(len(g.labels))
	for i := range g.labels {
		name := g.labels[(first+i)%len(g.labels)]
		values := g.vocabulary.Labels[name]
		m := syntax.Matcher{Name: name, Op: syntax.Equal, Value: pick(g, values...)}
		switch op := g.rng.IntN(5); {
		case op == 0:
			m.Op, m.Value = syntax.Matches, pick(g, values...)+"|"+pick(g, values...)
		case op == 1:
			m.Op, m.Value = syntax.Matches, pick(g, ".+", pick(g, values...)[:1]+".+", ".*"+pick(g, values...)[1:])
		case op == 2 && i > 0:
			m.Op = syntax.NotEqual
		case op == 3 && i > 0:
			m.Op, m.Value = syntax.NotMatches, pick(g, values...)+"|x.*"
		}
		if i == 0 || g.chance(20) {
			list = append(list, m)
		}
	}
	return list
}

func (g *Generator) stage() syntax.Stage {
	switch g.rng.IntN(21) {
	case 20:
		return pick[syntax.Stage](g, &syntax.Unpack{}, &syntax.Decolorize{})
	case 0, 1, 2, 3:
		return g.lineFilter()
	case 4, 5, 6, 7:
		return g.parser()
	case 8, 9, 10, 11, 12, 13:
		return &syntax.LabelFilter{Predicate: g.predicate(2)}
	case 14, 15:
		return &syntax.LineFormat{Template: g.template()}
	case 16:
		return g.labelFormat()
	case 17:
		return &syntax.Drop{Labels: g.choices()}
	case 18:
		return &syntax.Keep{Labels: g.choices()}
	}
	return g.parser()
}

func (g *Generator) lineFilter() syntax.Stage {
	f := &syntax.LineFilter{Op: pick(g, syntax.LineContains, syntax.LineContains, syntax.LineNotContains, syntax.LineMatches, syntax.LineNotMatches, syntax.LinePattern, syntax.LineNotPattern)}
	texts := 1
	if !f.Op.Negative() {
		texts += g.rng.IntN(3) / 2
	}
	for range texts {
		word := pick(g, g.vocabulary.Words...)
		switch f.Op {
		case syntax.LineMatches, syntax.LineNotMatches:
			word = pick(g, word, "(?i)"+word, word+"|"+pick(g, g.vocabulary.Words...), word+".*"+pick(g, g.vocabulary.Words...), "^"+word, `[a-z]+=?\d+`, word+`\W`, word+"$", `(`+word+`|zz)\d*`)
		case syntax.LinePattern, syntax.LineNotPattern:
			word = pick(g, "<_>"+word+"<_>", word+"<_>", "<_>"+word)
		}
		text := syntax.LineText{Text: word}
		if f.Op == syntax.LineContains && g.chance(10) {
			text = syntax.LineText{Text: g.addresses(), IP: true}
		}
		f.Texts = append(f.Texts, text)
	}
	return f
}

func (g *Generator) parser() syntax.Stage {
	switch g.rng.IntN(9) {
	case 0, 1, 2:
		return &syntax.JSON{}
	case 3:
		return &syntax.JSON{Extractions: g.extractions(true)}
	case 4, 5:
		return &syntax.Logfmt{KeepEmpty: g.chance(30), Strict: g.chance(20)}
	case 6:
		return &syntax.Logfmt{Extractions: g.extractions(false)}
	case 7:
		return &syntax.Regexp{Text: pick(g, g.vocabulary.Regexps...)}
	}
	return &syntax.Pattern{Text: pick(g, g.vocabulary.Patterns...)}
}

// extractions make labels whose names differ from those of all fields, or are the same as
// the one that is read.
func (g *Generator) extractions(nested bool) []syntax.Extraction {
	var list []syntax.Extraction
	for i := range 1 + g.rng.IntN(2) {
		field := pick(g, g.vocabulary.Fields...)
		e := syntax.Extraction{Label: pick(g, field, "out"), Path: field}
		if nested && g.chance(20) {
			e.Path = pick(g, "deep.x", `deep["y"]`, "list[1]", "deep.none.x", "deep")
			e.Label = "out"
		}
		if i > 0 && list[0].Label == e.Label {
			continue
		}
		list = append(list, e)
	}
	return list
}

// label is the name of any label, or of none.
func (g *Generator) label() string {
	switch g.rng.IntN(10) {
	case 0, 1:
		return pick(g, g.labels...)
	case 2:
		return pick(g, g.vocabulary.Metadata...)
	case 3:
		return pick(g, "out", "missing", "deep_x", g.labels[0]+"_extracted")
	}
	return pick(g, g.vocabulary.Fields...)
}

func (g *Generator) value() string {
	if g.chance(20) {
		return pick(g, g.vocabulary.Labels[pick(g, g.labels...)]...)
	}
	return pick(g, g.vocabulary.Values...)
}

func (g *Generator) predicate(depth int) syntax.Predicate {
	if depth > 0 && g.chance(30) {
		left, right := g.predicate(depth-1), g.predicate(depth-1)
		if g.chance(50) {
			return &syntax.And{Left: left, Right: right}
		}
		return &syntax.Or{Left: left, Right: right}
	}
	op := syntax.CompareOp(g.rng.IntN(6))
	switch g.rng.IntN(10) {
	case 0, 1, 2:
		return &syntax.NumberPredicate{Name: pick(g, g.label(), pick(g, g.vocabulary.Numbers...)), Op: op, Value: pick(g, 0, 1, 5, 20, 200, 404, 500, 1.5, -3.0)}
	case 3:
		text := pick(g, "1s", "100ms", "1m30s", "1.5s")
		d, _ := syntax.ParseDuration(text)
		return &syntax.DurationPredicate{Name: g.label(), Op: op, Value: d, Text: text}
	case 4:
		text := pick(g, "1KB", "20KiB", "2MB", "100B")
		n, _ := syntax.ParseBytes(text)
		return &syntax.BytesPredicate{Name: g.label(), Op: op, Value: n, Text: text}
	case 5:
		return &syntax.IPPredicate{Name: pick(g, "addr", "missing"), Negate: g.chance(30), Value: g.addresses()}
	}
	return &syntax.TextPredicate{Matcher: g.matcher(g.label())}
}

func (g *Generator) addresses() string {
	return pick(g, "10.0.0.0/24", "10.0.0.1", "10.0.0.2-10.0.0.5")
}

func (g *Generator) matcher(name string) syntax.Matcher {
	m := syntax.Matcher{Name: name, Op: syntax.MatchOp(g.rng.IntN(4)), Value: g.value()}
	if m.Op >= syntax.Matches {
		m.Value = pick(g, m.Value+"|"+g.value(), ".+", ".*", m.Value+".*", "[0-9]+", m.Value)
	} else if g.chance(10) {
		m.Value = ""
	}
	return m
}

func (g *Generator) template() string {
	a, b := g.label(), g.label()
	return pick(g,
		"{{."+a+"}} {{."+b+"}}", "{{."+a+"}}", a+"={{."+a+"}} "+b+"={{."+b+"}}", `{"`+a+`":"{{.`+a+`}}","n":5}`,
		"{{ToUpper ."+a+"}} x", "{{."+a+" | ToLower}}", "{{__line__}} "+pick(g, g.vocabulary.Words...), "{{if ."+a+"}}has {{."+a+"}}{{else}}none{{end}}",
	)
}

// labelFormat sets labels of its own, so that what Loki does with renamed labels of streams
// and empty templates does not matter.
func (g *Generator) labelFormat() syntax.Stage {
	item := syntax.LabelFormatItem{Name: pick(g, "out", "made", g.label()), Value: g.template()}
	if g.chance(40) {
		item.Name = pick(g, "out", "made")
		item.Rename, item.Value = true, g.label()
		if item.Value == item.Name {
			item.Value = "msg"
		}
	}
	return &syntax.LabelFormat{Items: []syntax.LabelFormatItem{item}}
}

func (g *Generator) choices() []syntax.LabelChoice {
	var list []syntax.LabelChoice
	for range 1 + g.rng.IntN(3) {
		c := syntax.LabelChoice{Matcher: syntax.Matcher{Name: g.label()}}
		if g.chance(30) {
			c.HasMatcher, c.Matcher = true, g.matcher(c.Matcher.Name)
		}
		list = append(list, c)
	}
	return list
}

func (g *Generator) duration() time.Duration {
	return pick(g, 30*time.Second, time.Minute, 90*time.Second, 5*time.Minute, 7*time.Minute, 10*time.Minute, time.Hour)
}

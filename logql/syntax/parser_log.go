package syntax

import (
	"fmt"
	"regexp"
	"strings"
)

// log takes a stream selector and its stages.
func (p *parser) log() (*LogExpr, *Error) {
	log, err := p.streams()
	if err != nil {
		return nil, err
	}
	if err := p.stages(log); err != nil {
		return nil, err
	}
	log.Range = p.from(log.Start)
	return log, nil
}

// streams takes a stream selector.
func (p *parser) streams() (*LogExpr, *Error) {
	start := p.peek().Start
	matchers, err := p.selector()
	if err != nil {
		return nil, err
	}
	log := &LogExpr{Range: p.from(start), Matchers: matchers}
	for _, m := range matchers {
		if !m.matchesEmpty() {
			return log, nil
		}
	}
	return nil, p.wrong(log.Range, "queries require at least one regexp or equality matcher that does not have an empty-compatible value",
		`for instance app=~".+" or app="api"; app=~".*" does not meet this requirement`)
}

// matchesEmpty reports whether a stream without the label meets m.
func (m Matcher) matchesEmpty() bool {
	switch m.Op {
	case Equal:
		return m.Value == ""
	case NotEqual:
		return m.Value != ""
	}
	re, err := regexp.Compile("^(?s:" + m.Value + ")$")
	return err != nil || re.MatchString("") == (m.Op == Matches)
}

// stages takes stages, up to an unwrap.
func (p *parser) stages(log *LogExpr) *Error {
	for {
		t := p.peek()
		if t.kind != symbol || p.unwrapAhead() {
			return nil
		}
		var s Stage
		var err *Error
		if op, ok := lineOps[t.text]; ok {
			if err := p.lineFilter(log, op); err != nil {
				return err
			}
			continue
		} else if t.is("|") {
			s, err = p.stage()
		} else {
			return nil
		}
		if err == nil {
			err = p.operator()
		}
		if err != nil {
			return err
		}
		log.Stages = append(log.Stages, s)
	}
}

var lineOps = map[string]LineOp{
	"|=": LineContains, "!=": LineNotContains, "|~": LineMatches, "!~": LineNotMatches, "|>": LinePattern, "!>": LineNotPattern,
}

// lineFilter takes |= "a" or "b". Of a negative operator each text becomes a filter: that is
// the same, and simpler for those who read the tree.
func (p *parser) lineFilter(log *LogExpr, op LineOp) *Error {
	f := &LineFilter{Range: p.take().Range, Op: op}
	log.Stages = append(log.Stages, f)
	for {
		t, err := p.lineText(op)
		if err == nil {
			err = p.operator()
		}
		if err != nil {
			return err
		}
		f.Texts = append(f.Texts, t)
		f.Range = p.from(f.Start)
		if !p.acceptWord("or") {
			return nil
		}
		if op.Negative() {
			f = &LineFilter{Range: p.peek().Range, Op: op}
			log.Stages = append(log.Stages, f)
		}
	}
}

func (p *parser) lineText(op LineOp) (LineText, *Error) {
	t := p.peek()
	if t.word() == "ip" {
		if op > LineNotContains {
			return LineText{}, p.wrong(t.Range, "ip(...) behind "+op.String(), `it behind "|=" or "!="`)
		}
		value, err := p.ip()
		return LineText{Range: p.from(t.Start), Text: value, IP: true}, err
	}
	want := "a text in quotes"
	if op <= LineNotContains {
		want += " or ip(...)"
	}
	if _, err := p.text(want); err != nil {
		return LineText{}, err
	}
	if op == LineMatches || op == LineNotMatches {
		if err := p.checkRegex(t.Range, t.text); err != nil {
			return LineText{}, err
		}
	}
	return LineText{Range: t.Range, Text: t.text}, nil
}

// ip takes ip("10.0.0.0/8").
func (p *parser) ip() (string, *Error) {
	p.at++
	if err := p.expect("(", `and an address in quotes`); err != nil {
		return "", err
	}
	t, err := p.text(`an address, a range or a network, such as "10.0.0.0/8"`)
	if err != nil {
		return "", err
	}
	return t.text, p.expect(")", "")
}

// unwrapAhead reports whether | unwrap is next.
func (p *parser) unwrapAhead() bool {
	t := p.ahead(1)
	return p.peek().is("|") && t.word() == "unwrap" && p.ahead(2).kind == identifier
}

// comparing are operators before which a word is always a label, never a stage.
var comparing = map[string]bool{"=": true, "==": true, "=~": true, ">": true, ">=": true, "<": true, "<=": true}

const wantStage = "json, logfmt, pattern, regexp, unpack, line_format, label_format, drop, keep, decolorize, or a condition such as status>=500"

// stage takes a stage that begins with |.
func (p *parser) stage() (Stage, *Error) {
	start := p.take().Start
	t := p.peek()
	if t.is("(") {
		return p.labelFilter(start)
	}
	if t.kind != identifier {
		return nil, p.unexpected(wantStage)
	}
	next := p.ahead(1)
	read, known := stageReaders[t.word()]
	if !known || next.kind == symbol && comparing[next.text] {
		if next.kind != symbol || !comparing[next.text] && next.text != "!=" && next.text != "!~" {
			return nil, p.noStage()
		}
		return p.labelFilter(start)
	}
	p.at++
	return read(p, start)
}

// noStage is the error about a word that is neither a stage nor a label that is compared.
func (p *parser) noStage() *Error {
	t := p.take()
	if next := p.peek(); next.kind == end || next.kind == symbol && (strings.HasPrefix(next.text, "|") || strings.ContainsAny(next.text, "[)")) || next.kind == text {
		return p.wrong(t.Range, "unknown stage "+shorten(t.text), wantStage)
	}
	return p.unexpected(fmt.Sprintf("an operator such as = behind the label %s", shorten(t.text)))
}

var stageReaders map[string]func(p *parser, start int) (Stage, *Error)

func init() {
	stageReaders = map[string]func(p *parser, start int) (Stage, *Error){
		"json": (*parser).json, "logfmt": (*parser).logfmt, "regexp": (*parser).regexp, "pattern": (*parser).pattern,
		"unpack":      func(p *parser, start int) (Stage, *Error) { return &Unpack{p.from(start)}, nil },
		"decolorize":  func(p *parser, start int) (Stage, *Error) { return &Decolorize{p.from(start)}, nil },
		"line_format": (*parser).lineFormat, "label_format": (*parser).labelFormat,
		"drop": (*parser).drop, "keep": (*parser).keep, "unwrap": (*parser).badUnwrap,
	}
}

func (p *parser) badUnwrap(int) (Stage, *Error) {
	return nil, p.unexpected("the name of a label, or duration(...) or bytes(...) around it")
}

func (p *parser) json(start int) (Stage, *Error) {
	list, err := p.extractions()
	return &JSON{p.from(start), list}, err
}

func (p *parser) logfmt(start int) (Stage, *Error) {
	s := &Logfmt{}
	for p.peek().kind == flag {
		switch t := p.take(); t.text {
		case "--strict":
			s.Strict = true
		case "--keep-empty":
			s.KeepEmpty = true
		default:
			return nil, p.wrong(t.Range, "unknown flag "+shorten(t.text), "--strict or --keep-empty")
		}
	}
	var err *Error
	s.Extractions, err = p.extractions()
	s.Range = p.from(start)
	return s, err
}

// extractions takes a="b.c", d; there may be none.
func (p *parser) extractions() ([]Extraction, *Error) {
	if p.peek().kind != identifier {
		return nil, nil
	}
	var list []Extraction
	for {
		t, err := p.name("the name of a label")
		if err != nil {
			return nil, err
		}
		e := Extraction{Range: t.Range, Label: t.text, Path: t.text}
		if p.accept("=") {
			path, err := p.text("the field in quotes")
			if err != nil {
				return nil, err
			}
			e.Path, e.Range = path.text, p.from(t.Start)
		}
		if err := p.operator(); err != nil {
			return nil, err
		}
		list = append(list, e)
		if !p.accept(",") {
			return list, nil
		}
	}
}

func (p *parser) regexp(start int) (Stage, *Error) {
	t, err := p.text("a regular expression in quotes")
	if err == nil {
		err = p.checkNamed(t.Range, t.text)
	}
	return &Regexp{p.from(start), t.text}, err
}

func (p *parser) pattern(start int) (Stage, *Error) {
	t, err := p.text(`a pattern in quotes, such as "<ip> - <_>"`)
	return &Pattern{p.from(start), t.text}, err
}

func (p *parser) lineFormat(start int) (Stage, *Error) {
	t, err := p.text(`a template in quotes, such as "{{.method}}"`)
	return &LineFormat{p.from(start), t.text}, err
}

// labelFormat takes label_format a=b, c="{{.d}}".
func (p *parser) labelFormat(start int) (Stage, *Error) {
	s := &LabelFormat{}
	seen := map[string]bool{}
	for {
		t, err := p.name("the name of a label")
		if err == nil {
			err = p.expect("=", "")
		}
		if err == nil {
			err = p.operator()
		}
		if err != nil {
			return nil, err
		}
		if seen[t.text] {
			return nil, p.wrong(t.Range, "label_format sets the label "+t.text+" twice", "each label once; use two stages")
		}
		if t.text == "__error__" {
			return nil, p.wrong(t.Range, "__error__ cannot be formatted", "another label")
		}
		seen[t.text] = true
		value := p.peek()
		if value.kind != identifier && value.kind != text {
			return nil, p.unexpected("a label, or a template in quotes")
		}
		p.at++
		s.Items = append(s.Items, LabelFormatItem{Range: p.from(t.Start), Name: t.text, Rename: value.kind == identifier, Value: value.text})
		if !p.accept(",") {
			s.Range = p.from(start)
			return s, nil
		}
	}
}

func (p *parser) drop(start int) (Stage, *Error) {
	list, err := p.choices()
	return &Drop{p.from(start), list}, err
}

func (p *parser) keep(start int) (Stage, *Error) {
	list, err := p.choices()
	return &Keep{p.from(start), list}, err
}

// choices takes a, b="c".
func (p *parser) choices() ([]LabelChoice, *Error) {
	var list []LabelChoice
	for {
		t, err := p.name("the name of a label")
		if err == nil {
			err = p.operator()
		}
		if err != nil {
			return nil, err
		}
		c := LabelChoice{Range: t.Range, Matcher: Matcher{Range: t.Range, Name: t.text}}
		if op, ok := matchOps[p.peek().text]; ok && p.peek().kind == symbol {
			p.at++
			c.HasMatcher = true
			if c.Matcher, err = p.matcherValue(t, op); err != nil {
				return nil, err
			}
			c.Range = c.Matcher.Range
		}
		list = append(list, c)
		if !p.accept(",") {
			return list, nil
		}
	}
}

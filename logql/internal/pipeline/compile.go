package pipeline

import (
	"errors"

	"github.com/stele-go/stele/logql/internal/ipmatch"
	"github.com/stele-go/stele/logql/internal/jsonscan"
	"github.com/stele-go/stele/logql/internal/match"
	"github.com/stele-go/stele/logql/internal/pattern"
	"github.com/stele-go/stele/logql/syntax"
)

const defaultMaxLine = 1 << 20

// Compile compiles stages. Errors name the stage, with its place in the query (*syntax.Error).
func Compile(stages []syntax.Stage, o Options) (*Pipeline, error) {
	p := &Pipeline{
		static: !o.AllLabels && len(o.Need) == 0 && o.Unwrap == nil, all: o.AllLabels, reads: o.AllLabels,
		ids: map[string]int32{}, needs: map[string]int{}, maxLine: o.MaxLine,
		ended: o.Ended, grow: o.Grow,
	}
	if p.maxLine <= 0 {
		p.maxLine = defaultMaxLine
	}
	p.id(errorName)
	p.id(detailsName)
	for _, name := range o.Need {
		p.need(name)
	}
	for _, s := range stages {
		c, err := p.compile(s)
		if err != nil {
			return nil, at(s.Place(), err)
		}
		p.steps = append(p.steps, c)
	}
	if o.Unwrap != nil {
		var err error
		if p.unwrap, err = p.compileUnwrap(o.Unwrap); err != nil {
			return nil, at(o.Unwrap.Place(), err)
		}
	}
	return p, nil
}

// at returns err as an error of a place in the query.
func at(place syntax.Range, err error) error {
	var e *syntax.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return syntax.Errorf(place, "%v", err)
}

func (p *Pipeline) compile(s syntax.Stage) (step, error) {
	switch s := s.(type) {
	case *syntax.LineFilter:
		return p.compileLineFilter(s)
	case *syntax.Decolorize:
		return decolorize{}, nil
	case *syntax.LineFormat:
		return p.compileLineFormat(s)
	}
	p.static = false
	switch s := s.(type) {
	case *syntax.LabelFilter:
		return p.compileLabelFilter(s)
	case *syntax.JSON:
		return p.compileJSON(s)
	case *syntax.Logfmt:
		return p.compileLogfmt(s)
	case *syntax.Regexp:
		return p.compileRegexp(s)
	case *syntax.Pattern:
		return p.compilePattern(s)
	case *syntax.Unpack:
		return unpack{}, nil
	case *syntax.LabelFormat:
		return p.compileLabelFormat(s)
	case *syntax.Drop:
		return p.compileChoice(s.Labels, true)
	case *syntax.Keep:
		return p.compileChoice(s.Labels, false)
	}
	return nil, errors.New("a stage that is not known here")
}

func (p *Pipeline) compileJSON(s *syntax.JSON) (step, error) {
	if len(s.Extractions) == 0 {
		p.parsed++
		return &jsonAll{keys: p.parsed - 1}, nil
	}
	j := &jsonPaths{}
	for _, e := range s.Extractions {
		path, err := jsonscan.ParsePath(e.Path)
		if err != nil {
			return nil, syntax.Errorf(e.Place(), "path %q: %v", e.Path, err)
		}
		j.paths = append(j.paths, path)
		j.labels = append(j.labels, p.extracted(e.Label))
	}
	return j, nil
}

func (p *Pipeline) compileLogfmt(s *syntax.Logfmt) (step, error) {
	l := &logfmtStep{strict: s.Strict, keepEmpty: s.KeepEmpty}
	if len(s.Extractions) == 0 {
		p.parsed++
		l.keys = p.parsed - 1
		return l, nil
	}
	f := &logfmtFields{logfmtStep: *l}
	for _, e := range s.Extractions {
		if !isName(e.Path) {
			return nil, syntax.Errorf(e.Place(), "key %q; want a name of letters, digits and _", e.Path)
		}
		f.keys = append(f.keys, []byte(e.Path))
		f.labels = append(f.labels, p.extracted(e.Label))
		f.names = append(f.names, []byte(e.Label))
	}
	return f, nil
}

func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// extracted are the ids of a label that a parser makes: of its name, and of the name that it has
// if the stream has that one.
func (p *Pipeline) extracted(name string) extractedLabel {
	return extractedLabel{p.id(name), p.id(name + extractedSuffix)}
}

func (p *Pipeline) compileRegexp(s *syntax.Regexp) (step, error) {
	x := &regexpStep{}
	re, err := compileRegexp(s.Text)
	if err != nil {
		return nil, err
	}
	x.find = len(p.finders)
	p.finders = append(p.finders, match.NewFinder(re))
	m, err := match.Compile(s.Text)
	if err != nil {
		return nil, err
	}
	x.search = p.matcher(m)
	for i, name := range re.SubexpNames() {
		if name != "" {
			x.groups = append(x.groups, i)
			x.labels = append(x.labels, p.extracted(name))
		}
	}
	if len(x.groups) == 0 {
		return nil, errors.New("a regular expression without a named group; want (?P<name>...)")
	}
	return x, nil
}

func (p *Pipeline) compilePattern(s *syntax.Pattern) (step, error) {
	pat, err := pattern.Compile(s.Text)
	if err != nil {
		return nil, err
	}
	x := &patternStep{pattern: pat}
	for _, name := range pat.Names() {
		l := extractedLabel{-1, -1}
		if name != "" {
			l = p.extracted(name)
		}
		x.labels = append(x.labels, l)
	}
	return x, nil
}

func (p *Pipeline) compileLineFilter(s *syntax.LineFilter) (step, error) {
	f := &lineFilter{negative: s.Op.Negative()}
	for _, t := range s.Texts {
		test, err := p.compileLineTest(s.Op, t)
		if err != nil {
			return nil, at(t.Place(), err)
		}
		f.tests = append(f.tests, test)
	}
	if c, ok := f.tests[0].(containsTest); ok && len(f.tests) == 1 {
		return &containsStep{text: c, want: !f.negative}, nil
	}
	return f, nil
}

func (p *Pipeline) compileLineTest(op syntax.LineOp, t syntax.LineText) (lineTest, error) {
	if t.IP {
		m, err := ipmatch.Compile(t.Text)
		return ipTest{m}, err
	}
	switch op {
	case syntax.LineMatches, syntax.LineNotMatches:
		m, err := match.Compile(t.Text)
		if err != nil {
			return nil, err
		}
		return regexpTest(p.matcher(m)), nil
	case syntax.LinePattern, syntax.LineNotPattern:
		m, err := pattern.CompileFilter(t.Text)
		return patternTest{m}, err
	}
	return containsTest(t.Text), nil
}

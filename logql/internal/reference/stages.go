package reference

import (
	"net/netip"
	"regexp"
	"strings"
	"text/template"

	"github.com/stele-go/stele/logql/syntax"
)

// stage runs a stage, and reports whether the line passes.
func (s *state) stage(stage syntax.Stage) bool {
	switch n := stage.(type) {
	case *syntax.LineFilter:
		return s.lineFilter(n)
	case *syntax.LabelFilter:
		return s.predicate(n.Predicate)
	case *syntax.JSON:
		s.json(n)
	case *syntax.Logfmt:
		s.logfmt(n)
	case *syntax.Pattern:
		s.pattern(n.Text)
	case *syntax.Regexp:
		s.regexp(n.Text)
	case *syntax.Unpack:
		s.unpack()
	case *syntax.LineFormat:
		if text, ok := s.template(n.Template); ok {
			s.text = text
		}
	case *syntax.LabelFormat:
		s.labelFormat(n)
	case *syntax.Drop:
		for _, c := range n.Labels {
			s.drop(c)
		}
	case *syntax.Keep:
		s.keep(n)
	case *syntax.Decolorize:
		s.text = colour.ReplaceAllString(s.text, "")
	}
	return true
}

var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

func (s *state) lineFilter(n *syntax.LineFilter) bool {
	found := false
	for _, t := range n.Texts {
		found = found || lineHas(s.text, n.Op, t)
	}
	return found != n.Op.Negative()
}

func lineHas(line string, op syntax.LineOp, t syntax.LineText) bool {
	switch {
	case t.IP:
		return hasAddress(line, t.Text)
	case op == syntax.LineContains || op == syntax.LineNotContains:
		return strings.Contains(line, t.Text)
	case op == syntax.LineMatches || op == syntax.LineNotMatches:
		return regexp.MustCompile(t.Text).MatchString(line)
	}
	return t.Text != "" && lineHasPattern(line, strings.Split(t.Text, "<_>"))
}

// lineHasPattern looks for each literal where it first is behind the one before. The first one
// may be anywhere, what is between two is not empty, and the last one ends the line.
func lineHasPattern(line string, literals []string) bool {
	for i, literal := range literals {
		at := strings.Index(line, literal)
		if last := i == len(literals)-1; literal == "" && last {
			return line != ""
		}
		if at < 0 || at == 0 && i > 0 {
			return false
		}
		line = line[at+len(literal):]
	}
	return line == ""
}

// hasAddress reports whether a text has an address of those that are wanted.
func hasAddress(text, want string) bool {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF:.", r) }) {
		if port, err := netip.ParseAddrPort(word); err == nil {
			word = port.Addr().String()
		}
		if inAddresses(word, want) {
			return true
		}
	}
	return false
}

// inAddresses reports whether text is an address of "a", "a-b" or "a/n".
func inAddresses(text, want string) bool {
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return false
	}
	if prefix, err := netip.ParsePrefix(want); err == nil {
		return prefix.Contains(addr)
	}
	from, to, is := strings.Cut(want, "-")
	if !is {
		to = from
	}
	first, last := netip.MustParseAddr(from), netip.MustParseAddr(to)
	return first.BitLen() == addr.BitLen() && first.Compare(addr) <= 0 && addr.Compare(last) <= 0
}

// template executes a template over the labels; with an error the line keeps what it has.
func (s *state) template(text string) (string, bool) {
	t, err := template.New("").Option("missingkey=zero").Funcs(template.FuncMap{
		"ToUpper":  strings.ToUpper,
		"ToLower":  strings.ToLower,
		"__line__": func() string { return s.text },
	}).Parse(text)
	if err != nil {
		s.unsupported = true
		return "", false
	}
	var b strings.Builder
	if err := t.Execute(&b, map[string]string(s.result())); err != nil {
		s.fail("TemplateFormatErr")
		return "", false
	}
	return b.String(), true
}

func (s *state) labelFormat(n *syntax.LabelFormat) {
	for _, item := range n.Items {
		if !item.Rename {
			if text, ok := s.template(item.Value); ok {
				s.set(item.Name, text)
			}
			continue
		}
		if v, ok := s.labels[item.Value]; ok {
			s.remove(item.Value)
			s.set(item.Name, v)
		}
	}
}

func (s *state) drop(c syntax.LabelChoice) {
	name := c.Matcher.Name
	value, ok := s.get(name)
	if !ok || c.HasMatcher && !matches(c.Matcher, value) {
		return
	}
	if name == "__error__" {
		s.err = ""
	}
	s.remove(name)
}

func (s *state) keep(n *syntax.Keep) {
	kept := map[string]bool{}
	for _, c := range n.Labels {
		if v, ok := s.labels[c.Matcher.Name]; ok && (!c.HasMatcher || matches(c.Matcher, v)) {
			kept[c.Matcher.Name] = true
		}
	}
	for name := range s.labels {
		if !kept[name] {
			s.remove(name)
		}
	}
}

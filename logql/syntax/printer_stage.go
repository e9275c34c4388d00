package syntax

import "strings"

func (n *LineFilter) String() string        { return stageText(n) }
func (n *JSON) String() string              { return stageText(n) }
func (n *Logfmt) String() string            { return stageText(n) }
func (n *Regexp) String() string            { return stageText(n) }
func (n *Pattern) String() string           { return stageText(n) }
func (n *Unpack) String() string            { return stageText(n) }
func (n *LabelFilter) String() string       { return stageText(n) }
func (n *LineFormat) String() string        { return stageText(n) }
func (n *LabelFormat) String() string       { return stageText(n) }
func (n *Drop) String() string              { return stageText(n) }
func (n *Keep) String() string              { return stageText(n) }
func (n *Decolorize) String() string        { return stageText(n) }
func (n *And) String() string               { return predicateText(n) }
func (n *Or) String() string                { return predicateText(n) }
func (n *TextPredicate) String() string     { return predicateText(n) }
func (n *NumberPredicate) String() string   { return predicateText(n) }
func (n *DurationPredicate) String() string { return predicateText(n) }
func (n *BytesPredicate) String() string    { return predicateText(n) }
func (n *IPPredicate) String() string       { return predicateText(n) }

func stageText(s Stage) string {
	var p printer
	p.stage(s)
	return string(p.text)
}

func predicateText(c Predicate) string {
	var p printer
	p.predicate(c)
	return string(p.text)
}

func (p *printer) stage(s Stage) {
	switch n := s.(type) {
	case *LineFilter:
		p.lineFilter(n)
	case *JSON:
		p.add("| json")
		p.extractions(n.Extractions)
	case *Logfmt:
		p.add("| logfmt")
		if n.Strict {
			p.add(" --strict")
		}
		if n.KeepEmpty {
			p.add(" --keep-empty")
		}
		p.extractions(n.Extractions)
	case *Regexp:
		p.add("| regexp ")
		p.quote(n.Text)
	case *Pattern:
		p.add("| pattern ")
		p.quote(n.Text)
	case *Unpack:
		p.add("| unpack")
	case *LabelFilter:
		p.labelFilter(n)
	case *LineFormat:
		p.add("| line_format ")
		p.quote(n.Template)
	case *LabelFormat:
		p.labelFormat(n)
	case *Drop:
		p.add("| drop")
		p.choices(n.Labels)
	case *Keep:
		p.add("| keep")
		p.choices(n.Labels)
	case *Decolorize:
		p.add("| decolorize")
	}
}

func (p *printer) lineFilter(n *LineFilter) {
	p.add(n.Op.String(), " ")
	for i, t := range n.Texts {
		if i > 0 {
			p.add(" or ")
		}
		if t.IP {
			p.add("ip(")
			p.quote(t.Text)
			p.add(")")
		} else {
			p.quote(t.Text)
		}
	}
}

func (p *printer) extractions(list []Extraction) {
	for i, e := range list {
		p.item(i)
		p.add(e.Label)
		if p.loki || e.Path != e.Label {
			p.add("=")
			p.quote(e.Path)
		}
	}
}

// item writes what is before the i-th member of a list.
func (p *printer) item(i int) {
	if i == 0 {
		p.add(" ")
	} else {
		p.comma()
	}
}

func (p *printer) labelFormat(n *LabelFormat) {
	p.add("| label_format")
	for i, item := range n.Items {
		p.item(i)
		p.add(item.Name, "=")
		if item.Rename {
			p.add(item.Value)
		} else {
			p.quote(item.Value)
		}
	}
}

func (p *printer) choices(list []LabelChoice) {
	for i, c := range list {
		p.item(i)
		if c.HasMatcher {
			p.matcher(c.Matcher)
		} else {
			p.add(c.Matcher.Name)
		}
	}
}

// labelFilter writes a condition in parentheses where its first label would be read as
// a stage: | (json!="a").
func (p *printer) labelFilter(n *LabelFilter) {
	p.add("| ")
	if name, op := first(n.Predicate); stageReaders[strings.ToLower(name)] != nil && (op == "!=" || op == "!~") && !p.joined(n.Predicate) {
		p.add("(")
		p.predicate(n.Predicate)
		p.add(")")
		return
	}
	p.predicate(n.Predicate)
}

// first returns the first label of a condition and its operator; "" if that is in
// parentheses.
func first(c Predicate) (name, op string) {
	switch n := c.(type) {
	case *And:
		if _, or := n.Left.(*Or); or {
			return "", ""
		}
		return first(n.Left)
	case *Or:
		return first(n.Left)
	case *TextPredicate:
		return n.Matcher.Name, n.Matcher.Op.String()
	case *NumberPredicate:
		return n.Name, n.Op.String()
	case *DurationPredicate:
		return n.Name, n.Op.String()
	case *BytesPredicate:
		return n.Name, n.Op.String()
	case *IPPredicate:
		if n.Negate {
			return n.Name, "!="
		}
	}
	return "", ""
}

func (p *printer) predicate(c Predicate) {
	switch n := c.(type) {
	case *And:
		p.join(n.Left, " and ", n.Right, true)
	case *Or:
		p.join(n.Left, " or ", n.Right, false)
	case *TextPredicate:
		p.matcher(n.Matcher)
	case *NumberPredicate:
		p.add(n.Name, n.Op.String())
		p.number(n.Value)
	case *DurationPredicate:
		p.add(n.Name, n.Op.String(), n.Text)
	case *BytesPredicate:
		p.add(n.Name, n.Op.String(), n.Text)
	case *IPPredicate:
		op := "="
		if n.Negate {
			op = "!="
		}
		p.add(n.Name, op, "ip(")
		p.quote(n.Value)
		p.add(")")
	}
}

// joined reports whether p writes parentheses around a condition.
func (p *printer) joined(c Predicate) bool {
	_, and := c.(*And)
	_, or := c.(*Or)
	return p.loki && (and || or)
}

// join writes an "and" or an "or". Loki writes a comma for the first, and parentheses
// around each.
func (p *printer) join(left Predicate, word string, right Predicate, and bool) {
	if p.loki {
		if and {
			word = " , "
		}
		p.add("( ")
		p.predicate(left)
		p.add(word)
		p.predicate(right)
		p.add(" )")
		return
	}
	p.operandOf(left, and, false)
	p.add(word)
	p.operandOf(right, and, true)
}

// operandOf writes a side of an "and" or an "or".
func (p *printer) operandOf(c Predicate, inAnd, right bool) {
	_, or := c.(*Or)
	_, and := c.(*And)
	if !(or && (inAnd || right) || and && inAnd && right) {
		p.predicate(c)
		return
	}
	p.add("(")
	p.predicate(c)
	p.add(")")
}

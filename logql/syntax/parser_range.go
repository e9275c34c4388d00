package syntax

import "time"

// A logRange is the argument of a function over a range of time.
type logRange struct {
	log      *LogExpr
	unwrap   *Unwrap
	interval time.Duration // 0 as long as there is none
	offset   time.Duration
	shifted  bool // there is an offset
}

// rangeAggregation takes what is behind rate and the like.
func (p *parser) rangeAggregation(t token, op RangeOp) (Expr, *Error) {
	if next := p.peek(); next.word() == "by" || next.word() == "without" {
		return nil, p.wrong(next.Range, "a grouping before the argument of "+op.String(), "it behind: "+op.String()+"(...) by (...)")
	}
	if err := p.expect("(", "and a stream selector with a range"); err != nil {
		return nil, err
	}
	a := &RangeAggregation{Op: op}
	if op == QuantileOverTime {
		v, err := p.signed("the quantile, from 0 to 1, and a stream selector")
		if err != nil {
			return nil, err
		}
		a.Quantile = v
		if err := p.expect(",", "and a stream selector"); err != nil {
			return nil, err
		}
	}
	r, err := p.logRange()
	if err != nil {
		return nil, err
	}
	if r.interval == 0 {
		return nil, p.unexpected("a stage, or a range such as [5m]")
	}
	if err := p.expect(")", ""); err != nil {
		return nil, err
	}
	a.Log, a.Unwrap, a.Interval, a.Offset = r.log, r.unwrap, r.interval, r.offset
	if a.Grouping, err = p.grouping(); err != nil {
		return nil, err
	}
	a.Range = p.from(t.Start)
	return a, p.checkRange(a, t)
}

// checkRange refuses an unwrap or a grouping that a function does not have.
func (p *parser) checkRange(a *RangeAggregation, t token) *Error {
	switch {
	case a.Unwrap == nil && a.Op >= RateCounter:
		return p.wrong(t.Range, "invalid aggregation "+t.text+" without unwrap", "| unwrap and the label with the numbers")
	case a.Unwrap != nil && (a.Op == CountOverTime || a.Op == BytesOverTime || a.Op == BytesRate):
		return p.wrong(a.Unwrap.Range, "invalid aggregation "+t.text+" with unwrap", "no unwrap, or a function such as sum_over_time")
	case a.Grouping != nil && !a.Op.Groups():
		return p.wrong(a.Grouping.Range, "grouping not allowed for "+t.text+" aggregation", "sum by (...) or another aggregation around it")
	}
	return nil
}

// Groups reports whether the function may have a grouping.
func (op RangeOp) Groups() bool { return op >= AvgOverTime }

// logRange takes a selector, its stages, its range and its offset, in the orders that
// Loki has: {...} | json [5m], {...}[5m] offset 1h | json, ({...} | json)[5m].
func (p *parser) logRange() (*logRange, *Error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	var r *logRange
	if p.accept("(") {
		var err *Error
		if r, err = p.logRange(); err != nil {
			return nil, err
		}
		if err := p.expect(")", ""); err != nil {
			return nil, err
		}
	} else {
		if !p.peek().is("{") {
			return nil, p.unexpected("a stream selector such as {app=\"api\"}")
		}
		log, err := p.streams()
		if err != nil {
			return nil, err
		}
		r = &logRange{log: log}
	}
	for {
		before := p.at
		if err := p.rangePart(r); err != nil {
			return nil, err
		}
		if p.at == before {
			return r, nil
		}
	}
}

// rangePart takes stages, an unwrap, or a range with its offset, if one is next.
func (p *parser) rangePart(r *logRange) *Error {
	t := p.peek()
	switch {
	case t.is("["):
		if r.interval != 0 {
			return p.wrong(t.Range, "a second range", "one")
		}
		return p.interval(r)
	case t.word() == "offset":
		return p.offset(r)
	case r.unwrap != nil && t.is("|"):
		start := p.take().Start
		if next := p.peek(); !next.is("(") && !p.compares(1) {
			return p.wrong(next.Range, "unexpected "+next.String()+" behind unwrap", "a condition on labels, such as __error__=\"\"")
		}
		f, err := p.labelFilter(start)
		if err == nil {
			err = p.operator()
		}
		if err != nil {
			return err
		}
		r.unwrap.Filters = append(r.unwrap.Filters, f)
		r.unwrap.Range = p.from(r.unwrap.Start)
		return nil
	case r.unwrap == nil && p.unwrapAhead():
		return p.unwrap(r)
	case r.unwrap == nil:
		if err := p.stages(r.log); err != nil {
			return err
		}
		if n := len(r.log.Stages); n > 0 {
			r.log.End = max(r.log.End, r.log.Stages[n-1].Place().End)
		}
	}
	return nil
}

// interval takes [5m].
func (p *parser) interval(r *logRange) *Error {
	start := p.take().Start
	d, err := p.span("a duration such as 5m", false)
	if err != nil {
		return err
	}
	if p.peek().is(":") {
		return p.wrong(p.peek().Range, "subqueries are not supported", `"]"`)
	}
	if err := p.expect("]", ""); err != nil {
		return err
	}
	if d <= 0 {
		return p.wrong(p.from(start), "a range of 0", "a duration above 0")
	}
	r.interval = d
	return nil
}

// offset takes offset 1h.
func (p *parser) offset(r *logRange) *Error {
	t := p.take()
	if r.interval == 0 || r.shifted {
		return p.wrong(t.Range, "unexpected offset", "one offset, behind the range: {...}[5m] offset 1h")
	}
	d, err := p.span("a duration such as 1h", true)
	r.offset, r.shifted = d, true
	return err
}

var conversions = map[string]Conversion{"duration": ConvertDuration, "duration_seconds": ConvertDuration, "bytes": ConvertBytes}

// unwrap takes | unwrap duration(took).
func (p *parser) unwrap(r *logRange) *Error {
	start := p.take().Start
	p.at++
	t := p.take()
	u := &Unwrap{Label: t.text}
	if p.peek().is("(") {
		c, ok := conversions[t.word()]
		if !ok {
			return p.wrong(t.Range, "unknown conversion "+shorten(t.text), "duration, duration_seconds or bytes")
		}
		p.at++
		name, err := p.name("the name of a label")
		if err == nil {
			err = p.expect(")", "")
		}
		if err != nil {
			return err
		}
		u.Label, u.Conversion = name.text, c
	}
	u.Range = p.from(start)
	r.unwrap = u
	return nil
}

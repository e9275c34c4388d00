package pipeline

import (
	"github.com/stele-go/stele/logql/internal/template"
	"github.com/stele-go/stele/logql/syntax"
)

// A boundTemplate is a template with the ids of its fields.
type boundTemplate struct {
	template *template.Template
	ids      []int32
}

// A formatter makes the text of a template.
type formatter struct {
	exec int // where a Run has the Exec
}

func (p *Pipeline) compileTemplate(name, text string) (formatter, error) {
	t, err := template.Compile(name, text, p.maxLine)
	if err != nil {
		return formatter{}, err
	}
	names, all := t.Fields()
	b := boundTemplate{template: t}
	for _, n := range names {
		b.ids = append(b.ids, p.need(n))
	}
	if all {
		p.all, p.reads = true, true
	}
	p.templates = append(p.templates, b)
	return formatter{len(p.templates) - 1}, nil
}

// run returns what the template makes of the line. It returns false if that failed.
func (f formatter) run(r *Run) ([]byte, bool) {
	was := len(r.arena)
	buf, err := r.execs[f.exec].Append(r.arena)
	if err != nil {
		r.fail(templateFailed, []byte(err.Error()))
		return nil, false
	}
	r.arena = buf
	return buf[was:len(buf):len(buf)], true
}

// lineFormat is | line_format "{{.method}}".
type lineFormat struct{ formatter }

func (p *Pipeline) compileLineFormat(s *syntax.LineFormat) (step, error) {
	f, err := p.compileTemplate("line", s.Template)
	return lineFormat{f}, err
}

func (s lineFormat) run(r *Run) bool {
	if line, ok := s.formatter.run(r); ok {
		r.Line, r.doubtful = line, false
	}
	return true
}

// labelFormat is | label_format a=b, c="{{.d}}".
type labelFormat struct{ items []labelFormatItem }

type labelFormatItem struct {
	id       int32
	from     int32 // the label that is renamed; -1 for a template
	template formatter
}

func (p *Pipeline) compileLabelFormat(s *syntax.LabelFormat) (step, error) {
	c := &labelFormat{}
	for _, item := range s.Items {
		i := labelFormatItem{id: p.id(item.Name), from: -1}
		if item.Rename {
			i.from = p.need(item.Value)
		} else {
			var err error
			if i.template, err = p.compileTemplate("label", item.Value); err != nil {
				return nil, at(item.Place(), err)
			}
		}
		c.items = append(c.items, i)
	}
	return c, nil
}

func (s *labelFormat) run(r *Run) bool {
	// As in Loki all templates see the labels as they are before the first of them.
	first := 0
	for first < len(s.items) && s.items[first].from >= 0 {
		s.items[first].rename(r)
		first++
	}
	r.made = r.made[:0]
	for _, item := range s.items[first:] {
		var m madeLabel
		if item.from < 0 {
			m.value, m.ok = item.template.run(r)
		}
		r.made = append(r.made, m)
	}
	for i, item := range s.items[first:] {
		if item.from >= 0 {
			item.rename(r)
		} else if m := r.made[i]; m.ok {
			r.set.put(item.id, m.value)
		}
	}
	return true
}

func (item *labelFormatItem) rename(r *Run) {
	if value, ok := r.set.get(item.from); ok && item.from > detailsID {
		r.set.put(item.id, value)
		r.set.drop(item.from)
	}
}

// A madeLabel is what the template of an item has made, unless it failed.
type madeLabel struct {
	value []byte
	ok    bool
}

// environment is what a template sees of a line.
type environment struct {
	r   *Run
	ids []int32
}

func (e environment) Field(i int) []byte {
	value, _ := e.r.set.get(e.ids[i])
	return value
}

func (e environment) Line() []byte { return e.r.Line }

func (e environment) Time() int64 { return e.r.time }

func (e environment) All(f func(name string, value []byte)) {
	e.r.set.sort()
	for _, l := range e.r.set.sorted {
		f(e.r.set.names[l.id].text, l.value)
	}
}

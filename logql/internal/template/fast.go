package template

import (
	"strconv"
	"text/template/parse"
	"time"
	"unicode/utf8"
)

// A program is a template of the usual functions and conditions, compiled to closures: it allocates
// nothing once its memory is there. What it cannot do, and each error, is left to text/template,
// which executes the template from the beginning.
type program []instruction

// An instruction appends to what the template makes. It returns false if the rest is left to
// text/template.
type instruction func(e *Exec) bool

// An operand has the value of an argument, of one of the kinds of type param.
type operand struct {
	kind   param
	whole  int
	text   func(e *Exec) (string, bool)
	moment func(e *Exec) (time.Time, bool)
	truth  func(e *Exec) (value, ok bool)
}

// A param is the type of an argument, known when the template is compiled.
type param byte

const (
	textParam   param = 's'
	wholeParam  param = 'n' // a constant
	momentParam param = 't'
	truthParam  param = 'b'
)

func textOperand(f func(e *Exec) (string, bool)) operand { return operand{kind: textParam, text: f} }

func momentOperand(f func(e *Exec) (time.Time, bool)) operand {
	return operand{kind: momentParam, moment: f}
}

func truthOperand(f func(e *Exec) (bool, bool)) operand {
	return operand{kind: truthParam, truth: f}
}

func constant(s string) operand { return textOperand(func(*Exec) (string, bool) { return s, true }) }

// compileProgram returns nil if a node has no instruction.
func (t *Template) compileProgram(list *parse.ListNode) program {
	if list == nil {
		return program{}
	}
	p := make(program, 0, len(list.Nodes))
	for _, n := range list.Nodes {
		in := t.instruction(n)
		if in == nil {
			return nil
		}
		p = append(p, in)
	}
	return p
}

func (t *Template) instruction(n parse.Node) instruction {
	switch n := n.(type) {
	case *parse.TextNode:
		text := string(n.Text)
		return func(e *Exec) bool { return e.put(text) }
	case *parse.CommentNode:
		return func(*Exec) bool { return true }
	case *parse.ActionNode:
		o, ok := t.pipe(n.Pipe)
		switch {
		case ok && o.kind == textParam:
			return func(e *Exec) bool {
				s, ok := o.text(e)
				return ok && e.put(s)
			}
		case ok && o.kind == truthParam:
			return func(e *Exec) bool {
				v, ok := o.truth(e)
				return ok && e.put(strconv.FormatBool(v))
			}
		}
	case *parse.IfNode:
		return t.condition(n)
	}
	return nil
}

func (t *Template) condition(n *parse.IfNode) instruction {
	o, ok := t.pipe(n.Pipe)
	then, otherwise := t.compileProgram(n.List), t.compileProgram(n.ElseList)
	holds, isTruth := truthOf(o)
	if !ok || !isTruth || then == nil || otherwise == nil {
		return nil
	}
	return func(e *Exec) bool {
		v, ok := holds(e)
		switch {
		case !ok:
			return false
		case v:
			return then.run(e)
		}
		return otherwise.run(e)
	}
}

// truthOf returns what a condition takes a value for.
func truthOf(o operand) (func(e *Exec) (bool, bool), bool) {
	switch o.kind {
	case truthParam:
		return o.truth, true
	case textParam:
		return func(e *Exec) (bool, bool) {
			s, ok := o.text(e)
			return s != "", ok
		}, true
	}
	return nil, false
}

// pipe compiles commands, of which each has the value of the one before as its last argument.
func (t *Template) pipe(p *parse.PipeNode) (o operand, ok bool) {
	if p == nil || len(p.Decl) > 0 || len(p.Cmds) == 0 {
		return operand{}, false
	}
	for i, c := range p.Cmds {
		last := []operand{o}[:min(i, 1)]
		if o, ok = t.command(c, last); !ok {
			return operand{}, false
		}
	}
	return o, true
}

func (t *Template) command(c *parse.CommandNode, last []operand) (operand, bool) {
	name, isCall := c.Args[0].(*parse.IdentifierNode)
	if !isCall {
		if len(c.Args) > 1 || len(last) > 0 {
			return operand{}, false
		}
		return t.argument(c.Args[0])
	}
	var args []operand
	for _, n := range c.Args[1:] {
		a, ok := t.argument(n)
		if !ok {
			return operand{}, false
		}
		args = append(args, a)
	}
	args = append(args, last...)
	if name.Ident == "printf" && len(c.Args) > 1 {
		if format, ok := c.Args[1].(*parse.StringNode); ok {
			return printfCall(format.Text, args[1:])
		}
	}
	return call(name.Ident, args)
}

func (t *Template) argument(n parse.Node) (operand, bool) {
	switch n := n.(type) {
	case *parse.FieldNode:
		if len(n.Ident) == 1 {
			i := t.field(n.Ident[0])
			return textOperand(func(e *Exec) (string, bool) { return view(e.env.Field(i)), true }), true
		}
	case *parse.StringNode:
		return constant(n.Text), true
	case *parse.NumberNode:
		if n.IsInt && int64(int(n.Int64)) == n.Int64 && !n.IsComplex {
			return operand{kind: wholeParam, whole: int(n.Int64)}, true
		}
	case *parse.IdentifierNode:
		return call(n.Ident, nil)
	case *parse.PipeNode:
		return t.pipe(n)
	}
	return operand{}, false
}

// call returns a function of arguments. It returns false if text/template is to make it, or to
// refuse it.
func call(name string, args []operand) (operand, bool) {
	f, ok := fastFunctions[name]
	if !ok || len(f.params) != len(args) {
		return operand{}, false
	}
	for i, a := range args {
		if a.kind != param(f.params[i]) {
			return operand{}, false
		}
	}
	return f.of(args)
}

func (p program) run(e *Exec) bool {
	for _, in := range p {
		if !in(e) {
			return false
		}
	}
	return true
}

// runProgram appends to buf. It returns false if text/template is to do so.
func (e *Exec) runProgram(buf []byte) ([]byte, bool) {
	if cap(e.scratch) > maxScratch {
		e.scratch = nil
	}
	e.buf, e.begin, e.steps, e.work, e.scratch = buf, len(buf), 0, 0, e.scratch[:0]
	ok := e.t.program.run(e)
	made := e.buf
	e.buf = nil
	if !ok {
		return buf, false
	}
	return made, true
}

// maxScratch bounds what an Exec keeps from one line to the next.
const maxScratch = 1 << 18

// put appends to what the template makes.
func (e *Exec) put(s string) bool {
	if len(e.buf)-e.begin+len(s) > e.t.limit {
		return false
	}
	e.buf = append(e.buf, s...)
	return true
}

// keep returns what was appended to e.scratch from an index on. It stays as it is until the next
// line: what makes e.scratch longer moves it, or appends to it.
func (e *Exec) keep(from int) (string, bool) {
	s := view(e.scratch[from:])
	return s, e.made(s) == nil
}

// pad appends blanks.
func (e *Exec) pad(n int) {
	for range n {
		e.scratch = append(e.scratch, ' ')
	}
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

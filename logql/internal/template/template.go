// Package template makes texts of the labels of lines, by the templates of text/template with
// the functions that Loki has. A template that only joins labels and texts does not
// go through text/template, nor does one of the usual functions. What a template may make and
// do is bounded, whoever wrote it.
package template

import (
	"errors"
	"fmt"
	"text/template"
	"text/template/parse"
	"unsafe"
)

// An Env is what a template sees of a line.
type Env interface {
	// Field returns the value of a label, by its index in Template.Fields, nil if the line
	// has no such label.
	Field(i int) []byte
	// All calls f with each label.
	All(f func(name string, value []byte))
	Line() []byte
	Time() int64 // in nanoseconds since the Unix epoch
}

// A Template is a compiled template. Many goroutines may use one at once, each by an Exec of
// its own.
type Template struct {
	parsed  *template.Template
	limit   int // of the bytes that it makes
	parts   []part
	simple  bool    // parts are all of it
	program program // nil: text/template executes it
	fields  []string
	all     bool
}

type partKind uint8

const (
	textPart partKind = iota
	fieldPart
	linePart
)

// A part is a text, the index of a label, or the line.
type part struct {
	kind  partKind
	text  string
	field int
}

const tickName = "__tick__"

// Compile compiles a template. Errors call it name. What it makes of a line may have limit
// bytes.
func Compile(name, text string, limit int) (*Template, error) {
	parsed, err := template.New(name).Option("missingkey=zero").Funcs((&Exec{}).functions()).Parse(text)
	if err != nil {
		return nil, err
	}
	t := &Template{parsed: parsed, limit: limit}
	t.simple = t.simplify(parsed.Tree.Root)
	if t.simple {
		return t, nil
	}
	t.parts, t.fields = nil, nil
	for _, p := range parsed.Templates() {
		if p.Tree != nil {
			t.scan(p.Tree.Root)
		}
	}
	if len(parsed.Templates()) <= 1 {
		t.program = t.compileProgram(parsed.Root)
	}
	if err := guard(parsed); err != nil {
		return nil, err
	}
	return t, nil
}

// Fields returns the names of the labels that the template reads, or all true if it may read
// any.
func (t *Template) Fields() (names []string, all bool) { return t.fields, t.all }

// simplify fills t.parts. It returns false if the template does more than join.
func (t *Template) simplify(list *parse.ListNode) bool {
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
			t.parts = append(t.parts, part{kind: textPart, text: string(n.Text)})
		case *parse.CommentNode:
		case *parse.ActionNode:
			p, ok := t.simplePart(n)
			if !ok {
				return false
			}
			t.parts = append(t.parts, p)
		default:
			return false
		}
	}
	return len(t.parsed.Templates()) <= 1
}

func (t *Template) simplePart(n *parse.ActionNode) (part, bool) {
	if len(n.Pipe.Decl) > 0 || len(n.Pipe.Cmds) != 1 || len(n.Pipe.Cmds[0].Args) != 1 {
		return part{}, false
	}
	switch arg := n.Pipe.Cmds[0].Args[0].(type) {
	case *parse.FieldNode:
		if len(arg.Ident) == 1 {
			return part{kind: fieldPart, field: t.field(arg.Ident[0])}, true
		}
	case *parse.IdentifierNode:
		if arg.Ident == "__line__" {
			return part{kind: linePart}, true
		}
	}
	return part{}, false
}

// field returns the index of a label.
func (t *Template) field(name string) int {
	for i, f := range t.fields {
		if f == name {
			return i
		}
	}
	t.fields = append(t.fields, name)
	return len(t.fields) - 1
}

// scan finds the labels that a node reads.
func (t *Template) scan(n parse.Node) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, n := range n.Nodes {
				t.scan(n)
			}
		}
	case *parse.ActionNode:
		t.scanPipe(n.Pipe)
	case *parse.IfNode:
		t.scanBranch(&n.BranchNode)
	case *parse.RangeNode:
		t.scanBranch(&n.BranchNode)
	case *parse.WithNode:
		t.scanBranch(&n.BranchNode)
	case *parse.TemplateNode:
		t.scanPipe(n.Pipe)
	case *parse.PipeNode:
		t.scanPipe(n)
	case *parse.ChainNode:
		t.scan(n.Node)
	case *parse.FieldNode:
		t.field(n.Ident[0])
	case *parse.DotNode:
		t.all = true
	case *parse.VariableNode:
		if n.Ident[0] == "$" {
			if len(n.Ident) == 1 {
				t.all = true
			} else {
				t.field(n.Ident[1])
			}
		}
	}
}

func (t *Template) scanBranch(n *parse.BranchNode) {
	t.scanPipe(n.Pipe)
	t.scan(n.List)
	t.scan(n.ElseList)
}

func (t *Template) scanPipe(p *parse.PipeNode) {
	if p == nil {
		return
	}
	for _, c := range p.Cmds {
		for _, a := range c.Args {
			t.scan(a)
		}
	}
}

// guard makes each turn of a loop and each use of a template count as a step.
func guard(t *template.Template) error {
	tick, err := template.New(t.Name()).Funcs((&Exec{}).functions()).Parse("{{" + tickName + "}}")
	if err != nil {
		return err
	}
	node := tick.Root.Nodes[0]
	for _, p := range t.Templates() {
		if p.Tree == nil {
			continue
		}
		guardList(p.Tree.Root, node)
		p.Tree.Root.Nodes = append([]parse.Node{node}, p.Tree.Root.Nodes...)
	}
	return nil
}

func guardList(list *parse.ListNode, tick parse.Node) {
	if list == nil {
		return
	}
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.IfNode:
			guardBranch(&n.BranchNode, tick)
		case *parse.WithNode:
			guardBranch(&n.BranchNode, tick)
		case *parse.RangeNode:
			guardBranch(&n.BranchNode, tick)
			n.List.Nodes = append([]parse.Node{tick}, n.List.Nodes...)
		}
	}
}

func guardBranch(n *parse.BranchNode, tick parse.Node) {
	guardList(n.List, tick)
	guardList(n.ElseList, tick)
}

// The bounds of one execution.
const (
	maxSteps = 10_000   // turns of loops and uses of templates
	maxWork  = 16 << 20 // bytes that functions read and make
)

var (
	errSteps = fmt.Errorf("more than %d steps", maxSteps)
	errEnded = errors.New("the query has ended")
	errWork  = fmt.Errorf("functions read and made more than %d bytes", maxWork)
)

// An Exec is a template of one goroutine.
type Exec struct {
	t     *Template
	env   Env
	slow  *template.Template
	data  map[string]string
	regex regexCache

	buf   []byte
	begin int
	steps int
	work  int

	scratch []byte   // what functions of a program make of the line
	texts   []string // arguments of printf under way

	ended  func() bool
	asked  int // work since ended was asked
	isOver bool
}

// NewExec returns an Exec that reads lines of env. Once ended, which may be nil, returns true,
// Append only returns errors: a template may run long, and nobody wants the rest.
func (t *Template) NewExec(env Env, ended func() bool) *Exec {
	return &Exec{t: t, env: env, ended: ended}
}

// setSlow makes text/template ready. A Template that has been parsed can be cloned.
func (e *Exec) setSlow() {
	if e.slow == nil {
		e.slow = template.Must(e.t.parsed.Clone()).Funcs(e.functions())
		e.data = make(map[string]string)
	}
}

// Append appends to buf what the template makes of the line. With an error buf is what it was.
func (e *Exec) Append(buf []byte) ([]byte, error) {
	if e.t.simple {
		return e.join(buf)
	}
	if e.over(lineWork) {
		return buf, errEnded
	}
	if e.t.program != nil {
		if made, ok := e.runProgram(buf); ok {
			return made, nil
		}
	}
	e.setSlow()
	e.fill()
	e.buf, e.begin, e.steps, e.work = buf, len(buf), 0, 0
	err := e.slow.Execute(e, e.data)
	made := e.buf
	e.buf = nil
	if err != nil {
		return buf, err
	}
	return made, nil
}

// Write takes what the template makes.
func (e *Exec) Write(p []byte) (int, error) {
	if len(e.buf)-e.begin+len(p) > e.t.limit {
		return 0, e.tooLong()
	}
	e.buf = append(e.buf, p...)
	return len(p), nil
}

func (e *Exec) tooLong() error {
	return fmt.Errorf("template: %s: makes more than %d bytes", e.t.parsed.Name(), e.t.limit)
}

func (e *Exec) join(buf []byte) ([]byte, error) {
	was := len(buf)
	for i := range e.t.parts {
		switch p := &e.t.parts[i]; p.kind {
		case textPart:
			buf = append(buf, p.text...)
		case fieldPart:
			buf = append(buf, e.env.Field(p.field)...)
		case linePart:
			buf = append(buf, e.env.Line()...)
		}
		if len(buf)-was > e.t.limit {
			return buf[:was], e.tooLong()
		}
	}
	return buf, nil
}

// fill makes e.data the labels of the line. Its texts are those of the line, which stay as they
// are until the template has been executed.
func (e *Exec) fill() {
	clear(e.data)
	if e.t.all {
		e.env.All(func(name string, value []byte) { e.data[name] = view(value) })
		return
	}
	for i, name := range e.t.fields {
		if value := e.env.Field(i); value != nil {
			e.data[name] = view(value)
		}
	}
}

func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// tick counts a step.
func (e *Exec) tick() (string, error) {
	if e.steps++; e.steps > maxSteps {
		return "", errSteps
	}
	if e.over(stepWork) {
		return "", errEnded
	}
	return "", nil
}

// What a line and a step count for, and after how much of that ended is asked.
const (
	lineWork = 1 << 10
	stepWork = 1 << 8
	askWork  = 1 << 16
)

// over counts work, and reports whether ended has returned true.
func (e *Exec) over(work int) bool {
	if e.asked += work; e.asked >= askWork && e.ended != nil && !e.isOver {
		e.asked = 0
		e.isOver = e.ended()
	}
	return e.isOver
}

// spend counts bytes.
func (e *Exec) spend(n int) error {
	if n < 0 || n > maxWork-e.work {
		return errWork
	}
	e.work += n
	if e.over(n) {
		return errEnded
	}
	return nil
}

var errNegative = errors.New("strings: negative Repeat count") // in the words of Loki

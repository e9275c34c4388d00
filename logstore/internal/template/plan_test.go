package template

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore/internal/filter"
)

// planOf returns a plan for templates, each written with <*> in place of slots.
func planOf(e *Expr, templates ...string) *Plan {
	var d Dictionary
	for _, t := range templates {
		var literals [][]byte
		for l := range strings.SplitSeq(t, "<*>") {
			literals = append(literals, []byte(l))
		}
		d.Add(New(literals...))
	}
	return NewPlan(NewQuery(e), &d)
}

// verdictsOf returns the verdicts on templates of one block.
func verdictsOf(b *BlockJudge, p *Plan, ids ...uint32) (list []Verdict, err error) {
	b.Begin(p)
	for _, id := range ids {
		list = append(list, b.Verdict(id))
	}
	return list, b.Err()
}

// mayMatch reports whether a block with lines of some templates may have one that passes the
// test of a plan.
func mayMatch(p *Plan, ids []uint32, ask func(needles ...filter.Needle) (bool, error)) (bool, error) {
	verdicts, err := verdictsOf(NewBlockJudge(ask), p, ids...)
	return slices.ContainsFunc(verdicts, func(v Verdict) bool { return v != Never }), err
}

// A query without a needle is asked of each template of a block: one whose lines are known
// tells nothing of the others.
func TestMayMatchWithoutNeedles(t *testing.T) {
	for _, expr := range []string{"[A-Z]{4}", "^$", ".{100,}", "[^ -~]", "(timeout|refused)+?"} {
		re := regexp.MustCompile(expr)
		p := planOf(Opaque(All(), re.Match), "the session has ended", "user <*> left")
		may, err := mayMatch(p, []uint32{0, 1}, func(...filter.Needle) (bool, error) { return true, nil })
		if err != nil || !may {
			t.Errorf("%s: a block with a template with slots is ruled out, error %v", expr, err)
		}
		if may, _ := mayMatch(p, []uint32{0}, func(...filter.Needle) (bool, error) { return true, nil }); may {
			t.Errorf("%s: a block whose lines do not match is not ruled out", expr)
		}
	}
}

// A long needle may begin in a variable and end in literals, whose words no filter of
// variables has.
func TestMayMatchLongNeedle(t *testing.T) {
	variable := bytes.Repeat([]byte("0123456789abcdef"), 40)
	var b filter.VariableBuilder
	b.AddText(variable)
	f := b.Append(nil)
	needle := append(bytes.Clone(variable[50:]), " status=ok user="...)
	p := planOf(Has(NewNeedle(needle, Bytes)), "sig=<*> status=ok user=<*>")
	may, err := mayMatch(p, []uint32{0}, func(needles ...filter.Needle) (bool, error) {
		for _, n := range needles {
			if !filter.May(f, n) {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil || !may {
		t.Errorf("the block that has the line is ruled out, error %v", err)
	}
}

// A regular expression may match a literal of one template, and not of another of which the
// filter knows as much.
func TestVerdictsOfRegexp(t *testing.T) {
	re := regexp.MustCompile("[A-Z]{3}")
	p := planOf(Any(Has(NewNeedle([]byte("needle"), Bytes)), Not(Regexp(nil, re))), "GET <*> took", "user <*> left")
	verdicts, err := verdictsOf(NewBlockJudge(func(...filter.Needle) (bool, error) { return false, nil }), p, 0, 1)
	if err != nil || !slices.Equal(verdicts, []Verdict{Never, Maybe}) {
		t.Errorf("verdicts %v, error %v; want never and maybe", verdicts, err)
	}
}

// What is the same for all templates of a block is asked once a block, and what is the same
// for all blocks once.
func TestAskedOnce(t *testing.T) {
	matches := 0
	count := Opaque(nil, func([]byte) bool { matches++; return true })
	index := Indexed(filter.Word([]byte("trace")))
	e := All(Regexp(nil, regexp.MustCompile("a.*b")), Any(index, Not(index)), index)
	p := planOf(All(e, count), "user <*> left", "user <*> came", "after <*> ms", "a to b")
	asks := 0
	judge := NewBlockJudge(func(...filter.Needle) (bool, error) { asks++; return true, nil })
	for range 3 {
		asks = 0
		verdicts, err := verdictsOf(judge, p, 0, 1, 2, 3)
		if err != nil || !slices.Equal(verdicts, []Verdict{Maybe, Maybe, Maybe, Maybe}) {
			t.Errorf("verdicts %v, error %v; want maybe", verdicts, err)
		}
		if asks > 3 {
			t.Errorf("the filter of a block is asked %d times; want once for each Indexed", asks)
		}
	}
	if matches != 1 {
		t.Errorf("a line was asked for a match %d times", matches)
	}
}

// Columns are asked for what a match requires where that may leave few lines.
func TestSelective(t *testing.T) {
	has := func(text string) *Expr { return Has(NewNeedle([]byte(text), Bytes)) }
	for _, c := range []struct {
		of   *Expr
		want bool
	}{
		{All(), false}, {Any(), true}, {has("0."), false}, {has("10."), true},
		{Any(has("0."), has("1.")), false}, {Any(has("0."), has("abc")), false}, {Any(has("abc"), has("abd")), true},
		{All(Any(has("0."), has("1.")), has("abc")), true}, {All(has("a"), Not(has("b"))), true},
		{Indexed(filter.Word([]byte("trace"))), true},
	} {
		if got := NewQuery(c.of).root.selective; got != c.want {
			t.Errorf("%+v is selective: %t, want %t", c.of, got, c.want)
		}
	}
}

func BenchmarkVerdicts(b *testing.B) {
	var templates []string
	ids := make([]uint32, 300)
	for i := range ids {
		ids[i] = uint32(i)
		templates = append(templates, strings.Repeat("a template of words ", 1+i%8)+strings.Repeat("<*> ", 1+i/100)+"end")
	}
	for i := range templates {
		templates[i] += strings.Repeat("x", i)
	}
	p := planOf(All(Regexp(nil, regexp.MustCompile("[0-9]{3}")), Indexed(filter.Word([]byte("trace")))), templates...)
	judge := NewBlockJudge(func(...filter.Needle) (bool, error) { return true, nil })
	for b.Loop() {
		if _, err := verdictsOf(judge, p, ids...); err != nil {
			b.Fatal(err)
		}
	}
}

package template

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/stele-go/stele/logstore/internal/filter"
)

// A Plan answers a query for the templates of one dictionary. It is safe for concurrent
// use.
type Plan struct {
	query    *Query
	index    *literalIndex
	reach    [][]reach         // by needle and template
	variable [][]filter.Needle // by needle; see literalIndex.variable
	rulings  []atomic.Uint32   // of templates; see ruling
	always   []verdictList     // by match; Always of templates of which every line has it, or Never

	mu      sync.Mutex
	answers map[answerKey]*Answer
	bytes   int // of answers
}

type answerKey struct {
	needle int
	id     uint32
}

// NewPlan returns the plan of a query for a dictionary, to which no template may be added
// any more.
func NewPlan(q *Query, d *Dictionary) *Plan {
	x := d.indexed()
	p := &Plan{query: q, index: x, answers: map[answerKey]*Answer{}, rulings: make([]atomic.Uint32, (len(x.slots)+inWordRulings-1)/inWordRulings)}
	for _, n := range q.needles {
		p.reach = append(p.reach, x.reaches(n))
		p.variable = append(p.variable, x.variable(n))
	}
	for range q.matches {
		p.always = append(p.always, newVerdictList(len(x.slots)))
	}
	return p
}

// Verdict tells which lines of a template pass the test. The template must be below Len
// of the dictionary. It is worked out once.
func (p *Plan) Verdict(id uint32) Verdict {
	if c := p.rule(id); c != rulingAlike {
		return Verdict(c - 1)
	}
	return Maybe
}

// A ruling is one more than the verdict of a template that needs no look at a block, 0 if it was
// not worked out yet, or rulingAlike. Queries ask for that of each template of each block.
type ruling uint32

const (
	rulingMaybe = ruling(Maybe + 1)
	// rulingAlike is the ruling of templates whose verdict is Maybe, and that of one block for all
	// of them; see slotsOnly.
	rulingAlike = ruling(Always + 2)
	rulings     = rulingAlike + 1

	// inWordRulings is how many a word of Plan.rulings has, four bits each.
	inWordRulings = 8
)

// ruling returns the ruling of a template, if it is known.
func (p *Plan) ruling(id uint32) ruling {
	return ruling(p.rulings[id/inWordRulings].Load() >> (id % inWordRulings * 4) & 15)
}

// rule returns the ruling of a template. It is worked out once.
func (p *Plan) rule(id uint32) ruling {
	c := p.ruling(id)
	if c > 0 {
		return c
	}
	c = ruling(p.query.root.verdict(p.judge(id)) + 1)
	if c == rulingMaybe && p.slotsOnly(id) {
		c = rulingAlike
	}
	p.rulings[id/inWordRulings].Or(uint32(c) << (id % inWordRulings * 4))
	return c
}

// InVariable returns the condition on the variable in any slot that tells which lines pass the
// test: of templates of which OnlyInVariable reports that. ok is false if the test is not one of
// a text that lines have.
func (p *Plan) InVariable() (c Condition, ok bool) {
	x := p.query.root.sole()
	if x.op != exprNeedle || !p.query.needles[x.leaf].exact() {
		return c, false
	}
	return p.query.needles[x.leaf].condition(), true
}

// OnlyInVariable reports whether lines of a template pass the test of InVariable if the variable in
// one of the slots meets its condition, and no others do.
func (p *Plan) OnlyInVariable(id uint32) bool {
	return p.reach[p.query.root.sole().leaf][id] == reachSlot
}

// A verdictList has the verdicts of templates that are known, two bits each: one more than
// the verdict, or 0.
type verdictList []atomic.Uint32

const inWordVerdicts = 16

func newVerdictList(n int) verdictList {
	return make(verdictList, (n+inWordVerdicts-1)/inWordVerdicts)
}

func (l verdictList) at(id uint32) (v Verdict, ok bool) {
	two := l[id/inWordVerdicts].Load() >> (id % inWordVerdicts * 2) & 3
	return Verdict(two - 1), two > 0
}

func (l verdictList) set(id uint32, v Verdict) {
	l[id/inWordVerdicts].Or(uint32(v+1) << (id % inWordVerdicts * 2))
}

func (p *Plan) judge(id uint32) *judge {
	return &judge{
		template: p.index.dictionary.At(id),
		needle:   func(leaf int) Verdict { return p.needle(leaf, id) },
		indexed:  func(*Expr) Verdict { return Maybe },
		always:   func(x *Expr) bool { return p.matches(x, id) },
	}
}

// matches reports whether a match is known to have every line of a template. It is worked out
// once.
func (p *Plan) matches(x *Expr, id uint32) bool {
	v, ok := p.always[x.leaf].at(id)
	if !ok {
		if v = Never; x.always(p.index.dictionary.At(id)) {
			v = Always
		}
		p.always[x.leaf].set(id, v)
	}
	return v == Always
}

// slotsOnly reports whether only variables of a template may have any needle, so that its
// verdict is that of all such templates. A template without slots has one of its own, and any
// template if literals have matches of regular expressions.
func (p *Plan) slotsOnly(id uint32) bool {
	if !p.index.slots[id] || p.query.regexps {
		return false
	}
	for _, r := range p.reach {
		if r[id] != reachSlot {
			return false
		}
	}
	return true
}

// needle tells which lines of a template have a needle.
func (p *Plan) needle(leaf int, id uint32) Verdict {
	switch p.reach[leaf][id] {
	case reachNone:
		return Never
	case reachSlot, reachAcross:
		return Maybe
	case reachAll:
		return Always
	}
	return p.answer(leaf, id).Verdict
}

// maxAnswerBytes bounds the memory of the answers that a plan keeps.
const maxAnswerBytes = 4 << 20

// answer returns which lines of a template have a needle. Two goroutines may work out the
// same answer.
func (p *Plan) answer(leaf int, id uint32) *Answer {
	key := answerKey{leaf, id}
	p.mu.Lock()
	a := p.answers[key]
	p.mu.Unlock()
	if a != nil {
		return a
	}
	answer := p.query.needles[leaf].In(p.index.dictionary.At(id), nil)
	a = &answer
	p.mu.Lock()
	defer p.mu.Unlock()
	if size := a.weight(); p.bytes+size <= maxAnswerBytes {
		p.bytes += size
		p.answers[key] = a
	}
	return a
}

// weight returns about how many bytes of memory an answer takes, its entry in a map included.
func (a *Answer) weight() int {
	n := int(unsafe.Sizeof(*a)) + 64
	for _, list := range a.Across {
		n += int(unsafe.Sizeof(list)) + len(list)*int(unsafe.Sizeof(Condition{}))
	}
	return n
}

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
	verdicts verdictList

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
	p := &Plan{query: q, index: x, answers: map[answerKey]*Answer{}, verdicts: newVerdictList(len(x.slots))}
	for _, n := range q.needles {
		p.reach = append(p.reach, x.reaches(n))
		p.variable = append(p.variable, x.variable(n))
	}
	return p
}

// Verdict tells which lines of a template pass the test. The template must be below Len
// of the dictionary. It is worked out once.
func (p *Plan) Verdict(id uint32) Verdict {
	v, ok := p.verdicts.at(id)
	if !ok {
		v = p.query.root.verdict(p.judge(id))
		p.verdicts.set(id, v)
	}
	return v
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
		indexed:  func(filter.Needle) Verdict { return Maybe },
	}
}

// MayMatch reports whether a block with lines of some templates may have one that passes
// the test. ask reports whether the filter of the block, of variables or of lines, may have
// all needles.
func (p *Plan) MayMatch(ids []uint32, ask func(needles ...filter.Needle) (bool, error)) (may bool, err error) {
	b := blockJudge{plan: p, ask: ask, slot: make([]asked, len(p.reach)), across: make([]asked, len(p.reach))}
	alike := false // those with nothing but variables to be asked were
	for _, id := range ids {
		if !p.slotsOnly(id) {
			may = b.mayMatch(id)
		} else if !alike {
			alike = true
			may = b.mayMatch(id)
		}
		if may || b.err != nil {
			break
		}
	}
	return may && b.err == nil, b.err
}

// slotsOnly reports whether only variables of a template may have any needle, so that its
// verdict is that of all such templates. A template without slots has one of its own.
func (p *Plan) slotsOnly(id uint32) bool {
	if !p.index.slots[id] {
		return false
	}
	for _, r := range p.reach {
		if r[id] != reachSlot {
			return false
		}
	}
	return true
}

// A blockJudge judges templates by the filter of a block.
type blockJudge struct {
	plan *Plan
	ask  func(needles ...filter.Needle) (bool, error)
	// By needle, whether the filter has what a variable with it has, or what lines have
	// that have it across slots.
	slot, across []asked
	err          error
}

// asked is the answer of a filter.
type asked uint8

const (
	askedNot asked = iota
	askedHas
	askedLacks
)

func (b *blockJudge) mayMatch(id uint32) bool {
	j := b.plan.judge(id)
	j.needle = func(leaf int) Verdict { return b.needle(leaf, id) }
	j.indexed = func(n filter.Needle) Verdict {
		var has asked
		return b.verdict(&has, n)
	}
	return b.plan.query.root.verdict(j) != Never
}

func (b *blockJudge) needle(leaf int, id uint32) Verdict {
	v := b.plan.needle(leaf, id)
	if v != Maybe {
		return v
	}
	switch r := b.plan.reach[leaf][id]; {
	case r == reachSlot:
		return b.verdict(&b.slot[leaf], b.plan.query.needles[leaf].within)
	case r == reachAcross && len(b.plan.variable[leaf]) > 0:
		return b.verdict(&b.across[leaf], b.plan.variable[leaf]...)
	}
	return Maybe
}

// verdict asks the filter, once.
func (b *blockJudge) verdict(known *asked, needles ...filter.Needle) Verdict {
	if *known == askedNot && b.err == nil {
		*known = askedLacks
		has, err := b.ask(needles...)
		if b.err = err; has && err == nil {
			*known = askedHas
		}
	}
	if *known == askedHas {
		return Maybe
	}
	return Never
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

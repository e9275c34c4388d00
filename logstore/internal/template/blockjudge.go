package template

import "github.com/stele-go/stele/logstore/internal/filter"

// A BlockJudge tells which lines of blocks pass the test of a plan, by the templates of a
// block and by its filter. It keeps its memory, and is for one goroutine.
type BlockJudge struct {
	ask func(needles ...filter.Needle) (bool, error)

	plan  *Plan
	judge judge
	id    uint32 // of the template of judge
	one   [1]filter.Needle
	// By needle, whether the filter has what a variable with it has, or what lines have
	// that have it across slots.
	slot, across []asked
	indexed      []asked // by Indexed
	// known is one more than the verdict of templates with a ruling, 0 if each has its own, or that
	// of rulingAlike was not asked for yet.
	known [rulings]Verdict
	err   error
}

// asked is the answer of a filter.
type asked uint8

const (
	askedNot asked = iota
	askedHas
	askedLacks
)

// NewBlockJudge returns a judge for blocks. ask reports whether the filter of a block, of
// variables or of lines, may have all needles; these are valid during the call only.
func NewBlockJudge(ask func(needles ...filter.Needle) (bool, error)) *BlockJudge {
	b := &BlockJudge{ask: ask}
	b.judge.needle = b.needle
	b.judge.indexed = func(x *Expr) Verdict { return b.filteredBy(&b.indexed[x.leaf], x.index) }
	b.judge.always = func(x *Expr) bool { return b.plan.matches(x, b.id) }
	return b
}

// Begin begins with a block whose templates are those of a plan.
func (b *BlockJudge) Begin(p *Plan) {
	b.plan, b.err = p, nil
	b.known = [rulings]Verdict{Never + 1: Never + 1, Always + 1: Always + 1}
	b.slot = append(b.slot[:0], make([]asked, len(p.reach))...)
	b.across = append(b.across[:0], make([]asked, len(p.reach))...)
	b.indexed = append(b.indexed[:0], make([]asked, p.query.indexed)...)
}

// Err returns the error of ask in the block, nil if there was none. Verdicts mean nothing after
// one.
func (b *BlockJudge) Err() error { return b.err }

// Verdict returns which lines of a template of the block pass the test: no line of the block
// does if those of all templates are Never.
func (b *BlockJudge) Verdict(id uint32) Verdict {
	if v := b.known[b.plan.ruling(id)]; v > 0 {
		return v - 1
	}
	return b.judged(id)
}

// judged is Verdict where the ruling of the template does not tell, or is not known.
func (b *BlockJudge) judged(id uint32) Verdict {
	c := b.plan.rule(id)
	if v := b.known[c]; v > 0 {
		return v - 1
	}
	b.judge.template, b.id = b.plan.index.dictionary.At(id), id
	v := b.plan.query.root.verdict(&b.judge)
	if c == rulingAlike {
		b.known[c] = v + 1
	}
	return v
}

func (b *BlockJudge) needle(leaf int) Verdict {
	p := b.plan
	v := p.needle(leaf, b.id)
	if v != Maybe {
		return v
	}
	switch r := p.reach[leaf][b.id]; {
	case r == reachSlot:
		return b.filteredBy(&b.slot[leaf], p.query.needles[leaf].within)
	case r == reachAcross && len(p.variable[leaf]) > 0:
		return b.filtered(&b.across[leaf], p.variable[leaf])
	}
	return Maybe
}

// filteredBy is filtered for one needle.
func (b *BlockJudge) filteredBy(known *asked, n filter.Needle) Verdict {
	if *known == askedNot {
		b.one[0] = n
	}
	return b.filtered(known, b.one[:])
}

// filtered asks the filter, once.
func (b *BlockJudge) filtered(known *asked, needles []filter.Needle) Verdict {
	if *known == askedNot && b.err == nil {
		*known = askedHas
		if len(needles) != 1 || !needles[0].Empty() {
			has, err := b.ask(needles...)
			if b.err = err; !has || err != nil {
				*known = askedLacks
			}
		}
	}
	if *known == askedHas {
		return Maybe
	}
	return Never
}

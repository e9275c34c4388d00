package template

// A Span is bytes of a text, from From to before To.
type Span struct{ From, To uint32 }

// A Parser finds the patterns of the lines of a block, and their variables. It is for one
// goroutine, and keeps its memory.
type Parser struct {
	miner    *Miner
	patterns *patternTable
	scanner  scanner
	chunks   scanner // of lines whose tokens no pattern has

	tableBytes int

	table []*Pattern // the patterns of the block, in the order of their first lines
	index tableIndex
	rows  []parsedRow
	spans []Span

	// guesses has the pattern that came last after two others, by a hash of these.
	guesses [guesses]*Pattern
	history uint64 // a hash of the last two patterns

	pending []pendingLine
	rest    []pendingLine // memory for pending
	tokens  []token       // of pending lines
	groups  grouping

	mostPending int // lines at once, of the block
	seldom      int // how many blocks in a row had few
}

// A parsedRow says which pattern of the table a line has, and where its variables begin
// in the spans.
type parsedRow struct{ pattern, first uint32 }

// A pendingLine is a line for which no pattern was known.
type pendingLine struct {
	row           int
	line          Span
	skeleton, key uint64
	first, tokens int
}

// guesses is how many patterns are guessed from those before.
const (
	guessBits = 10
	guesses   = 1 << guessBits
)

// maxTable and maxTableBytes bound the patterns of a block and their keys: many blocks
// fit into one dictionary.
const (
	maxTable      = MaxTemplates / 8
	maxTableBytes = MaxBytes / 8
)

// maxPendingTokens bounds the tokens that pending lines keep until they are mined.
const maxPendingTokens = 1 << 16

// minTokens is the first room for the tokens of pending lines. It grows fourfold, as each step
// leaves the memory of the one before, and then has maxPendingTokens and those of one more line.
const minTokens = (maxPendingTokens + maxPendingTokens/16) / 16

// Reset begins a block.
func (p *Parser) Reset(m *Miner) {
	p.miner, p.patterns = m, m.patterns.Load()
	p.table, p.rows, p.spans = p.table[:0], p.rows[:0], p.spans[:0]
	p.pending, p.tokens = p.pending[:0], p.tokens[:0]
	p.index.reset()
	p.tableBytes = 0
}

// Add adds a line, which is text[from:to]. The text must be the same, or have grown, in
// each call of a block.
func (p *Parser) Add(text []byte, from, to int) {
	line := text[from:to]
	guess := &p.guesses[p.history*prime>>(64-guessBits)]
	if *guess != nil && p.fits(*guess) {
		first, ok := uint32(len(p.spans)), false
		if p.spans, ok = (*guess).follow(p.spans, line, from); ok {
			p.rows = append(p.rows, parsedRow{p.number(*guess), first})
			p.remember(*guess)
			return
		}
	}
	ok := p.scanner.scan(line)
	if ok {
		if found := p.find(line, p.scanner.skeleton, p.scanner.key, p.scanner.tokens); found != nil && p.fits(found) {
			p.addRow(found)
			p.addSpans(found, p.scanner.tokens, from)
			*guess = found
			p.remember(found)
			return
		}
		if p.miner.chunks.Load() && p.addByChunks(line, from, guess) {
			return
		}
	}
	if !ok {
		p.addRow(plain)
		p.spans = append(p.spans, Span{uint32(from), uint32(to)})
		return
	}
	p.addPending(len(p.rows), Span{uint32(from), uint32(to)})
	p.rows = append(p.rows, parsedRow{})
	if len(p.tokens) > maxPendingTokens {
		p.resolve(text)
	}
}

// addByChunks adds a line if a pattern of its chunks is known.
func (p *Parser) addByChunks(line []byte, from int, guess **Pattern) bool {
	if p.chunks.scanChunks(line) {
		if found := p.find(line, p.chunks.skeleton, p.chunks.key, p.chunks.tokens); found != nil && p.fits(found) {
			p.addRow(found)
			p.addSpans(found, p.chunks.tokens, from)
			*guess = found
			p.remember(found)
			return true
		}
	}
	return false
}

// addPending adds a line with the tokens of the scanner.
func (p *Parser) addPending(row int, line Span) {
	n := len(p.scanner.tokens)
	p.pending = append(p.pending, pendingLine{row, line, p.scanner.skeleton, p.scanner.key, len(p.tokens), n})
	if need := len(p.tokens) + n; need > cap(p.tokens) && need <= 16*minTokens {
		room := minTokens
		for room < need {
			room *= 4
		}
		p.tokens = append(make([]token, 0, room), p.tokens...)
	}
	p.tokens = append(p.tokens, p.scanner.tokens...)
}

// Finish ends a block.
func (p *Parser) Finish(text []byte) {
	p.resolve(text)
	block := p.miner.blocks.Add(1)
	for _, used := range p.table {
		if used.miner == p.miner {
			used.block.Store(block)
		}
	}
	p.shrink()
}

// Once the templates of a log are known, few of its lines are pending: the memory for many,
// which is some MiB, goes when seldomMost blocks in a row had fewer than fewPending at once.
const (
	fewPending = 1 << 10
	seldomMost = 4
)

func (p *Parser) shrink() {
	if p.mostPending > fewPending {
		p.seldom = 0
	} else if p.seldom++; p.seldom == seldomMost {
		p.pending, p.rest, p.tokens, p.groups = nil, nil, nil, grouping{}
	}
	p.mostPending = 0
}

// resolve finds patterns for pending lines among those that are like each other, by their
// tokens and then by their chunks. The others are plain.
func (p *Parser) resolve(text []byte) {
	if len(p.pending) == 0 {
		return
	}
	p.mostPending = max(p.mostPending, len(p.pending))
	p.resolveBy(text, false)
	lines := p.pending
	p.pending, p.tokens = p.rest[:0], p.tokens[:0]
	for _, l := range lines {
		if p.scanner.scanChunks(text[l.line.From:l.line.To]) {
			p.addPending(l.row, l.line)
		} else {
			p.setRow(l.row, plain, nil, l.line)
		}
		if len(p.tokens) > maxPendingTokens {
			p.resolveChunks(text)
		}
	}
	p.resolveChunks(text)
	p.rest, p.pending = p.pending, lines[:0]
}

func (p *Parser) resolveChunks(text []byte) {
	p.resolveBy(text, true)
	for _, l := range p.pending {
		p.setRow(l.row, plain, nil, l.line)
	}
	p.pending, p.tokens = p.pending[:0], p.tokens[:0]
}

// resolveBy mines the pending lines, and keeps those that still have no pattern.
func (p *Parser) resolveBy(text []byte, chunks bool) {
	if len(p.pending) == 0 {
		return
	}
	p.mine(text, chunks)
	p.patterns = p.miner.patterns.Load()
	rest := p.pending[:0]
	for _, l := range p.pending {
		tokens := p.tokens[l.first:][:l.tokens]
		if found := p.find(text[l.line.From:l.line.To], l.skeleton, l.key, tokens); found != nil && p.fits(found) {
			p.setRow(l.row, found, tokens, l.line)
		} else {
			rest = append(rest, l)
		}
	}
	p.pending = rest
}

// setRow sets the pattern of a line that was pending.
func (p *Parser) setRow(row int, found *Pattern, tokens []token, line Span) {
	p.rows[row] = parsedRow{p.number(found), uint32(len(p.spans))}
	if found == plain {
		p.spans = append(p.spans, line)
		return
	}
	p.addSpans(found, tokens, int(line.From))
}

// Table returns the patterns of the block.
func (p *Parser) Table() []*Pattern { return p.table }

// Row returns the number of the pattern of a line in the table, and its variables.
func (p *Parser) Row(i int) (pattern int, variables []Span) {
	r := p.rows[i]
	return int(r.pattern), p.spans[r.first:][:len(p.table[r.pattern].slots)]
}

// remember notes that a line had a pattern.
func (p *Parser) remember(found *Pattern) {
	p.history = p.history<<32 | found.key>>32
}

// Weight returns about how many bytes of memory the Parser keeps.
func (p *Parser) Weight() int64 {
	n := 8*int64(cap(p.rows)+cap(p.spans)+cap(p.table)) + 16*int64(cap(p.tokens)+len(p.index.slots)) + 64*int64(cap(p.pending)+cap(p.rest))
	return n + p.scanner.weight() + p.chunks.weight() + p.groups.weight() + 8*guesses
}

func (p *Parser) addRow(found *Pattern) {
	p.rows = append(p.rows, parsedRow{p.number(found), uint32(len(p.spans))})
}

func (p *Parser) addSpans(found *Pattern, tokens []token, from int) {
	for _, s := range found.slots {
		t := &tokens[s]
		p.spans = append(p.spans, Span{t.from + uint32(from), t.to + uint32(from)})
	}
}

// find returns the pattern of a line, nil if none is known.
func (p *Parser) find(line []byte, skeleton, key uint64, tokens []token) *Pattern {
	if found := p.patterns.find(key); found != nil && found.matches(line, tokens) {
		return found
	}
	f := p.patterns.family(skeleton)
	if f == nil {
		return nil
	}
	for _, wild := range f.wild {
		k := key
		for _, i := range wild {
			if int(i) < len(tokens) { // else the hash has collided
				k += wildTerm(int(i)) - tokens[i].term
			}
		}
		if found := p.patterns.find(k); found != nil && found.matches(line, tokens) {
			return found
		}
	}
	return nil
}

// fits reports whether the table has a pattern, or may get it: all of a block must fit
// into one dictionary, with plain.
func (p *Parser) fits(found *Pattern) bool {
	return p.tableBytes+len(found.template.Key()) <= maxTableBytes && len(p.table) < maxTable || p.index.has(found)
}

// number returns the number of a pattern in the table, which gets it if it has not.
func (p *Parser) number(found *Pattern) uint32 {
	at := p.index.at(found)
	if at.pattern != found {
		*at = numbered{found, uint32(len(p.table))}
		p.table = append(p.table, found)
		p.tableBytes += len(found.template.Key())
	}
	return at.number
}

// A tableIndex finds the numbers of the patterns of a block.
type tableIndex struct {
	slots []numbered
	count int
}

type numbered struct {
	pattern *Pattern
	number  uint32
}

func (x *tableIndex) reset() {
	clear(x.slots)
	x.count = 0
	if x.slots == nil {
		x.slots = make([]numbered, 1<<8)
	}
}

// has reports whether a pattern has a number.
func (x *tableIndex) has(p *Pattern) bool {
	for i, mask := p.key, uint64(len(x.slots)-1); ; i++ {
		if of := x.slots[i&mask].pattern; of == nil || of == p {
			return of == p
		}
	}
}

// at returns the slot of a pattern, or the free one where it belongs.
func (x *tableIndex) at(p *Pattern) *numbered {
	for i, mask := p.key, uint64(len(x.slots)-1); ; i++ {
		s := &x.slots[i&mask]
		if s.pattern == p {
			return s
		}
		if s.pattern != nil {
			continue
		}
		if 2*x.count >= len(x.slots) {
			x.grow()
			return x.at(p)
		}
		x.count++
		return s
	}
}

func (x *tableIndex) grow() {
	old := x.slots
	x.slots, x.count = make([]numbered, 2*len(old)), 0
	for _, s := range old {
		if s.pattern != nil {
			*x.at(s.pattern) = s
		}
	}
}

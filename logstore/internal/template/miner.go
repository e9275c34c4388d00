package template

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

const (
	// maxPatterns and maxPatternBytes bound what a miner has. When it has more, it
	// forgets those that no block used lately.
	maxPatterns     = 16 << 10
	maxPatternBytes = 16 << 20

	// maxTemplate is the largest template that is worth an entry of a dictionary.
	maxTemplate = 4 << 10
	// maxFamily bounds the patterns of one skeleton: with more, its lines are text.
	// maxWild bounds their different sets of slots for words, each of which is tried.
	maxFamily = 256
	maxWild   = 8

	// seenHashes is how many lines without a pattern are remembered, a power of two.
	seenHashes = 1 << 14
)

// A Miner has the patterns that lines were found to have. Many goroutines may use it at
// once, each with a Parser of its own. Its memory is bounded.
type Miner struct {
	patterns atomic.Pointer[patternTable]

	blocks atomic.Uint32 // so far
	chunks atomic.Bool   // there is a pattern of chunks

	mu     sync.Mutex         // guards what follows, and additions to patterns
	bytes  int                // of patterns
	shared int                // of bytes, those of another Miner; see Clone
	seen   [seenHashes]uint32 // counts of lines without a pattern, each with a hash, by another hash
}

// NewMiner returns a miner without patterns.
func NewMiner() *Miner {
	m := new(Miner)
	m.patterns.Store(newPatternTable(1 << 8))
	return m
}

// Memory returns about how many bytes of memory the Miner takes, beside what it shares with
// the one whose Clone it is.
func (m *Miner) Memory() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.patterns.Load()
	return int64(max(0, m.bytes-m.shared)) + 16*int64(len(t.byKey)) + 4*seenHashes
}

// A patternTable finds patterns by key, and those of a skeleton. Readers need no lock;
// writers hold that of the miner.
type patternTable struct {
	byKey      []atomic.Pointer[Pattern]
	bySkeleton []atomic.Pointer[family]
	count      int // of patterns
}

// A family is the patterns of one skeleton. It is immutable.
type family struct {
	skeleton uint64
	wild     [][]uint16 // the sets of slots for words
	patterns []*Pattern
}

func newPatternTable(size int) *patternTable {
	return &patternTable{byKey: make([]atomic.Pointer[Pattern], size), bySkeleton: make([]atomic.Pointer[family], size)}
}

// find returns the pattern with a key, nil if there is none.
func (t *patternTable) find(key uint64) *Pattern {
	for i, mask := key, uint64(len(t.byKey)-1); ; i++ {
		p := t.byKey[i&mask].Load()
		if p == nil || p.key == key {
			return p
		}
	}
}

func (t *patternTable) family(skeleton uint64) *family {
	for i, mask := skeleton, uint64(len(t.bySkeleton)-1); ; i++ {
		f := t.bySkeleton[i&mask].Load()
		if f == nil || f.skeleton == skeleton {
			return f
		}
	}
}

// add adds a pattern whose key is new, and returns the table that has it.
func (t *patternTable) add(p *Pattern) *patternTable {
	if 2*t.count >= len(t.byKey) {
		t = t.grown()
	}
	i, mask := p.key, uint64(len(t.byKey)-1)
	for t.byKey[i&mask].Load() != nil {
		i++
	}
	f := &family{skeleton: p.skeleton}
	k := p.skeleton
	for old := t.bySkeleton[k&mask].Load(); old != nil; old = t.bySkeleton[k&mask].Load() {
		if old.skeleton == p.skeleton {
			f.wild, f.patterns = old.wild, old.patterns
			break
		}
		k++
	}
	f.patterns = append(slices.Clip(f.patterns), p)
	if len(p.wild) > 0 && !slices.ContainsFunc(f.wild, func(w []uint16) bool { return slices.Equal(w, p.wild) }) {
		f.wild = append(slices.Clip(f.wild), p.wild)
	}
	t.bySkeleton[k&mask].Store(f)
	t.byKey[i&mask].Store(p)
	t.count++
	return t
}

func (t *patternTable) grown() *patternTable {
	n := newPatternTable(2 * len(t.byKey))
	for i := range t.byKey {
		if p := t.byKey[i].Load(); p != nil {
			n.add(p)
		}
	}
	return n
}

// add adds a pattern, unless its key is known. mu is held.
func (m *Miner) add(p *Pattern) {
	t := m.patterns.Load()
	if t.find(p.key) != nil {
		return
	}
	if t.count >= maxPatterns || m.bytes+p.size() > maxPatternBytes {
		t = m.forget()
	}
	m.bytes += p.size()
	p.miner = m
	p.block.Store(m.blocks.Load() + 1) // which is not finished
	m.patterns.Store(t.add(p))
}

// sawEnough counts lines with a key, and reports whether there were minLines of them not
// too long ago. mu is held.
func (m *Miner) sawEnough(key uint64, lines int) bool {
	const counts = 1<<8 - 1
	at, hash := &m.seen[key%seenHashes], uint32(key>>32)&^counts
	if *at&^counts == hash {
		lines += int(*at & counts)
	}
	*at = hash | uint32(min(lines, counts))
	return lines >= minLines
}

// forget returns a table of the half of the patterns that blocks used last. mu is held.
func (m *Miner) forget() *patternTable {
	t := m.patterns.Load()
	var all []*Pattern
	for i := range t.byKey {
		if p := t.byKey[i].Load(); p != nil {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b *Pattern) int { return cmp.Compare(b.block.Load(), a.block.Load()) })
	n := newPatternTable(1 << 8)
	m.bytes = 0
	for _, p := range all[:len(all)/2] {
		m.bytes += p.size()
		n = n.add(p)
	}
	return n
}

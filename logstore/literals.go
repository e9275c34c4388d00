package logstore

// literals are texts of which a line that matches a filter has one or more; nil if no
// such texts are known. To look for them in all lines of a block at once takes a part of
// the time of a look at each line, as most lines have none.
type literals []rareText

// A rareText is a text that is not empty.
type rareText struct {
	text []byte
	rarePair
}

// A rarePair are the indexes of the rarest byte of a text, and of the rarest of its others.
type rarePair struct{ rare, second int }

// maxLiterals bounds the texts that are looked for, one after the other.
const maxLiterals = 8

func newLiterals(s []byte) literals {
	if len(s) == 0 {
		return nil
	}
	rare, second := rareBytes(s)
	return literals{{s, rarePair{rare, second}}}
}

// joinLiterals returns the texts of alternatives.
func joinLiterals(list []literals) (all literals) {
	for _, l := range list {
		if l == nil || len(all)+len(l) > maxLiterals {
			return nil
		}
		all = append(all, l...)
	}
	return all
}

// better returns those of two that fewer lines should have.
func (l literals) better(other literals) literals {
	if l == nil || other != nil && other.commonness() < l.commonness() {
		return other
	}
	return l
}

// commonness is lower for texts that take less to look for, and that fewer lines have.
func (l literals) commonness() (n float64) {
	for _, s := range l {
		// A text of a rare byte, or of more bytes, is rarer.
		n += 1 / (float64(len(s.text)) * (1 + float64(rarity[s.text[s.rare]])))
	}
	return n
}

// What is rare in a text is counted in so many samples, spread over it, of so many bytes: in
// most of its lines, much is the same.
const (
	rareSamples = 16
	rareSample  = 128
)

// countSample counts the bytes of samples of a text.
func countSample(text []byte, counts *[256]uint16) {
	size := min(rareSample, len(text))
	gap := (len(text) - size) / rareSamples
	for n := range rareSamples {
		for _, c := range text[n*gap:][:size] {
			counts[c]++
		}
	}
}

// rarest returns the indexes of the bytes with the lowest counts.
func (r *rareText) rarest(counts *[256]uint16) (p rarePair) {
	p.rare, p.second = rarestTwo(r.text, func(c byte) int { return int(counts[c])<<8 | int(255-rarity[c]) })
	return p
}

// A literalScan finds the literals in a text from its beginning to its end.
type literalScan struct {
	of   literals
	text []byte
	rare []rarePair // by literal: of the bytes that are rarest in the text
	next []int      // by literal: where it is next; len(text) if not again
}

// begin begins a scan at an offset of the text.
func (s *literalScan) begin(of literals, text []byte, at int) {
	s.of, s.text, s.next, s.rare = of, text, s.next[:0], s.rare[:0]
	var counts [256]uint16
	countSample(text[at:], &counts)
	for i := range of {
		s.rare = append(s.rare, of[i].rarest(&counts))
	}
	for i := range of {
		s.next = append(s.next, s.find(i, at))
	}
}

func (s *literalScan) find(i, at int) int {
	if at < len(s.text) {
		if n := indexRare(s.text[at:], s.of[i].text, s.rare[i].rare, s.rare[i].second); n >= 0 {
			return at + n
		}
	}
	return len(s.text)
}

// hit returns the first place at or behind an offset where a literal is, and where that
// ends; len(text) if there is none.
func (s *literalScan) hit(at int) (begin, end int) {
	begin = len(s.text)
	for i, n := range s.next {
		if n < at {
			n = s.find(i, at)
			s.next[i] = n
		}
		// Of those that begin at one place the shortest, as a longer one may go beyond the line.
		if e := n + len(s.of[i].text); n < begin || n == begin && e < end {
			begin, end = n, e
		}
	}
	return begin, end
}

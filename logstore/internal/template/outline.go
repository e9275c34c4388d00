package template

// maxOutline is how many bytes of a line an outline tells of.
const maxOutline = 512

// AppendOutline appends what a pattern of the line alone would have: the line with slot in
// place of each variable. Of a longer line it tells the first 512 bytes, up to a token, with a
// slot for the rest; of one with more than MaxSlots variables, a slot for all.
func (p *Parser) AppendOutline(dst, line []byte, slot string) []byte {
	isCut := len(line) > maxOutline
	if isCut {
		line = line[:maxOutline]
	}
	if !p.scanner.scan(line) {
		return append(dst, slot...)
	}
	tokens := p.scanner.tokens
	if n := len(tokens); isCut && n > 0 && int(tokens[n-1].to) == len(line) { // it may go on
		line, tokens = line[:tokens[n-1].from], tokens[:n-1]
	}
	at, afterSlot := uint32(0), false
	for _, t := range tokens {
		if t.term != 0 {
			continue
		}
		dst = append(dst, line[at:t.from]...)
		if !afterSlot || at < t.from {
			dst = append(dst, slot...)
		}
		at, afterSlot = t.to, true
	}
	dst = append(dst, line[at:]...)
	if isCut && (!afterSlot || int(at) < len(line)) {
		dst = append(dst, slot...)
	}
	return dst
}

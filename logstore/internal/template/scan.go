package template

import (
	"encoding/binary"
	"math/bits"
)

// Classes of bytes. All bytes of a rune outside of ASCII are letters, so that no word of
// any script has an edge within one.
const (
	isDelimiter = 0
	isLetter    = 1
	isDigit     = 2
)

var classes = func() (c [256]uint8) {
	for b := range c {
		switch {
		case b >= '0' && b <= '9':
			c[b] = isDigit
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= 0x80:
			c[b] = isLetter
		}
	}
	return c
}()

// A token is a word or a variable of a line.
type token struct {
	from, to uint32
	// term is a hash of the word and of its place among the tokens, 0 for a variable.
	term uint64
}

// A scanner divides a line into tokens.
type scanner struct {
	tokens    []token
	variables int
	skeleton  uint64 // a hash of all but the words and the variables
	key       uint64 // the skeleton, and the terms of all words

	alnum, digits []uint64 // a bit of each byte
	size          int
}

func (s *scanner) weight() int64 {
	return 16*int64(cap(s.tokens)) + 8*int64(cap(s.alnum)+cap(s.digits))
}

// The numbers that hashes are made with: odd, with as many bits set as not.
const (
	seed     = 0x9e3779b97f4a7c15
	prime    = 0xd6e8feb86659fd93
	markWord = 0x101
	markVar  = 0x102
	wild     = 0xa0761d6478bd642f

	maxTokens = 1000
	maxLine   = 16 << 10
)

// chunkEnds has the bytes that end a chunk: blanks, quotes, brackets, and a few more that
// are seldom within a name.
var chunkEnds = func() (c [256]bool) {
	for _, b := range []byte(" \t\"'()[]{}<>,;=|") {
		c[b] = true
	}
	return c
}()

// scanChunks divides a line into chunks in place of tokens, for lines whose names are made
// of a different number of words each, such as those of files and packages. Chunks with a
// digit are variables. No chunk ends within a word.
func (s *scanner) scanChunks(line []byte) bool {
	s.tokens, s.variables = s.tokens[:0], 0
	h, words := uint64(wild), uint64(0)
	n := len(line)
	for i := 0; i < n && len(s.tokens) <= maxTokens; {
		if chunkEnds[line[i]] {
			h = (h ^ uint64(line[i])) * prime
			i++
			continue
		}
		j, digits := chunkEnd(line, i)
		t := token{uint32(i), uint32(j), 0}
		if digits {
			s.variables++
			h = (h ^ markVar) * prime
		} else {
			t.term = wordTerm(line, i, j, len(s.tokens))
			words += t.term
			h = (h ^ markWord) * prime
		}
		s.tokens = append(s.tokens, t)
		i = j
	}
	s.skeleton = h ^ h>>29
	s.key = s.skeleton + words
	return s.variables <= MaxSlots && len(s.tokens) <= maxTokens
}

// chunkEnd returns where the chunk ends that begins at i, and whether it has digits.
// A time is one chunk.
func chunkEnd(line []byte, i int) (j int, digits bool) {
	all := uint8(0)
	for j = i; j < len(line) && !chunkEnds[line[j]]; j++ {
		all |= classes[line[j]]
	}
	end := 0
	if j-i == 3 {
		end = monthTime(line, i)
	} else if classes[line[i]] == isDigit {
		k := i
		for k < j && classes[line[k]] == isDigit {
			k++
		}
		end = numberEnd(line, i, k, true)
	}
	if end > j { // a time with blanks
		for j = end; j < len(line) && !chunkEnds[line[j]]; {
			j++
		}
		return j, true
	}
	return j, all&isDigit != 0
}

// scan reports whether the line may have a template.
func (s *scanner) scan(line []byte) bool {
	s.tokens, s.variables = s.tokens[:0], 0
	n := len(line)
	if n > maxLine {
		return false
	}
	s.classify(line)
	h, words := uint64(seed), uint64(0)
	for i := 0; i < n; {
		// The delimiters before the next token.
		from := s.next(i, 0)
		if from > i {
			if line[from-1] == '-' && from < n && classes[line[from]] == isDigit && (from-1 == i && i == 0 || from-1 > i) {
				from--
			}
			h = mixGap(h, line[i:from])
			if from == n {
				break
			}
		}
		i = from
		if line[i] == '-' {
			i++
		}
		j := s.next(i, ^uint64(0))
		digits := s.count(i, j)
		switch {
		case digits == 0:
			end := 0
			if j-i == 3 {
				end = monthTime(line, i)
			}
			if end == 0 {
				term := wordTerm(line, i, j, len(s.tokens))
				s.tokens = append(s.tokens, token{uint32(i), uint32(j), term})
				words += term
				h = (h ^ markWord) * prime
				i = j
				continue
			}
			j = end
		case classes[line[i]] == isDigit:
			j = numberEnd(line, i, j, digits == j-i)
		case j-i == 8 && j < n && line[j] == '-' && isUUID(line, i):
			j = i + uuidBytes
		}
		if j < n && classes[line[j]] != isDelimiter {
			j = s.next(j, ^uint64(0)) // such as the Z behind a time
		}
		s.tokens = append(s.tokens, token{uint32(from), uint32(j), 0})
		s.variables++
		h = (h ^ markVar) * prime
		i = j
	}
	s.skeleton = h ^ h>>29
	s.key = s.skeleton + words
	return s.variables <= MaxSlots && len(s.tokens) <= maxTokens
}

// classify sets the bits of letters and digits, and those of digits alone, of a line.
func (s *scanner) classify(line []byte) {
	s.alnum, s.digits = s.alnum[:0], s.digits[:0]
	for len(line) >= 64 {
		var a, d uint64
		for k := 0; k < 64; k += 8 {
			x, y := classes8(binary.LittleEndian.Uint64(line[k : k+8]))
			a |= x << k
			d |= y << k
		}
		s.alnum, s.digits = append(s.alnum, a), append(s.digits, d)
		line = line[64:]
	}
	var a, d uint64
	k := 0
	for ; k+8 <= len(line); k += 8 {
		x, y := classes8(binary.LittleEndian.Uint64(line[k : k+8]))
		a |= x << k
		d |= y << k
	}
	if k < len(line) {
		var last [8]byte
		copy(last[:], line[k:])
		x, y := classes8(binary.LittleEndian.Uint64(last[:]))
		a |= x << k
		d |= y << k
	}
	s.alnum, s.digits = append(s.alnum, a), append(s.digits, d)
	s.size = len(s.alnum)<<6 - 64 + len(line)
}

const each, high = 0x0101010101010101, 0x8080808080808080

// classes8 returns a bit for each of eight bytes that is a letter or digit, and for each
// that is a digit.
func classes8(x uint64) (alnum, digit uint64) {
	t := x &^ high
	d := (t + (0x80-'0')*each) &^ (t + (0x80-'9'-1)*each) &^ x
	u := t | 0x20*each
	l := (u+(0x80-'a')*each)&^(u+(0x80-'z'-1)*each) | x
	const gather = 0x0102040810204080
	return (l | d) & high >> 7 * gather >> 56, d & high >> 7 * gather >> 56
}

// next returns the first place from i on whose byte is a letter or digit, or, with all
// bits of flip set, whose byte is not.
func (s *scanner) next(i int, flip uint64) int {
	k := i >> 6
	w := (s.alnum[k] ^ flip) >> (i & 63)
	if w != 0 {
		return min(i+bits.TrailingZeros64(w), s.size)
	}
	for k++; k < len(s.alnum); k++ {
		if w := s.alnum[k] ^ flip; w != 0 {
			return min(k<<6+bits.TrailingZeros64(w), s.size)
		}
	}
	return s.size
}

// count returns how many digits are from i to j.
func (s *scanner) count(i, j int) (n int) {
	k, e := i>>6, (j-1)>>6
	from, to := ^uint64(0)<<(i&63), ^uint64(0)>>(63-(j-1)&63)
	if k == e {
		return bits.OnesCount64(s.digits[k] & from & to)
	}
	n = bits.OnesCount64(s.digits[k]&from) + bits.OnesCount64(s.digits[e]&to)
	for k++; k < e; k++ {
		n += bits.OnesCount64(s.digits[k])
	}
	return n
}

// mixGap mixes the delimiters between two tokens into a hash.
func mixGap(h uint64, gap []byte) uint64 {
	for len(gap) >= 8 {
		h = fold(h^binary.LittleEndian.Uint64(gap), prime)
		gap = gap[8:]
	}
	for _, b := range gap {
		h = (h ^ uint64(b)) * prime
	}
	return h
}

// wordTerm returns the term of the word line[i:j] that is the token at a place.
func wordTerm(line []byte, i, j, place int) uint64 {
	w := line[i:j]
	n := len(w)
	var h uint64
	switch {
	case n <= 8 && i+8 <= len(line):
		h = binary.LittleEndian.Uint64(line[i:i+8]) << (64 - 8*uint(n)) >> (64 - 8*uint(n))
	case n >= 8:
		h = binary.LittleEndian.Uint64(w)
		for k := 8; k+8 <= n; k += 8 {
			h = fold(h^seed, binary.LittleEndian.Uint64(w[k:])^prime)
		}
		h = fold(h^seed, binary.LittleEndian.Uint64(w[n-8:])^prime)
	default:
		for k, b := range w {
			h |= uint64(b) << (8 * k)
		}
	}
	return fold(h^uint64(n)^seed, prime+2*uint64(place)*wild)
}

// wildTerm is the term of any word at a place, where that is a slot.
func wildTerm(place int) uint64 { return fold(wild, prime+2*uint64(place)*wild) }

// fold multiplies to 128 bits and folds these, as wyhash does.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// numberEnd returns where the variable ends that begins with digits at i and whose first
// token ends at j.
func numberEnd(line []byte, i, j int, digits bool) int {
	n := len(line)
	if j >= n {
		return j
	}
	switch line[j] {
	case '.':
		if !digits {
			return j
		}
		for j+1 < n && line[j] == '.' && classes[line[j+1]] == isDigit {
			k := j + 2
			all := uint8(isDigit)
			for k < n && classes[line[k]] != isDelimiter {
				all |= classes[line[k]]
				k++
			}
			j = k
			if all != isDigit {
				break
			}
		}
		return j
	case '-':
		if j-i == 4 && digits {
			if e := dateTime(line, i, '-'); e > 0 {
				return e
			}
		}
		if j-i == 2 && digits && n >= i+14 && isShape(line[i:], "dd-dd dd:dd:dd") {
			return fraction(line, i+14)
		}
		if j-i == 8 && isUUID(line, i) {
			return i + uuidBytes
		}
	case '/':
		if !digits {
			return j
		}
		if j-i == 4 {
			if e := dateTime(line, i, '/'); e > 0 {
				return e
			}
		}
		if j-i == 2 {
			if isShape(line[i:], "dd/dd/dd dd:dd:dd") {
				return fraction(line, i+17)
			}
			if isShape(line[i:], "dd/aaa/dddd:dd:dd:dd") {
				return i + 20
			}
		}
	case ':':
		if j-i == 2 && digits && isShape(line[i:], "dd:dd:dd") {
			return fraction(line, i+8)
		}
	case ' ':
		if j-i == 6 && digits && isShape(line[i:], "dddddd dddddd") && (n == i+13 || classes[line[i+13]] == isDelimiter) {
			return i + 13
		}
	}
	return j
}

// dateTime returns where the date at i ends, or the date and the time of day, 0 if there is
// none.
func dateTime(line []byte, i int, sep byte) int {
	p := line[i:]
	if sep == '-' {
		if !isShape(p, "dddd-dd-dd") {
			return 0
		}
	} else if !isShape(p, "dddd/dd/dd") {
		return 0
	}
	if len(p) > 10 && (p[10] == ' ' || p[10] == 'T' || p[10] == '_') && isShape(p[11:], "dd:dd:dd") {
		return fraction(line, i+19)
	}
	if len(p) > 10 && classes[p[10]] != isDelimiter {
		return 0
	}
	return i + 10
}

// fraction returns where the fraction of a second at i ends.
func fraction(line []byte, i int) int {
	if i+1 < len(line) && (line[i] == '.' || line[i] == ',') && classes[line[i+1]] == isDigit {
		j := i + 2
		for j < len(line) && classes[line[j]] == isDigit {
			j++
		}
		return j
	}
	return i
}

// isShape reports whether p begins as s says: d is a digit, a is a letter.
func isShape(p []byte, s string) bool {
	if len(p) < len(s) {
		return false
	}
	for i := range len(s) {
		switch s[i] {
		case 'd':
			if classes[p[i]] != isDigit {
				return false
			}
		case 'a':
			if classes[p[i]] != isLetter {
				return false
			}
		default:
			if p[i] != s[i] {
				return false
			}
		}
	}
	return true
}

// monthTime returns where a time ends that begins with the name of a month or day at i, 0
// if there is none.
func monthTime(line []byte, i int) int {
	p := line[i:]
	if len(p) < 15 || p[3] != ' ' {
		return 0
	}
	if isMonth(p) {
		if (p[4] == ' ' || classes[p[4]] == isDigit) && isShape(p[5:], "d dd:dd:dd") {
			return i + 15
		}
		return 0
	}
	if len(p) >= 24 && p[7] == ' ' && isMonth(p[4:]) && (p[8] == ' ' || classes[p[8]] == isDigit) && isShape(p[9:], "d dd:dd:dd dddd") {
		return i + 24
	}
	return 0
}

func isMonth(p []byte) bool {
	switch string(p[:3]) {
	case "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec":
		return true
	}
	return false
}

const uuidBytes = 36

// isUUID reports whether a UUID is at i.
func isUUID(line []byte, i int) bool {
	if len(line) < i+uuidBytes {
		return false
	}
	for k, b := range line[i : i+uuidBytes] {
		switch k {
		case 8, 13, 18, 23:
			if b != '-' {
				return false
			}
		default:
			if !(b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'f') {
				return false
			}
		}
	}
	return true
}

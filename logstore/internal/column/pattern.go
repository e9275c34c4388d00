package column

import "encoding/binary"

const (
	// maxRuns is the most runs of letters and digits of a value that is cut into parts.
	maxRuns = 24

	// maxCut is the most bytes of a value that is cut into parts.
	maxCut = 512

	// maxParts is the most parts of a pattern.
	maxParts = 8
)

// A run is where a run of a value is.
type run struct{ from, to int }

func alnum(c byte) bool { return c-'0' <= 9 || c|0x20 >= 'a' && c|0x20 <= 'z' }

// runAt returns the end of the run of p that begins at from: letters and digits, points
// between digits, a sign before digits that follows nothing of these, or a UUID.
func runAt(p []byte, from int) int {
	to := from
	if p[to] == '-' {
		to++
	}
	if len(p)-to >= uuidLength && p[to+8] == '-' && p[to+13] == '-' && p[to+18] == '-' && p[to+23] == '-' {
		var room [16]byte
		if _, ok := appendUUIDBytes(room[:0], p[to:to+uuidLength]); ok {
			return to + uuidLength
		}
	}
	for to < len(p) && (alnum(p[to]) || p[to] == '.' && to > from && to+1 < len(p) && p[to-1]-'0' <= 9 && p[to+1]-'0' <= 9) {
		to++
	}
	return to
}

// beginsRun reports whether a run begins at i.
func beginsRun(p []byte, i int) bool {
	return alnum(p[i]) || p[i] == '-' && i+1 < len(p) && p[i+1]-'0' <= 9 && (i == 0 || !alnum(p[i-1]))
}

// runsOf appends the runs of p, up to one more than maxRuns.
func runsOf(dst []run, p []byte) []run {
	for i := 0; i < len(p) && len(dst) <= maxRuns; {
		if !beginsRun(p, i) {
			i++
			continue
		}
		to := runAt(p, i)
		dst = append(dst, run{i, to})
		i = to
	}
	return dst
}

// sameShape reports whether what is between runs of p and q is the same.
func sameShape(p []byte, a []run, q []byte, b []run) bool {
	if len(a) != len(b) {
		return false
	}
	x, y := 0, 0
	for i := range a {
		if string(p[x:a[i].from]) != string(q[y:b[i].from]) {
			return false
		}
		x, y = a[i].to, b[i].to
	}
	return string(p[x:]) == string(q[y:])
}

// A pattern is the literals around the parts of values: part i is between literals i and
// i+1.
type pattern struct {
	literals values
	runs     []run
	others   []run
	varies   [maxRuns]bool
	prefix   [maxRuns]int // bytes that all values' runs begin with
	suffix   [maxRuns]int
}

func (t *pattern) parts() int { return t.literals.len() - 1 }

// learn finds the pattern of most values, by a sample. It returns false if there is none
// that has literals, and parts with digits.
func (t *pattern) learn(v *values) bool {
	n := v.len()
	k := min(n, looks)
	for try := range min(k, 3) {
		if t.learnFrom(v, try*n/k) {
			return true
		}
	}
	return false
}

func (t *pattern) learnFrom(v *values, seed int) bool {
	p := v.at(seed)
	if len(p) > maxCut {
		return false
	}
	t.runs = runsOf(t.runs[:0], p)
	if len(t.runs) == 0 || len(t.runs) > maxRuns {
		return false
	}
	clear(t.varies[:])
	for i, r := range t.runs {
		t.prefix[i], t.suffix[i] = r.to-r.from, r.to-r.from
	}
	n := v.len()
	k := min(n, looks)
	fit := 0
	for j := range k {
		q := v.at(j * n / k)
		if len(q) > maxCut {
			continue
		}
		t.others = runsOf(t.others[:0], q)
		if !sameShape(p, t.runs, q, t.others) {
			continue
		}
		fit++
		for i, r := range t.runs {
			t.compare(i, p[r.from:r.to], q[t.others[i].from:t.others[i].to])
		}
	}
	return fit >= k-k/missShare && fit > 1 && t.build(p)
}

// compare takes into account that run i is also b.
func (t *pattern) compare(i int, a, b []byte) {
	if string(a) == string(b) {
		return
	}
	t.varies[i] = true
	x := 0
	for x < min(len(a), len(b), t.prefix[i]) && a[x] == b[x] && a[x]-'0' > 9 {
		x++
	}
	t.prefix[i] = x
	y := 0
	for y < min(len(a), len(b), t.suffix[i]) && a[len(a)-1-y] == b[len(b)-1-y] && a[len(a)-1-y]-'0' > 9 {
		y++
	}
	t.suffix[i] = y
}

// build makes the literals of the runs of p.
func (t *pattern) build(p []byte) bool {
	t.literals.reset()
	at, parts, digits := 0, 0, false
	for i, r := range t.runs {
		if !t.varies[i] {
			continue
		}
		if parts++; parts > maxParts {
			return false
		}
		from, to := r.from+t.prefix[i], r.to-t.suffix[i]
		if from > to {
			from, to = r.from, r.to
		}
		for _, c := range p[from:to] {
			digits = digits || c-'0' <= 9
		}
		t.literals.add(p[at:from])
		at = to
	}
	t.literals.add(p[at:])
	return digits && len(t.literals.text) > 0
}

// cut appends the parts of p, and returns false if p does not fit.
func (t *pattern) cut(dst []run, p []byte) ([]run, bool) {
	at := 0
	for i := range t.literals.len() {
		lit := t.literals.at(i)
		if i > 0 {
			if at == len(p) {
				return dst, false
			}
			to := at
			if at > 0 && alnum(p[at-1]) || beginsRun(p, at) {
				to = runAt(p, at)
			}
			for _, c := range lit {
				if !alnum(c) {
					break
				}
				to--
			}
			if to <= at {
				return dst, false
			}
			dst = append(dst, run{at, to})
			at = to
		}
		if len(p)-at < len(lit) || string(p[at:at+len(lit)]) != string(lit) {
			return dst, false
		}
		at += len(lit)
	}
	return dst, at == len(p)
}

// cutAll fills the level's parts. It returns false if too many values do not fit.
func (e *Encoder) cutAll(depth int, v *values) bool {
	l := &e.levels[depth]
	t := &l.pattern
	if e.columns+maxParts+1 > maxColumns || !t.learn(v) {
		return false
	}
	l.reset()
	k := t.parts()
	for len(l.parts) < k {
		l.parts = append(l.parts, values{})
	}
	for i := range k {
		l.parts[i].reset()
	}
	most := v.len() / missShare
	for i := range v.len() {
		p := v.at(i)
		cut, ok := t.cut(t.others[:0], p)
		t.others = cut
		if !ok {
			if len(l.missAt) == most {
				return false
			}
			l.miss(i, p)
			continue
		}
		for j, r := range cut {
			l.parts[j].add(p[r.from:r.to])
		}
	}
	return true
}

func (e *Encoder) appendPattern(depth int, packed, text []byte) (_, _ []byte) {
	l := &e.levels[depth]
	k := l.pattern.parts()
	e.columns += k
	at := len(packed)
	packed = append(packed, byte(Pattern), byte(k))
	for i := range k + 1 {
		lit := l.pattern.literals.at(i)
		packed = binary.AppendUvarint(packed, uint64(len(lit)))
		text = append(text, lit...)
	}
	packed, text = e.appendMisses(depth, at, packed, text)
	for i := range k {
		packed, text = e.encode(depth+1, packed, text, &l.parts[i])
	}
	return e.appendPlaces(depth, packed, text)
}

func (c *Column) openPattern(r *reader, depth int, head byte) error {
	k, err := r.byte()
	if err != nil {
		return err
	}
	if head&^flagMiss != byte(Pattern) || k == 0 || k > maxParts {
		return damaged("a pattern of %d parts, flags %#x", k, head)
	}
	c.literals = c.literals[:0]
	for range k + 1 {
		n, err := r.between(0, len(r.text), "bytes of a literal")
		if err != nil {
			return err
		}
		lit, _ := take(&r.text, n)
		c.literals = append(c.literals, lit)
	}
	fit, err := c.openMisses(r, depth, head)
	if err != nil {
		return err
	}
	for range k {
		if err := c.sub().open(r, depth+1, fit); err != nil {
			return err
		}
	}
	return c.openPlaces(r)
}

func (c *Column) appendPattern(dst []byte, i int) []byte {
	dst = append(dst, c.literals[0]...)
	for k, part := range c.subs[:c.parts] {
		dst = part.AppendValue(dst, i)
		dst = append(dst, c.literals[k+1]...)
	}
	return dst
}

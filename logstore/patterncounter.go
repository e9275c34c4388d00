package logstore

import (
	"slices"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/template"
)

// A patternCounter counts the entries of one leaf after the other, for a patternsTask. One
// goroutine uses it at a time.
type patternCounter struct {
	t *patternsTask

	// Of the leaf: its templates, of a dictionary or found in its lines, and of each pick the
	// number of its template, or from templates on that of its outline.
	templates  uint32
	dictionary *template.Dictionary
	table      []block.TemplateRows
	mined      []*template.Pattern
	rows       []uint32

	sets   []countedLabels // of the leaf
	labels []byte
	// counts are those of a set, while it is flushed, by the numbers of rows. counted are
	// the numbers of which they are not 0.
	counts, counted []uint32
	// known are the groups of the dictionary, or of lines that were mined together.
	known     map[knownPattern]*patternGroup
	mostKnown int // at once

	parser  template.Parser
	text    []byte
	outline []byte
	charged int64 // for the memory of the counter
}

// A knownPattern is a template of a dictionary, or one that was found in lines, or an
// outline, with labels.
type knownPattern struct {
	labels *patternLabels
	id     uint32
}

const knownPatternMemory = 64

// outlineID is the first id of an outline: no template has it.
const outlineID = template.MaxTemplates

// countedLabels are entries of a leaf with the same labels, of one bucket.
type countedLabels struct {
	labels *patternLabels
	start  int64    // of the bucket
	rows   []uint32 // the number of the template, or the outline, of each entry
}

// minedText is how many bytes of lines are mined together, as blocks of columns are.
const minedText = 1 << 20

// maxCountedLabels is how many sets of labels of a leaf are counted at once, and
// maxCountedRows how many entries of each.
const (
	maxCountedLabels = 64
	maxCountedRows   = 4 << 10
)

// beginColumns begins a block with a table of templates of a dictionary.
func (c *patternCounter) beginColumns(d *template.Dictionary, table []block.TemplateRows) {
	if c.dictionary != d {
		clear(c.known)
	}
	c.templates, c.dictionary, c.table, c.mined = uint32(len(table)), d, table, nil
}

// beginMined begins lines in which patterns were found.
func (c *patternCounter) beginMined(table []*template.Pattern) {
	clear(c.known)
	c.templates, c.dictionary, c.table, c.mined = uint32(len(table)), nil, nil, table
}

// group returns the group of a template, or an outline, of the leaf.
func (c *patternCounter) group(labels *patternLabels, number uint32) (g *patternGroup, err error) {
	id := number
	if number >= c.templates {
		id = outlineID + number - c.templates
	} else if c.dictionary != nil {
		id = c.table[number].ID
	}
	k := knownPattern{labels, id}
	if g := c.known[k]; g != nil {
		return g, nil
	}
	switch {
	case id >= outlineID:
		g, err = c.t.groups.ofOutline(labels, id-outlineID)
	case c.dictionary != nil:
		g, err = c.t.groups.of(labels, c.dictionary.At(id))
	default:
		g, err = c.t.groups.of(labels, c.mined[number].Template())
	}
	if err != nil {
		return nil, err
	}
	if c.known == nil {
		c.known = map[knownPattern]*patternGroup{}
	}
	c.known[k] = g
	c.mostKnown = max(c.mostKnown, len(c.known))
	return g, nil
}

// countColumns counts the picks of a block by the templates of its rows.
func (c *patternCounter) countColumns(r *reading, l *blockLeaf, fail func(error)) error {
	of, err := r.block.RowTemplates()
	if err != nil {
		return l.wrapDamage(err)
	}
	if len(c.t.names) > 0 {
		if err := r.block.Metadata(); err != nil {
			return l.wrapDamage(err)
		}
	}
	c.beginColumns(r.templates.dictionary, of.Table)
	c.rows = slices.Grow(c.rows[:0], len(r.picks))
	for _, p := range r.picks {
		c.rows = append(c.rows, uint32(of.Rows[p.row]))
	}
	if plain, ok := plainOf(c.dictionary, of.Table); ok && c.t.groups.takesOutlines() {
		if err := c.outlinePlain(r, l, uint32(plain)); err != nil {
			return err
		}
	}
	return c.count(r, l, r.picks, fail)
}

// plainOf returns the place in a table of the template of lines without one.
func plainOf(d *template.Dictionary, table []block.TemplateRows) (at int, ok bool) {
	id, ok := d.Find(template.Plain.Key())
	if ok {
		at = slices.IndexFunc(table, func(t block.TemplateRows) bool { return t.ID == id })
	}
	return at, ok && at >= 0
}

// outlinePlain rebuilds the lines of the picks that have no template, and gives them their
// outlines.
func (c *patternCounter) outlinePlain(r *reading, l *blockLeaf, plain uint32) error {
	r.rebuilt = append(r.rebuilt[:0], make([]uint64, (r.block.Rows()+63)/64)...)
	some := int64(0)
	for i, p := range r.picks {
		if c.rows[i] == plain {
			r.rebuilt[p.row/64] |= 1 << (p.row % 64)
			some++
		}
	}
	if some == 0 {
		return nil
	}
	if !r.linesRead {
		r.stats.Columns.Rebuilt += some
	}
	if err := r.block.LinesOf(r.rebuilt); err != nil {
		return l.wrapDamage(err)
	}
	for i, p := range r.picks {
		if c.rows[i] != plain {
			continue
		}
		line := r.block.Line(int(p.row))
		if err := c.outlineRow(r, i, line); err != nil {
			return err
		}
		if !r.linesRead {
			r.stats.RawBytes += int64(len(line))
		}
	}
	return nil
}

// outlineRow gives a pick whose line has no template its outline, if there are not too many.
func (c *patternCounter) outlineRow(r *reading, i int, line []byte) error {
	if err := r.check(i, line); err != nil {
		return err
	}
	c.outline = c.parser.AppendOutline(c.outline[:0], line, patternSlot)
	number, ok, err := c.t.groups.outline(c.outline)
	if ok {
		c.rows[i] = c.templates + number
	}
	return err
}

// countLines counts the picks of a leaf, of whose block b the lines are read if it is not
// nil, by the patterns that are found in their lines.
func (c *patternCounter) countLines(r *reading, l leaf, b *blockLeaf, fail func(error)) error {
	if b != nil {
		if err := b.readLines(r); err != nil {
			return err
		}
	}
	for picks := r.picks; len(picks) > 0; {
		n, err := c.mineLines(r, picks)
		if err == nil {
			err = c.count(r, l, picks[:n], fail)
		}
		if err != nil {
			return err
		}
		picks = picks[n:]
	}
	return nil
}

// mineLines finds the patterns of the lines of the first picks, and returns of how many.
func (c *patternCounter) mineLines(r *reading, picks []pick) (n int, err error) {
	c.text = c.text[:0]
	c.parser.Reset(c.t.mine())
	for n < len(picks) && len(c.text) < minedText {
		from, line := len(c.text), r.line(picks[n])
		if err := r.check(n, line); err != nil {
			return 0, err
		}
		c.text = append(c.text, line...)
		c.parser.Add(c.text, from, len(c.text))
		n++
	}
	c.parser.Finish(c.text)
	c.beginMined(c.parser.Table())
	c.rows = slices.Grow(c.rows[:0], n)[:n]
	for i := range n {
		k, variables := c.parser.Row(i)
		c.rows[i] = uint32(k)
		if c.mined[k].Template().Key() == template.Plain.Key() {
			if err := c.outlineRow(r, i, c.text[variables[0].From:variables[0].To]); err != nil {
				return 0, err
			}
		}
	}
	if err := c.t.chargeMiner(); err != nil {
		return 0, err
	}
	return n, nil
}

// charge counts the memory that the counter has come to take.
func (c *patternCounter) charge() error {
	now := c.parser.Weight() + int64(cap(c.text)+cap(c.outline)) + 4*int64(cap(c.rows)+cap(c.counts)+cap(c.counted)) + knownPatternMemory*int64(c.mostKnown)
	for i := range c.sets[:cap(c.sets)] {
		now += 4 * int64(cap(c.sets[:cap(c.sets)][i].rows))
	}
	grown := now - c.charged
	if grown <= 0 {
		return nil
	}
	c.charged = now
	return c.t.groups.memory.charge(grown)
}

// count counts picks of a leaf, whose templates or outlines are in rows.
func (c *patternCounter) count(r *reading, l leaf, picks []pick, fail func(error)) error {
	c.sets = c.sets[:0]
	if n := int(c.templates) + maxOutlines; len(c.counts) < n {
		c.counts = make([]uint32, n)
	}
	byMetadata := len(c.t.names) > 0 && (r.mem != nil || r.block.HasMeta())
	for from := 0; from < len(picks); {
		end := from + 1
		for end < len(picks) && picks[end].span == picks[from].span {
			end++
		}
		stream, err := c.stream(r, l, picks[from].span)
		if err != nil {
			fail(err)
			from = end
			continue
		}
		for from < end {
			n, meta := end, []byte(nil)
			if byMetadata {
				meta = r.meta(picks[from])
				for n = from + 1; n < end && string(r.meta(picks[n])) == string(meta); {
					n++
				}
			}
			if err := r.check(from, meta); err != nil {
				return err
			}
			if err := checkLabels(string(meta)); err != nil {
				fail(c.wrongMetadata(l, err))
			} else if err := c.countLike(stream, string(meta), picks[from:n], c.rows[from:n]); err != nil {
				return err
			}
			from = n
		}
	}
	if err := c.flush(); err != nil {
		return err
	}
	return c.charge()
}

func (c *patternCounter) wrongMetadata(l leaf, err error) error {
	if b, ok := l.(*blockLeaf); ok {
		return b.corrupt(err)
	}
	return err
}

// stream returns the labels of a span, if they matter.
func (c *patternCounter) stream(r *reading, l leaf, span int32) (string, error) {
	if len(c.t.names) == 0 {
		return "", nil
	}
	labels, _, err := l.stream(r, span)
	return labels, err
}

// countLike counts picks with the same labels and metadata, and these templates.
func (c *patternCounter) countLike(stream, meta string, picks []pick, rows []uint32) error {
	s, err := c.setOf(stream, meta)
	if err != nil {
		return err
	}
	step := uint64(c.t.buckets.step) - 1 // of one bucket for all: more than any time
	for i, p := range picks {
		if len(s.rows) == 0 || len(s.rows) == maxCountedRows || uint64(p.time-s.start) > step {
			if err := c.flushSet(s); err != nil {
				return err
			}
			s.start = c.t.buckets.bucket(p.time)
		}
		s.rows = append(s.rows, rows[i])
	}
	return nil
}

// setOf returns the set of the labels of a stream and metadata.
func (c *patternCounter) setOf(stream, meta string) (*countedLabels, error) {
	c.labels = appendGroupOf(c.labels[:0], stream, meta, c.t.names)
	for i := range c.sets {
		if c.sets[i].labels.enc == string(c.labels) {
			return &c.sets[i], nil
		}
	}
	labels, err := c.t.groups.labelsOf(c.labels)
	if err != nil {
		return nil, err
	}
	if len(c.sets) == maxCountedLabels {
		if err := c.flush(); err != nil {
			return nil, err
		}
		c.sets = c.sets[:0]
	}
	n := len(c.sets)
	c.sets = slices.Grow(c.sets, 1)[:n+1]
	s := &c.sets[n] // with the memory of an earlier leaf
	s.labels, s.rows = labels, s.rows[:0]
	return s, nil
}

// flush adds what is counted to the groups.
func (c *patternCounter) flush() error {
	for i := range c.sets {
		if err := c.flushSet(&c.sets[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *patternCounter) flushSet(s *countedLabels) error {
	c.counted = c.counted[:0]
	for _, number := range s.rows {
		if c.counts[number] == 0 {
			c.counted = append(c.counted, number)
		}
		c.counts[number]++
	}
	s.rows = s.rows[:0]
	var failed error
	for _, number := range c.counted {
		n := int64(c.counts[number])
		c.counts[number] = 0
		if failed != nil {
			continue
		}
		g, err := c.group(s.labels, number)
		if err == nil {
			err = g.counts.add(c.t.groups.memory, s.start, n, 0)
		}
		failed = err
	}
	return failed
}

// appendGroupOf appends the encoded labels that have one of the names: those of a stream,
// and those in metadata that the stream lacks. names are sorted.
func appendGroupOf(dst []byte, stream, meta string, names []string) []byte {
	if meta == "" {
		return appendGroup(dst, stream, names, false)
	}
	for i := range names {
		n := len(dst)
		if dst = appendGroup(dst, stream, names[i:i+1], false); len(dst) == n {
			dst = appendGroup(dst, meta, names[i:i+1], false)
		}
	}
	return dst
}

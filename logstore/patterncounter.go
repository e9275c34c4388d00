package logstore

import (
	"slices"

	"github.com/stele-go/stele/logstore/internal/template"
)

// A patternCounter counts the entries of one leaf after the other, for a patternsTask. One
// goroutine uses it at a time.
type patternCounter struct {
	t     *patternsTask
	known map[knownPattern]*patternGroup // of all leaves so far

	sets   []countedLabels // of the leaf
	labels []byte

	templates int      // of the leaf
	rows      []uint16 // the template of each pick
	groupOf   func(labels *patternLabels, k int) (*patternGroup, error)

	parser  template.Parser
	text    []byte
	charged int64 // for parser and text
}

// A knownPattern is a template of a dictionary with labels.
type knownPattern struct {
	labels     *patternLabels
	dictionary *template.Dictionary
	id         uint32
}

const knownPatternMemory = 64

// countedLabels are entries of a leaf with the same labels, of one bucket.
type countedLabels struct {
	labels *patternLabels
	start  int64           // of the bucket
	some   bool            // entries are counted
	counts []uint32        // by template of the leaf
	groups []*patternGroup // by template of the leaf; nil: not known yet
}

// minedText is how many bytes of lines are mined together, as blocks of columns are.
const minedText = 1 << 20

// maxCountedLabels is how many sets of labels of a leaf are counted at once.
const maxCountedLabels = 64

// group returns the group of a template of a dictionary.
func (c *patternCounter) group(labels *patternLabels, d *template.Dictionary, id uint32) (*patternGroup, error) {
	k := knownPattern{labels, d, id}
	if g := c.known[k]; g != nil {
		return g, nil
	}
	g, err := c.t.groups.of(labels, d.At(id))
	if err == nil {
		err = c.t.groups.memory.charge(knownPatternMemory)
	}
	if err != nil {
		return nil, err
	}
	if c.known == nil {
		c.known = map[knownPattern]*patternGroup{}
	}
	c.known[k] = g
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
	d := r.templates.dictionary
	c.begin(len(of.Table), func(labels *patternLabels, k int) (*patternGroup, error) { return c.group(labels, d, of.Table[k].ID) })
	c.rows = slices.Grow(c.rows[:0], len(r.picks))
	for _, p := range r.picks {
		c.rows = append(c.rows, of.Rows[p.row])
	}
	return c.count(r, l, r.picks, fail)
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
		n := 0
		c.text = c.text[:0]
		c.parser.Reset(c.t.mine())
		for n < len(picks) && len(c.text) < minedText {
			from := len(c.text)
			c.text = append(c.text, r.line(picks[n])...)
			c.parser.Add(c.text, from, len(c.text))
			n++
		}
		c.parser.Finish(c.text)
		c.rows = slices.Grow(c.rows[:0], n)[:n]
		for i := range n {
			k, _ := c.parser.Row(i)
			c.rows[i] = uint16(k)
		}
		if err := c.charge(); err != nil {
			return err
		}
		table := c.parser.Table()
		c.begin(len(table), func(labels *patternLabels, k int) (*patternGroup, error) {
			return c.t.groups.of(labels, table[k].Template())
		})
		if err := c.count(r, l, picks[:n], fail); err != nil {
			return err
		}
		picks = picks[n:]
	}
	return nil
}

// charge counts the memory that mining has come to take.
func (c *patternCounter) charge() error {
	now := c.parser.Weight() + int64(cap(c.text))
	grown := now - c.charged
	if grown <= 0 {
		return nil
	}
	c.charged = now
	return c.t.groups.memory.charge(grown)
}

// begin begins a leaf with so many templates, of which groupOf returns the groups.
func (c *patternCounter) begin(templates int, groupOf func(labels *patternLabels, k int) (*patternGroup, error)) {
	c.templates, c.groupOf, c.sets = templates, groupOf, c.sets[:0]
}

// count counts picks of a leaf, whose templates are in rows.
func (c *patternCounter) count(r *reading, l leaf, picks []pick, fail func(error)) error {
	byMetadata := len(c.t.names) > 0 && (r.mem != nil || r.block.HasMetadata())
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
			if err := checkLabels(string(meta)); err != nil {
				fail(c.wrongMetadata(l, err))
			} else if err := c.countLike(stream, string(meta), picks[from:n], c.rows[from:n]); err != nil {
				return err
			}
			from = n
		}
	}
	return c.flush()
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
func (c *patternCounter) countLike(stream, meta string, picks []pick, rows []uint16) error {
	s, err := c.setOf(stream, meta)
	if err != nil {
		return err
	}
	step := uint64(c.t.buckets.step) - 1 // of one bucket for all: more than any time
	for i, p := range picks {
		if !s.some || uint64(p.time-s.start) > step {
			if err := c.flushSet(s); err != nil {
				return err
			}
			s.start, s.some = c.t.buckets.bucket(p.time), true
		}
		s.counts[rows[i]]++
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
	s.labels, s.some = labels, false
	s.counts = append(s.counts[:0], make([]uint32, c.templates)...)
	s.groups = append(s.groups[:0], make([]*patternGroup, c.templates)...)
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

func (c *patternCounter) flushSet(s *countedLabels) (err error) {
	if !s.some {
		return nil
	}
	s.some = false
	for k, n := range s.counts {
		if n == 0 {
			continue
		}
		s.counts[k] = 0
		if s.groups[k] == nil {
			if s.groups[k], err = c.groupOf(s.labels, k); err != nil {
				return err
			}
		}
		if err := s.groups[k].counts.add(c.t.groups.memory, s.start, int64(n), 0); err != nil {
			return err
		}
	}
	return nil
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

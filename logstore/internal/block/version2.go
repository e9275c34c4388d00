package block

import (
	"slices"

	"github.com/stele-go/stele/logstore/internal/column"
	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/template"
)

const (
	// maxValues bounds the values of a column.
	maxValues = column.MaxCount

	// packedSaved: packed bytes are compressed if that saves one byte of so many. Numbers
	// rarely allow it, but the same hashes, or heads of many small columns, do; and each
	// search that asks for numbers alone would have to decompress them.
	packedSaved = 12

	// passRows is how many rows or values take some ten microseconds.
	passRows = 64
)

// An encoder2 writes blocks of version 2.
type encoder2 struct {
	miner  *template.Miner
	pass   func() // see Encoder.Pass
	parser template.Parser

	zip                compressor // of the sections, but for texts that a pool's compressor takes
	timesOf            timesEncoder
	values             []value
	byColumn           []uint32 // where the values of each column begin, and one more
	columns            columnIndex
	column             column.Encoder
	table              []TemplateRows
	templates          *template.Dictionary
	head               head2
	rawHead            []byte
	rowsOf             []byte // section2Rows
	packed, pool, text []byte
	own                []ownSection
	owned              []byte
	metaLengths        []byte
	body               []byte
	timesEnd           int // in body

	lastTexts, lastLines int // bytes of texts, and of lines, of the last blocks, fewer of earlier ones
}

// A value is a variable in the text of all lines.
type value struct {
	span template.Span
	row  uint32
}

// An ownSection is a text of owned that has a section of its own.
type ownSection struct{ from, to int }

func (e *encoder2) encode(dst []byte, r *rows) ([]byte, error) {
	e.parse(r)
	e.assign(r)
	e.fill(r)
	e.timesOf.encode(r.times)
	e.timesOf.mark()
	return e.append(dst, r)
}

// parse finds the templates of all rows.
func (e *encoder2) parse(r *rows) {
	c := &r.lines
	e.parser.Reset(e.miner)
	for i := range len(r.times) {
		if i%passRows == 0 {
			e.pass()
		}
		e.parser.Add(c.text, int(c.starts[i]), int(c.starts[i+1])-1)
	}
	e.pass()
	e.parser.Finish(c.text)
	e.pass()
}

// assign gives each slot of each template a column, and makes the table, the part of the
// head that says so, and the templates of the rows.
func (e *encoder2) assign(r *rows) {
	e.head.reset()
	e.columns.reset()
	e.table = e.table[:0]
	e.templates = new(template.Dictionary)
	table := e.parser.Table()
	for _, p := range table {
		id, _ := e.templates.Add(p.Template()) // the parser sees to it that they fit
		e.table = append(e.table, TemplateRows{ID: id})
	}
	e.rowsOf = e.rowsOf[:0]
	for i := range r.times {
		k, _ := e.parser.Row(i)
		e.table[k].Rows++
		e.rowsOf = append(e.rowsOf, byte(k))
	}
	if len(table) > 1<<8 {
		for i := range r.times {
			k, _ := e.parser.Row(i)
			e.rowsOf = append(e.rowsOf, byte(k>>8))
		}
	}
	for k, p := range table {
		for _, c := range p.Contexts() {
			e.head.slots = append(e.head.slots, e.columns.number(c, e.table[k].Rows))
		}
		e.head.first = append(e.head.first, uint32(len(e.head.slots)))
	}
	e.byColumn = append(e.byColumn[:0], 0)
	for _, values := range e.columns.values {
		e.byColumn = append(e.byColumn, e.byColumn[len(e.byColumn)-1]+values)
	}
}

// plainColumn returns the number of the column of whole lines, -1 if there is none.
func (e *encoder2) plainColumn() int {
	for k, p := range e.parser.Table() {
		if p.IsPlain() {
			return int(e.head.slots[e.head.first[k]])
		}
	}
	return -1
}

// fill encodes the columns.
func (e *encoder2) fill(r *rows) {
	n := len(e.columns.values)
	e.values = slices.Grow(e.values[:0], int(e.byColumn[n]))[:e.byColumn[n]]
	at := e.byColumn[:n] // of each column; in the end, where the next one begins
	for i := range r.times {
		k, variables := e.parser.Row(i)
		for j, c := range e.head.slots[e.head.first[k]:e.head.first[k+1]] {
			e.values[at[c]] = value{variables[j], uint32(i)}
			at[c]++
		}
	}
	e.packed, e.pool, e.own, e.owned = e.packed[:0], e.pool[:0], e.own[:0], e.owned[:0]
	from, plain := uint32(0), e.plainColumn()
	for c := range n {
		e.pass()
		e.column.Reset()
		for _, v := range e.values[from:at[c]] {
			e.column.Add(r.lines.text[v.span.From:v.span.To], r.times[v.row])
		}
		from = at[c]
		before := len(e.packed)
		e.packed, e.text = e.column.Append(e.packed, e.text[:0])
		entry := columnEntry{packed: uint32(len(e.packed) - before), text: uint32(len(e.text))}
		// Plain lines have the same names as the columns, and most searches read them in any
		// case.
		if len(e.text) >= ownText && !(c == plain && few(len(e.text), r)) {
			e.own = append(e.own, ownSection{len(e.owned), len(e.owned) + len(e.text)})
			e.owned = append(e.owned, e.text...)
			entry.own = uint32(len(e.own))
		} else {
			e.pool = append(e.pool, e.text...)
		}
		e.head.columns = append(e.head.columns, entry)
	}
}

// append appends the block.
func (e *encoder2) append(dst []byte, r *rows) (_ []byte, err error) {
	e.metaLengths = appendLengths(e.metaLengths[:0], &r.meta)
	e.body = e.body[:0]
	add := func(p []byte, pool *compressorPool, saved int) {
		e.pass()
		s, from := section{raw: uint32(len(p))}, len(e.body)
		if saved > 0 && err == nil {
			e.body, s.compressed, err = e.compress(e.body, p, pool, saved)
		} else {
			e.body = append(e.body, p...)
		}
		stored := e.body[from:]
		if s.stored = uint32(len(stored)); s.stored > 0 {
			s.sum = checksum(stored)
		}
		e.head.sections = append(e.head.sections, s)
	}
	add(e.timesOf.varint, nil, 1)
	add(e.timesOf.bits, nil, 0)
	e.timesEnd = len(e.body)
	texts := e.compressorsOf(len(e.pool)+len(e.owned), r)
	add(e.rowsOf, texts, 1)
	add(e.packed, texts, len(e.packed)/packedSaved+1)
	add(e.pool, texts, 1)
	add(r.meta.text, nil, 1)
	add(e.metaLengths, nil, 1)
	for _, o := range e.own {
		add(e.owned[o.from:o.to], texts, 1)
	}
	if err != nil {
		return dst, err
	}
	return e.frame(dst, r, texts)
}

// compress is compressor.appendIf with a compressor of the pool, or of the encoder if pool is
// nil. It is lent for one section alone: others, for whom the encoder gives up the processor
// between sections, may wait for it.
func (e *encoder2) compress(dst, src []byte, pool *compressorPool, saved int) (_ []byte, zipped bool, err error) {
	if pool == nil {
		return e.zip.appendIf(dst, src, saved)
	}
	c := pool.get()
	defer pool.put(c)
	return c.appendIf(dst, src, saved)
}

// few reports whether texts of so many bytes are few of the lines: then they are compressed
// harder. Names and paths take 5 to 10 % less; where texts are most of the lines it would
// take as much more time as for those of version 1.
func few(texts int, r *rows) bool { return texts*5 <= len(r.lines.text)*4 }

// compressorsOf returns the compressors for a block with texts of so many bytes, nil: that of
// the encoder.
func (e *encoder2) compressorsOf(texts int, r *rows) *compressorPool {
	of := betterCompressors
	if !few(texts, r) {
		of = nil
	} else if e.textsAreRare(texts, len(r.lines.text)) {
		of = defaultCompressors
	}
	for _, p := range [...]*compressorPool{defaultCompressors, betterCompressors} {
		if p != of {
			p.skip()
		}
	}
	return of
}

// textsAreRare reports whether the texts of the last blocks, of which the next one has so many
// bytes, are so few of the lines that little is left to save: blocks take 0.4 % more than with
// the best compressor, but 5 MiB less of memory. One block with up to a quarter of texts, of lines
// whose templates are not known yet, does not count, be it the first one of the encoder.
func (e *encoder2) textsAreRare(texts, lines int) bool {
	if e.lastLines == 0 { // as if others without texts were before it
		e.lastLines = 4 * lines
	}
	e.lastTexts, e.lastLines = e.lastTexts-e.lastTexts/4+texts, e.lastLines-e.lastLines/4+lines
	return e.lastTexts <= e.lastLines/16
}

// frame appends header, table, times, head and the other sections.
func (e *encoder2) frame(dst []byte, r *rows, texts *compressorPool) (_ []byte, err error) {
	start := len(dst)
	dst = append(dst, make([]byte, header2Size)...)
	dst = appendTable(dst, e.table)
	table := dst[start+header2Size:]
	h := header2{
		rows: len(r.times), templates: len(e.table), table: uint32(len(table)), tableSum: checksum(table),
		times: [section2Rows]section(e.head.sections),
	}
	dst = append(dst, e.body[:e.timesEnd]...)
	e.rawHead = e.head.append(e.rawHead[:0])
	from := len(dst)
	if dst, h.compressed, err = e.compress(dst, e.rawHead, texts, 1); err != nil {
		return dst[:start], err
	}
	head := dst[from:]
	h.headRaw, h.headStored, h.headSum = uint32(len(e.rawHead)), uint32(len(head)), checksum(head)
	h.put(dst[start:])
	return append(dst, e.body[e.timesEnd:]...), nil
}

// addLines adds the variables of all lines to a filter, by column.
func (e *encoder2) addLines(b *filter.VariableBuilder, r *rows) {
	b.SetLines(r.lines.text)
	for i, v := range e.values {
		if i%passRows == 0 {
			e.pass()
		}
		b.AddVariable(v.span.From, v.span.To)
	}
}

// weight returns about how many bytes of memory the encoder keeps.
func (e *encoder2) weight() (n int64) {
	for _, p := range [...][]byte{e.rawHead, e.rowsOf, e.packed, e.pool, e.text, e.owned, e.metaLengths, e.body} {
		n += int64(cap(p))
	}
	return n + 12*int64(cap(e.values)) + 4*int64(cap(e.byColumn)) + 12*2*maxColumns + e.parser.Weight() + e.column.Weight()
}

// A columnIndex numbers contexts.
type columnIndex struct {
	slots   []contextColumn
	values  []uint32 // of each column
	version uint32
}

type contextColumn struct{ context, number, version uint32 }

func (x *columnIndex) reset() {
	if x.slots == nil {
		x.slots = make([]contextColumn, 2*maxColumns)
	}
	x.values = x.values[:0]
	if x.version++; x.version == 0 {
		clear(x.slots)
		x.version = 1
	}
}

// number returns the column of a context, to which it adds so many values. A column that
// would have more than maxValues has another one behind it.
func (x *columnIndex) number(context, values uint32) uint32 {
	for i, mask := context, uint32(len(x.slots)-1); ; i++ {
		s := &x.slots[i&mask]
		if s.version != x.version {
			if len(x.values) == maxColumns {
				return x.shared(values)
			}
			*s = contextColumn{context, uint32(len(x.values)), x.version}
			x.values = append(x.values, 0)
		}
		if n := s.number; s.context == context && x.values[n] <= maxValues-values {
			x.values[n] += values
			return n
		}
	}
}

// shared adds values to the last column that has place for them. There is one: all columns
// have place for more values than a block has bytes.
func (x *columnIndex) shared(values uint32) uint32 {
	n := len(x.values) - 1
	for x.values[n] > maxValues-values {
		n--
	}
	x.values[n] += values
	return uint32(n)
}

package block

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/template"
)

// ErrShort reports that more of a block is needed than there is.
var ErrShort = errors.New("block: too little of the block")

// ErrNoDictionary reports that a block of version 2 was opened without its dictionary. It
// wraps ErrDamaged: no segment that is intact has such a block.
var ErrNoDictionary = damaged("a block of version 2 without a dictionary")

var (
	errNoRows  = errors.New("block: encode: 0 rows; want at least 1")
	errNotOpen = errors.New("block: no block is open")
)

// An encoding writes blocks of one version. It is not safe for concurrent use.
type encoding interface {
	// encode appends the block of r, which has at least one row and is within bounds.
	encode(dst []byte, r *rows) ([]byte, error)
}

// A decoding reads blocks of one version, one at a time. It is for one
// goroutine.
type decoding interface {
	// openTimes verifies the header of a block of which p has the first bytes, and keeps p.
	// It returns ErrShort if p ends before the header or the times do.
	openTimes(p []byte) (rows int, err error)
	// open verifies the sizes of the sections of the same block, and keeps p. Times that were
	// read stay.
	open(p []byte) error
	// times opens the times, once.
	times() (*timeReader, error)
	// lines fills both, which are empty, also after an error.
	lines(lines, meta *texts) error
	// metadata fills the column, which is empty, also after an error.
	metadata(meta *texts) error
}

// An Encoder collects rows. Reset empties it and keeps its memory. It is for
// one goroutine. The zero value is ready.
type Encoder struct {
	// Miner finds the templates of lines. Without it, blocks are of version 1.
	Miner *template.Miner
	// Pass, unless nil, is called some thousand times while Append and AddLines encode a large
	// block of version 2, which takes several milliseconds: it may give up the processor.
	Pass func()

	rows     rows
	encoding encoding
	columns  *encoder2 // the encoding, of version 2
}

// Add adds a row. meta is its encoded metadata, often empty. Both are copied.
// Append fails if there are more than MaxRows rows or MaxRaw bytes.
func (e *Encoder) Add(time int64, line, meta []byte) { e.rows.add(time, line, meta) }

// Rows returns the number of rows.
func (e *Encoder) Rows() int { return len(e.rows.times) }

// Raw returns the bytes of all lines and metadata.
func (e *Encoder) Raw() int { return e.rows.raw }

// Append appends the block of the added rows to dst. It returns an error if
// there are no rows or too many, and dst as it was.
func (e *Encoder) Append(dst []byte) ([]byte, error) {
	if e.Rows() == 0 {
		return dst, errNoRows
	}
	if e.Rows() > MaxRows || e.Raw() > MaxRaw {
		return dst, fmt.Errorf("block: encode: %d rows of %d bytes; want at most %d rows of %d bytes", e.Rows(), e.Raw(), MaxRows, MaxRaw)
	}
	if e.Miner != nil {
		if e.columns == nil {
			e.columns = &encoder2{zip: compressor{lowMem: true}, pass: e.pass}
		}
		e.columns.miner = e.Miner
		return e.columns.encode(dst, &e.rows)
	}
	if e.encoding == nil {
		e.encoding = new(encoder1)
	}
	return e.encoding.encode(dst, &e.rows)
}

// pass calls Pass, if there is one.
func (e *Encoder) pass() {
	if e.Pass != nil {
		e.Pass()
	}
}

// Templates returns the dictionary that the block of the last Append refers to, nil if it
// is of version 1.
func (e *Encoder) Templates() *template.Dictionary {
	if e.Miner == nil || e.columns == nil {
		return nil
	}
	return e.columns.templates
}

// AddLines adds the lines of the block of the last Append, which is of version 2, to its
// filter. Metadata are the caller's to add.
func (e *Encoder) AddLines(b *filter.VariableBuilder) { e.columns.addLines(b, &e.rows) }

// Weight returns about how many bytes of memory the Encoder keeps.
func (e *Encoder) Weight() int64 {
	n := 8*int64(cap(e.rows.times)) + e.rows.lines.weight() + e.rows.meta.weight()
	if e.columns != nil {
		n += e.columns.weight()
	}
	return n
}

// Reset removes all rows.
func (e *Encoder) Reset() { e.rows.reset() }

// A Decoder reads a block. Open may be called again, for another block; the
// Decoder keeps its memory. It is for one goroutine. The zero value is ready
// for Open.
type Decoder struct {
	decoding decoding // nil unless a block is open
	timing   decoding // nil unless the times of a block are open
	block    []byte   // of timing
	version1 decoder1
	version2 decoder2
	count    int
	rows     rows // what has been decoded so far
	partly   bool // some lines: see LinesOf
}

// A VersionError reports a block of a version that this program does not know. If the
// checksum of its bytes was verified, the block is not damaged, and must not be treated
// as such.
type VersionError struct{ Version byte }

func (e *VersionError) Error() string {
	return fmt.Sprintf("block: version %d, this program knows up to %d: read it with the program that wrote it, or a newer one", e.Version, version2)
}

// Open verifies the header of a block, and decompresses no row yet. A block of version 2
// needs its dictionary. The Decoder keeps p and the dictionary.
func (d *Decoder) Open(p []byte, dictionary *template.Dictionary) error {
	if err := d.OpenTimes(p); errors.Is(err, ErrShort) {
		return damaged("%d bytes; want more", len(p))
	} else if err != nil {
		return err
	}
	return d.OpenLines(dictionary)
}

// OpenTimes opens a block, of which p has at least the first bytes, for its times alone. The
// Decoder keeps p. OpenTimes returns ErrShort if p ends before the header or the times do.
// Until OpenLines has opened the rest, only Rows, IsOpen, Times, TimesBetween, TimeAt,
// SearchTimes and SetSpan may be called.
func (d *Decoder) OpenTimes(p []byte) error {
	d.close()
	if len(p) == 0 {
		return damaged("it is empty")
	}
	p = slices.Clip(p) // texts are copied with bytes behind them, which are not to be the caller's
	var decoding decoding = &d.version1
	switch v := p[0]; {
	case v > version2:
		return &VersionError{Version: v}
	case v == version2:
		decoding = &d.version2
	case v != version1:
		return damaged("version %d; want 1 to %d", v, version2)
	}
	count, err := decoding.openTimes(p)
	if err != nil {
		return err
	}
	d.timing, d.block, d.count = decoding, p, count
	return nil
}

// SetSpan tells the Decoder that all times of the block of OpenTimes are from least to greatest,
// so that Search and Count need not decode them. If they are not, these may miss rows. The next
// OpenTimes forgets it.
func (d *Decoder) SetSpan(least, greatest int64) {
	d.version2.least, d.version2.greatest, d.version2.hasSpan = least, greatest, true
}

// OpenLines opens all of a block, which OpenTimes was given whole. It is as if Open had opened
// it, but times that were decoded are not decoded again. Where all is open, it does nothing.
func (d *Decoder) OpenLines(dictionary *template.Dictionary) error {
	if d.timing == nil {
		return errNotOpen
	}
	if d.decoding != nil {
		return nil
	}
	d.version2.dictionary = dictionary
	err := d.timing.open(d.block)
	if errors.Is(err, ErrShort) {
		err = damaged("%d bytes; want more", len(d.block))
	}
	if err != nil {
		d.close()
		return err
	}
	d.decoding = d.timing
	return nil
}

// close closes the block.
func (d *Decoder) close() {
	d.decoding, d.timing, d.block, d.count, d.partly = nil, nil, nil, 0, false
	d.rows.reset()
}

// Release closes the block, and keeps neither it nor its dictionary nor what was searched
// for: only memory for the next one.
func (d *Decoder) Release() {
	d.close()
	d.version1.stored = [sections][]byte{}
	d.version1.timesOf.release()
	d.version1.zip.release()
	d.version2.release()
}

// Decode is Open, Times and Lines.
func (d *Decoder) Decode(p []byte, dictionary *template.Dictionary) (times []int64, err error) {
	if err := d.Open(p, dictionary); err != nil {
		return nil, err
	}
	if times, err = d.Times(); err != nil {
		return nil, err
	}
	return times, d.Lines()
}

// Weight returns about how many bytes of memory the Decoder keeps.
func (d *Decoder) Weight() int64 {
	n := d.version1.timesOf.weight() + d.version1.zip.weight() + d.rows.lines.weight() + d.rows.meta.weight()
	for _, p := range d.version1.scratch {
		n += int64(cap(p))
	}
	return n + d.version2.weight()
}

// Rows returns the number of rows of the block.
func (d *Decoder) Rows() int { return d.count }

// Times returns the times of all rows, valid until the next Open.
func (d *Decoder) Times() ([]int64, error) {
	if d.timing == nil {
		return nil, errNotOpen
	}
	r, err := d.timing.times()
	if err != nil {
		return nil, err
	}
	return r.all()
}

// TimesBetween is Times of which only those of the rows from first to end, which is not
// included, are decoded, and perhaps some more. The rows must be among those of the block.
func (d *Decoder) TimesBetween(first, end int) ([]int64, error) {
	if d.timing == nil {
		return nil, errNotOpen
	}
	r, err := d.timing.times()
	if err != nil {
		return nil, err
	}
	return r.between(first, end)
}

// TimeAt returns the time of a row, which must be among those of the block.
func (d *Decoder) TimeAt(row int) (int64, error) {
	if d.timing == nil {
		return 0, errNotOpen
	}
	r, err := d.timing.times()
	if err != nil {
		return 0, err
	}
	return r.at(row)
}

// SearchTimes returns the first of the rows from first to end, which is not included, that has
// a time at or after t, else end. They must be among the rows of the block, and be in the order
// of time. Few of them are decoded.
func (d *Decoder) SearchTimes(first, end int, t int64) (int, error) {
	if d.timing == nil {
		return 0, errNotOpen
	}
	r, err := d.timing.times()
	if err != nil {
		return 0, err
	}
	return r.search(first, end, t)
}

// Lines decompresses lines and metadata, for Line and Meta.
func (d *Decoder) Lines() error {
	if d.decoding == nil {
		return errNotOpen
	}
	if !d.rows.lines.empty() && !d.partly {
		return nil
	}
	d.partly = false
	d.rows.lines.reset()
	d.rows.meta.reset() // Metadata may have filled it
	return d.decoding.lines(&d.rows.lines, &d.rows.meta)
}

// Metadata decompresses metadata alone, for Meta.
func (d *Decoder) Metadata() error {
	if d.decoding == nil {
		return errNotOpen
	}
	if !d.rows.lines.empty() || !d.rows.meta.empty() {
		return nil
	}
	return d.decoding.metadata(&d.rows.meta)
}

// Line returns the line of row i, valid until the next Open. Lines must have
// succeeded before.
func (d *Decoder) Line(i int) []byte { return d.rows.lines.at(i) }

// Text returns all lines in one text, each followed by one more byte, and where each
// begins in it, with its length as the last one: line i is text[starts[i]:starts[i+1]-1].
// See Line.
func (d *Decoder) Text() (text []byte, starts []uint32) {
	return d.rows.lines.text, d.rows.lines.starts
}

// HasMeta reports whether a row may have metadata. Lines or Metadata must have succeeded
// before.
func (d *Decoder) HasMeta() bool { return !d.rows.meta.empty() }

// Meta returns the encoded metadata of row i, nil if it has none; see Line.
func (d *Decoder) Meta(i int) []byte {
	if d.rows.meta.empty() {
		return nil
	}
	return d.rows.meta.at(i)
}

package segment2

import (
	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/template"
)

// A BlockEncoder encodes the rows of blocks, one block after the other, with one codec.
// It is for one goroutine.
type BlockEncoder interface {
	// Codec returns that of the blocks; see EncodedBlock.
	Codec() uint16
	// Reset removes all rows. filtered says that Filter will be called for the next
	// block.
	Reset(filtered bool)
	// Add adds a row, which it copies.
	Add(time int64, line, meta []byte)
	// Encode sets b.Block, in the memory that b.Block has, b.Codec and b.Templates to
	// the block of the rows. The encoder changes none of them any more: the next block
	// may be encoded while this one is written.
	Encode(b *EncodedBlock) error
	// Filter appends the filter of the block that was encoded last; nothing if it has
	// none.
	Filter(dst []byte) []byte
	// Weight returns about how many bytes of memory the encoder keeps, but for the miner
	// that it shares.
	Weight() int64
	// Release gives up that memory, and all rows. The encoder may be used again.
	Release()
}

// NewLinesEncoder returns the BlockEncoder of CodecLines.
func NewLinesEncoder() BlockEncoder { return new(linesEncoder) }

// NewColumnsEncoder returns a BlockEncoder of CodecColumns, which finds the templates of
// lines with m. Others may use m meanwhile. pass, unless nil, is called now and then by
// Encode; see block.Encoder.
func NewColumnsEncoder(m *template.Miner, pass func()) BlockEncoder {
	return &columnsEncoder{rows: block.Encoder{Miner: m, Pass: pass}}
}

// A linesEncoder is the BlockEncoder of CodecLines.
type linesEncoder struct {
	rows     block.Encoder
	texts    filter.Builder
	filtered bool
	unusable bool // the metadata of a row is not well-formed
}

func (e *linesEncoder) Codec() uint16 { return CodecLines }

func (e *linesEncoder) Reset(filtered bool) {
	e.rows.Reset()
	if e.filtered, e.unusable = filtered, false; filtered {
		e.texts.Reset()
	}
}

func (e *linesEncoder) Add(time int64, line, meta []byte) {
	e.rows.Add(time, line, meta)
	if e.filtered && !AddTexts(&e.texts, line, meta) {
		e.unusable = true
	}
}

func (e *linesEncoder) Encode(b *EncodedBlock) (err error) {
	b.Codec, b.Templates = CodecLines, nil
	b.Block, err = e.rows.Append(b.Block[:0])
	return err
}

func (e *linesEncoder) Filter(dst []byte) []byte {
	if e.unusable {
		return dst
	}
	return e.texts.Append(dst)
}

func (e *linesEncoder) Weight() int64 { return e.rows.Weight() }

func (e *linesEncoder) Release() { *e = linesEncoder{} }

// A columnsEncoder is the BlockEncoder of CodecColumns.
type columnsEncoder struct {
	rows      block.Encoder
	variables filter.VariableBuilder
	filtered  bool
	unusable  bool // the metadata of a row is not well-formed
}

func (e *columnsEncoder) Codec() uint16 { return CodecColumns }

func (e *columnsEncoder) Reset(filtered bool) {
	e.rows.Reset()
	if e.filtered, e.unusable = filtered, false; filtered {
		e.variables.Reset()
	}
}

func (e *columnsEncoder) Add(time int64, line, meta []byte) {
	e.rows.Add(time, line, meta)
	if e.filtered && len(meta) > 0 && !eachLabel(meta, func(_, value, _ []byte) { e.variables.AddText(value) }) {
		e.unusable = true
	}
}

func (e *columnsEncoder) Encode(b *EncodedBlock) (err error) {
	b.Codec = CodecColumns
	if b.Block, err = e.rows.Append(b.Block[:0]); err != nil {
		return err
	}
	b.Templates = e.rows.Templates()
	if e.filtered {
		e.rows.AddLines(&e.variables)
	}
	return nil
}

func (e *columnsEncoder) Filter(dst []byte) []byte {
	if e.unusable {
		return dst
	}
	return e.variables.Append(dst)
}

func (e *columnsEncoder) Weight() int64 { return e.rows.Weight() }

func (e *columnsEncoder) Release() {
	*e = columnsEncoder{rows: block.Encoder{Miner: e.rows.Miner, Pass: e.rows.Pass}}
}

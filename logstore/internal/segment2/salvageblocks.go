package segment2

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/template"
)

// A salvagedBlock is a block with the runs of known streams.
type salvagedBlock struct {
	frame     Frame
	templates *template.Dictionary // that it refers to
	decoder   block.Decoder
	times     []int64
	runs      Runs // with places in place of ordinals, and First of the block
	whole     bool // it has no other runs, and these in order
	dropped   int  // rows of streams whose labels are lost
	ids       []ID // of all rows of the block; empty if they are lost
	idsErr    error

	content []byte
	rowIDs  []ID
	texts   filter.Builder
}

// chooseBlocks reads all blocks, and notes those that are kept, and their
// streams.
func (v *salvager) chooseBlocks() error {
	tenant := 0
	for i := range v.r.blocks() {
		off, err := v.open(i)
		if err == nil {
			err = v.checkTenant(off, &tenant)
		}
		if err != nil {
			if err := v.lose(err); err != nil {
				return err
			}
			continue
		}
		b := &v.block
		if b.dropped > 0 {
			v.lost = append(v.lost, corrupt(v.src, off, b.frame.Number, "the labels of the streams of %d of its rows are lost", b.dropped))
		}
		if b.idsErr != nil {
			v.lost = append(v.lost, b.idsErr)
		}
		for _, r := range b.runs {
			v.streams.used[r.Ordinal] = true
		}
		v.kept = append(v.kept, i)
	}
	return nil
}

// checkTenant verifies that a block has streams of one tenant, and does not come
// too late for it: the Writer would take it for an error of its own.
func (v *salvager) checkTenant(off int64, tenant *int) error {
	runs := v.block.runs
	low, high := int(runs[0].Ordinal), int(runs[len(runs)-1].Ordinal)
	of := v.streams.tenantOf(low)
	if of != v.streams.tenantOf(high) || of < *tenant {
		return corrupt(v.src, off, v.block.frame.Number, "it has streams of several tenants, or of one whose blocks lie before")
	}
	*tenant = of
	return nil
}

// open reads and verifies a block, and returns the offset of its frame. A block
// without a run of a known stream is damaged.
func (v *salvager) open(number int) (off int64, err error) {
	b := &v.block
	if off, err = v.r.read(v.ctx, &b.frame, number); err != nil {
		return off, err
	}
	if !knownCodec(b.frame.Codec) {
		return off, &VersionError{File: v.src.Name(), Version: version, Codec: b.frame.Codec}
	}
	damaged := func(why error) (int64, error) { return off, corrupt(v.src, off, b.frame.Number, "%v", why) }
	if b.templates, err = v.r.dictionary(v.ctx, b.frame.Dictionary); err != nil {
		return off, err
	}
	if b.times, err = b.decoder.Decode(b.frame.Block, b.templates); err != nil {
		return off, wrongContent(v.src, off, b.frame.Number, err)
	}
	if err := b.chooseRuns(&v.streams); err != nil {
		return damaged(err)
	}
	b.idsErr = nil
	if b.ids = b.ids[:0]; b.frame.positions != nil && len(b.frame.positions) == 0 {
		return off, nil // they were lost before
	}
	b.ids, b.idsErr = v.r.ids(v.ctx, b.ids, &b.frame)
	if b.idsErr != nil {
		if b.ids = b.ids[:0]; !isCorrupt(b.idsErr) {
			return off, b.idsErr
		}
	}
	return off, nil
}

// chooseRuns sets the runs of known streams.
func (b *salvagedBlock) chooseRuns(streams *salvagedStreams) error {
	b.runs, b.dropped = b.runs[:0], 0
	rows, sum := 0, int64(0)
	for _, r := range b.frame.Runs {
		if int64(r.First) != int64(rows) || int64(r.Rows) > int64(len(b.times)-rows) || r.Rows == 0 || r.Seq > maxSeq {
			return errRows
		}
		part, raw := b.times[rows:rows+int(r.Rows)], int64(0)
		if !slices.IsSorted(part) {
			return errTimes
		}
		for range part {
			raw += int64(len(b.decoder.Line(rows)) + len(b.decoder.Meta(rows)))
			rows++
		}
		if sum += raw; sum > math.MaxInt32 {
			return errBytes
		}
		place, ok := streams.placeOf(r.Ordinal)
		if !ok {
			b.dropped += len(part)
			continue
		}
		b.runs = append(b.runs, Run{Ordinal: uint32(place), First: r.First, Rows: r.Rows, Seq: r.Seq, MinTime: part[0], MaxTime: part[len(part)-1], Raw: raw})
	}
	switch {
	case rows != len(b.times):
		return errRows
	case len(b.runs) == 0:
		return errors.New("the labels of its streams are lost")
	}
	b.whole = b.dropped == 0 && slices.IsSortedFunc(b.runs, compareRuns)
	if !b.whole {
		slices.SortFunc(b.runs, compareRuns)
	}
	for i := range b.runs[1:] {
		if compareRuns(b.runs[i], b.runs[i+1]) == 0 {
			return errors.New("two of its runs are the same")
		}
	}
	return nil
}

// writeBlocks writes the blocks that are kept.
func (v *salvager) writeBlocks() error {
	b := &v.block
	for _, i := range v.kept {
		off, err := v.open(i)
		if err != nil {
			if isCorrupt(err) {
				err = fmt.Errorf("segment: salvage %s: block at %d: it could be read before: %w", v.src.Name(), off, err)
			}
			return err
		}
		out := EncodedBlock{Block: b.frame.Block, Codec: b.frame.Codec, Templates: b.templates, IDs: b.ids}
		if !b.whole {
			v.changed[i] = b.frame.Codec == CodecColumns
			if out, err = v.encode(); err != nil {
				return err
			}
		}
		for r := range b.runs {
			b.runs[r].Ordinal = v.streams.ordinal[b.runs[r].Ordinal]
		}
		out.Runs = b.runs
		if err := v.w.AddBlock(out); err != nil {
			return err
		}
	}
	return nil
}

// encode encodes the rows of the runs only.
func (v *salvager) encode() (EncodedBlock, error) {
	b, e := &v.block, v.encoder
	e.Reset(false)
	b.rowIDs = b.rowIDs[:0]
	for _, r := range b.runs {
		for i := r.First; i < r.First+r.Rows; i++ {
			e.Add(b.times[i], b.decoder.Line(int(i)), b.decoder.Meta(int(i)))
		}
		if len(b.ids) > 0 {
			b.rowIDs = append(b.rowIDs, b.ids[r.First:r.First+r.Rows]...)
		}
	}
	out := EncodedBlock{Block: b.content, IDs: b.rowIDs}
	err := e.Encode(&out)
	b.content = out.Block
	return out, err
}

// writeFilters writes the filters of the blocks that are kept, and makes those
// again that cannot be read, or that left out what was in templates and may be in
// variables now.
func (v *salvager) writeFilters() error {
	var buf []byte
	for _, i := range v.kept {
		p, err := v.r.filter(v.ctx, buf, i)
		if isCorrupt(err) || err == nil && (len(p) == 0 || v.changed[i]) {
			p, err = v.makeFilter(buf, i)
		}
		if err != nil {
			return err
		}
		if err := v.w.AddFilter(p); err != nil {
			return err
		}
		if p != nil {
			buf = p
		}
	}
	return nil
}

// makeFilter makes the filter of a block; nil if that cannot be read any more.
func (v *salvager) makeFilter(buf []byte, number int) ([]byte, error) {
	if _, err := v.open(number); err != nil {
		if isCorrupt(err) {
			err = nil
		}
		return nil, err
	}
	b := &v.block
	b.texts.Reset()
	for i := range b.times {
		if !AddTexts(&b.texts, b.decoder.Line(i), b.decoder.Meta(i)) {
			return nil, nil
		}
	}
	return b.texts.Append(buf[:0]), nil
}

// AddTexts adds the texts of an entry to the filter of its block: the line, and
// the values of the metadata, which are encoded as labels. It reports whether
// they are well-formed; the filter must not be used if they are not.
func AddTexts(b *filter.Builder, line, meta []byte) bool {
	b.Add(line)
	return len(meta) == 0 || eachLabel(meta, func(_, value, _ []byte) { b.Add(value) })
}

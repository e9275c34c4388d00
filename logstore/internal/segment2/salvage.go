package segment2

import (
	"cmp"
	"context"
	"fmt"
	"io"
)

// Salvage writes a segment of version 2 with the intact rows of one of version 2
// that is damaged anywhere, and with its positions. After, Upto, Generation and
// Created of from must be set, as for Scan. lost has an error for all else that
// could not be read: blocks, rows whose streams have lost their labels, and the
// positions of rows. A filter that cannot be read is made again.
//
// Salvage uses the index if that is whole or can be rebuilt, else it scans the
// frames. Each block is read twice, and once more to make its filter. Its memory is that of a Writer, 5 bytes a
// stream, and a block; if it scans, all labels.
//
// The error is a *CorruptError if nothing can be found. What only a newer program
// can read ends Salvage with a *VersionError, or that of package block. A read
// error that is no damage ends it too: the bytes may be readable later.
func Salvage(ctx context.Context, w io.Writer, src Source, size int64, from Info, o MergeOptions) (info Info, lost []error, err error) {
	paced := newThrottledSource(ctx, src, o.Throttle)
	card, err := OpenCard(paced, size)
	if err != nil && !isCorrupt(err) {
		return Info{}, nil, err
	}
	v := &salvager{ctx: ctx, o: o, src: paced}
	if err == nil {
		v.index = newMergeIndex2(card, paced)
		v.r, err = openIndex(ctx, v.index)
	}
	if err != nil {
		if !isCorrupt(err) {
			return Info{}, nil, err
		}
		s, lost, err := Scan(ctx, paced, size, from)
		if err != nil {
			return Info{}, lost, err
		}
		v.r, v.lost = &scannedReader{s: s, index: v.index}, lost
	}
	info, err = v.salvage(w)
	return info, v.lost, err
}

// SalvageSource is Salvage of a segment whose index is not damaged: some of its
// blocks may be. It may be one of version 1 that was scanned.
func SalvageSource(ctx context.Context, w io.Writer, s MergeSource, o MergeOptions) (info Info, lost []error, err error) {
	v := &salvager{ctx: ctx, o: o}
	r, err := s.OpenMerge(func(src Source) Source {
		v.src = newThrottledSource(ctx, src, o.Throttle)
		return v.src
	})
	if err != nil {
		return Info{}, nil, err
	}
	v.index, _ = r.(*index2)
	if v.r, err = openIndex(ctx, r); err != nil {
		return Info{}, nil, err
	}
	info, err = v.salvage(w)
	return info, v.lost, err
}

// A salvager is a Salvage under way.
type salvager struct {
	ctx   context.Context
	o     MergeOptions
	src   Source
	index *index2 // nil: none, or that of version 1
	r     salvageReader
	w     *Writer

	lost    []error
	encoder BlockEncoder
	streams salvagedStreams
	kept    []int        // blocks
	changed map[int]bool // those of CodecColumns that were encoded again
	block   salvagedBlock
}

// salvage writes what v.r has.
func (v *salvager) salvage(w io.Writer) (Info, error) {
	info := v.r.Info()
	if v.o.Log != ([16]byte{}) {
		if info.Log != v.o.Log && info.Log != ([16]byte{}) {
			return Info{}, fmt.Errorf("segment: salvage %s: it is of the log %x; want %x", v.src.Name(), info.Log, v.o.Log)
		}
		info.Log = v.o.Log
	}
	info.Generation, info.Created = v.o.Generation, v.o.Created
	if v.index != nil {
		if err := v.index.checkSections(v.o.Sections != nil); err != nil {
			return Info{}, err
		}
	}
	if v.encoder = v.o.Encoder; v.encoder == nil {
		v.encoder = new(linesEncoder)
	}
	v.changed = map[int]bool{}
	v.w = NewWriter(&throttledWriter{v.ctx, w, v.o.Throttle}, info)
	for _, step := range []func() error{v.readStreams, v.chooseBlocks, v.writeStreams, v.writeBlocks, v.writeFilters, v.writeBatches, v.writeSections} {
		if err := step(); err != nil {
			return Info{}, err
		}
	}
	return v.w.Finish()
}

// lose notes damage. It returns errors that are no damage.
func (v *salvager) lose(err error) error {
	if isCorrupt(err) {
		v.lost = append(v.lost, err)
		return nil
	}
	return err
}

// writeSections writes the sections that are kept, and those of the caller.
func (v *salvager) writeSections() error {
	if v.index != nil {
		instances := map[Type]uint32{}
		for _, s := range v.index.keptSections() {
			var failed error
			err := v.index.copySection(v.ctx, &s, instances[s.kind], func(s Section) { failed = v.w.AddSection(s) })
			if err := cmp.Or(v.lose(err), failed); err != nil {
				return err
			}
			instances[s.kind]++
		}
	}
	return v.w.addSections(v.o.Sections)
}

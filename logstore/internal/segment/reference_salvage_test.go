package segment

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/stele-go/stele/logstore/internal/block"
)

// Salvage writes a segment with the intact blocks of s, and with its After and
// Upto. lost has an error for each other block. If the block's own list of runs
// is damaged, the runs of the index are used, and the other way round; a block
// with a damaged filter is kept without it.
//
// A read error that is not damage ends Salvage: the bytes may be readable
// later.
func Salvage(ctx context.Context, w io.Writer, s *Segment, o MergeOptions) (info Info, lost []error, err error) {
	s, t, err := s.throttled(ctx, o.Throttle)
	if err != nil {
		return Info{}, nil, err
	}
	out := NewWriter(&throttledWriter{ctx, w, o.Throttle})
	v := salvager{s: s, t: t, checkLabels: o.CheckLabels}
	var filter buffer
	for i := range t.count {
		b, err := v.block(i)
		if isCorrupt(err) {
			lost = append(lost, err)
			continue
		}
		if err != nil {
			return Info{}, nil, err
		}
		f, err := s.readFilter(&filter, t, i)
		if err != nil && !isCorrupt(err) {
			return Info{}, nil, err
		}
		if err := out.add(b.payload, f, b.runs); err != nil {
			return Info{}, nil, err
		}
	}
	was := s.Info()
	info, err = out.Finish(Info{After: was.After, Upto: was.Upto, Generation: o.Generation, Created: o.Created})
	return info, lost, err
}

// A salvager reads the intact blocks of a segment.
type salvager struct {
	s           *Segment
	t           *tables
	checkLabels func(enc string) error // or nil

	frame   buffer
	runs    []blockRun
	index   map[int][]blockRun // runs of all blocks by the index, once they are needed
	decoder block.Decoder
}

// block reads and verifies a block. Its runs are those of its own list or, if
// that is damaged, of the index. A block of a newer version is not decoded.
func (v *salvager) block(i int) (blockFrame, error) {
	b, err := v.s.readFrame(&v.frame, v.runs, v.t, i)
	if err == nil {
		err = b.payloadErr
	}
	if err != nil {
		return b, err
	}
	if b.listErr == nil {
		v.runs = b.runs
	} else {
		if v.index == nil {
			if v.index, err = v.s.runsByBlock(v.t); err != nil {
				return b, err
			}
		}
		if b.runs = v.index[i]; b.runs == nil {
			return b, b.listErr
		}
	}
	entry := v.t.blockEntry(i)
	if err := checkRows(&v.decoder, b.payload, entry, b.runs); err != nil {
		if _, newer := errors.AsType[*block.VersionError](err); !newer {
			return b, corrupt(v.s.src, entry.payload(), i, "%v", err)
		}
		// Its checksum matches: it is kept as it is, for the program that knows it.
	}
	if v.checkLabels == nil {
		return b, nil
	}
	for _, r := range b.runs {
		if err := v.checkLabels(r.Labels); err != nil {
			return b, corrupt(v.s.src, entry.payload(), i, "labels of a run: %v", err)
		}
	}
	return b, nil
}

// runsByBlock returns, from the lists of the streams, the runs of each block
// that they cover completely.
func (s *Segment) runsByBlock(t *tables) (map[int][]blockRun, error) {
	all := map[int][]blockRun{}
	for i := range t.streams {
		list, err := s.list(t, i)
		if err != nil && !isCorrupt(err) {
			return nil, err
		}
		for _, r := range list {
			all[r.Block] = append(all[r.Block], blockRun{StreamRun{t.streams[i].Labels, r.Run}, r.seq})
		}
	}
	for i, runs := range all {
		slices.SortFunc(runs, func(a, b blockRun) int { return cmp.Compare(a.First, b.First) })
		rows := 0
		for _, r := range runs {
			if r.First == rows {
				rows += r.Rows
			}
		}
		if entry := t.blockEntry(i); rows != int(entry.rows) || len(runs) != int(entry.runs) {
			delete(all, i)
		}
	}
	return all, nil
}

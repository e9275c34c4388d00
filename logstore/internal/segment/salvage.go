package segment

import (
	"cmp"
	"context"
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
	var (
		frame, filter buffer
		runs          []blockRun
		index         map[int][]blockRun // what the index says of all blocks, once it is needed
		decoder       block.Decoder
	)
	for i := range t.count {
		b, err := s.readFrame(&frame, runs, t, i)
		if err == nil && b.listErr != nil && b.payloadErr == nil {
			if index == nil {
				if index, err = s.runsByBlock(t); err != nil {
					return Info{}, nil, err
				}
			}
			if b.runs = index[i]; b.runs != nil {
				b.listErr = nil
			}
		} else {
			runs = b.runs
		}
		damage := cmp.Or(err, b.payloadErr, b.listErr)
		if damage == nil {
			if err := checkRows(&decoder, b.payload, t.blockEntry(i), b.runs); err != nil {
				damage = corrupt(s.src, t.blockEntry(i).payload(), i, "%v", err)
			}
		}
		if damage == nil && o.CheckLabels != nil {
			for _, r := range b.runs {
				if err := o.CheckLabels(r.Labels); err != nil {
					damage = corrupt(s.src, t.blockEntry(i).payload(), i, "labels of a run: %v", err)
					break
				}
			}
		}
		if damage != nil {
			if !isCorrupt(damage) {
				return Info{}, nil, damage
			}
			lost = append(lost, damage)
			continue
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
		if rec := t.blockEntry(i); rows != int(rec.rows) || len(runs) != int(rec.runs) {
			delete(all, i)
		}
	}
	return all, nil
}

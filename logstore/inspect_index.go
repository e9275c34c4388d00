package logstore

import (
	"context"
	"iter"
	"sync"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// An indexContent is a segment by its index: that in the file or, for version 1, that of a
// scan of its blocks.
type indexContent struct {
	file  string
	card  *segment2.Card
	index segment2.Index
}

func (c *indexContent) info() segment2.Info { return c.index.Info() }

// A streamTotal is what all runs of a stream have.
type streamTotal struct {
	min, max, rows, raw int64
	runs                int
}

func (t *streamTotal) add(min_, max_, rows, raw int64) {
	if t.runs == 0 {
		t.min, t.max = min_, max_
	}
	t.min, t.max = min(t.min, min_), max(t.max, max_)
	t.rows, t.raw, t.runs = t.rows+rows, t.raw+raw, t.runs+1
}

func (t *streamTotal) info(file, tenant string, l Labels) StreamInfo {
	return StreamInfo{File: file, Tenant: tenant, Labels: l, MinTime: t.min, MaxTime: t.max, Rows: t.rows, Raw: t.raw, Runs: t.runs}
}

func (c *indexContent) streams() iter.Seq2[StreamInfo, error] {
	return func(yield func(StreamInfo, error) bool) {
		totals, err := c.totals()
		if err != nil {
			yield(StreamInfo{}, err)
			return
		}
		for st, err := range c.labels() {
			var info StreamInfo
			if err == nil {
				info = totals[st.ordinal].info(c.file, st.tenant, st.labels)
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

func (c *indexContent) labels() iter.Seq2[ordinalLabels, error] {
	return func(yield func(ordinalLabels, error) bool) {
		tenants, err := c.index.Tenants(context.Background())
		for chunk, done := 0, 0; err == nil && done < c.index.Info().Streams; chunk++ {
			var list *segment2.Chunk
			if list, err = c.index.Labels(context.Background(), chunk); unlessRebuilt(err) != nil {
				break
			}
			for i, enc := range list.Labels {
				var l Labels
				if l, err = streamLabelsOf(c.file, done, enc); err != nil {
					break
				}
				ordinal := list.First + uint32(i)
				for len(tenants) > 1 && ordinal >= tenants[1].First {
					tenants = tenants[1:]
				}
				if !yield(ordinalLabels{ordinal, tenants[0].Tenant, l}, nil) {
					return
				}
			}
			done += len(list.Labels)
		}
		if err = unlessRebuilt(err); err != nil {
			yield(ordinalLabels{}, err)
		}
	}
}

// totals returns those of each stream.
func (c *indexContent) totals() ([]streamTotal, error) {
	totals := make([]streamTotal, c.index.Info().Streams)
	err := c.eachRun(func(r segment2.Run) { totals[r.Ordinal].add(r.MinTime, r.MaxTime, int64(r.Rows), r.Raw) })
	return totals, err
}

func (c *indexContent) checkRuns() error { return exportError(c.eachRun(func(segment2.Run) {})) }

// eachRun calls f for each stream of each block.
func (c *indexContent) eachRun(f func(r segment2.Run)) error {
	zones, err := c.index.Zones(context.Background())
	if err = unlessRebuilt(err); err != nil {
		return err
	}
	for i := range zones {
		runs, err := c.index.Runs(context.Background(), i)
		if err = unlessRebuilt(err); err != nil {
			return err
		}
		for _, r := range runs {
			f(r)
		}
	}
	return nil
}

// unlessRebuilt returns an error, unless nothing is lost by it.
func unlessRebuilt(err error) (lost error) {
	failLost(err, func(err error) { lost = err })
	return lost
}

func (c *indexContent) blocks() iter.Seq2[BlockInfo, error] {
	return func(yield func(BlockInfo, error) bool) {
		zones, err := c.index.Zones(context.Background())
		for i := 0; unlessRebuilt(err) == nil && i < len(zones); i++ {
			var g *segment2.Group
			if g, err = c.index.Group(context.Background(), i); unlessRebuilt(err) != nil {
				break
			}
			for n := range g.Blocks {
				b := &g.Blocks[n]
				info := BlockInfo{
					File: c.file, Number: g.First + n, Offset: b.Offset, Bytes: b.Bytes, FilterOffset: b.FilterOffset, FilterBytes: int64(b.FilterBytes),
					MinTime: b.MinTime, MaxTime: b.MaxTime, Rows: int64(b.Rows), Raw: int64(b.Raw), Streams: int(b.Runs), Codec: Codec(b.Codec),
				}
				if !yield(info, nil) {
					return
				}
			}
		}
		if err = unlessRebuilt(err); err != nil {
			yield(BlockInfo{}, err)
		}
	}
}

// partsInUse keeps the parts of an index that each call needs.
type partsInUse struct {
	mu    sync.Mutex
	parts map[segment2.PartKey]segment2.CachedPart
}

func (c *partsInUse) Present(k segment2.PartKey) segment2.CachedPart {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.parts[k]
}

func (c *partsInUse) Load(ctx context.Context, k segment2.PartKey, load func(context.Context) (segment2.CachedPart, error)) (segment2.CachedPart, error) {
	if p := c.Present(k); p != nil {
		return p, nil
	}
	p, err := load(ctx)
	switch k.Kind {
	case segment2.DirectoryPart, segment2.PartTablePart, segment2.ZonesPart, segment2.ZonePlacesPart, segment2.DictionaryPart:
		if err == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.parts == nil {
				c.parts = map[segment2.PartKey]segment2.CachedPart{}
			}
			c.parts[k] = p
		}
	}
	return p, err
}

package catalog

import (
	"context"
	"iter"
	"time"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// HasKeys and HasSources report whether the segment remembers keys, or sources, of
// batches. Its card tells.
func (s Segment) HasKeys() bool    { return s.file.card != nil && s.file.card.HasKeys() }
func (s Segment) HasSources() bool { return s.file.card != nil && s.file.card.HasSources() }

// BatchKeys returns the keys of batches that the segment remembers. Damage, which is
// recorded as any, loses some; another error is the last.
func (s Segment) BatchKeys(ctx context.Context) iter.Seq2[segment2.BatchKey, error] {
	return batchesOf(ctx, s, func(src segment2.Source) iter.Seq2[segment2.BatchKey, error] { return s.file.card.BatchKeys(ctx, src) })
}

// BatchSources returns the sources that the segment remembers, as BatchKeys does.
func (s Segment) BatchSources(ctx context.Context) iter.Seq2[segment2.BatchSource, error] {
	return batchesOf(ctx, s, func(src segment2.Source) iter.Seq2[segment2.BatchSource, error] {
		return s.file.card.BatchSources(ctx, src)
	})
}

func batchesOf[T any](ctx context.Context, s Segment, read func(segment2.Source) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		if s.file.card == nil {
			return
		}
		h, err := s.catalog.files.acquire(ctx, s.file)
		if err != nil {
			yield(none, s.note(err))
			return
		}
		defer h.unref()
		for one, err := range read(h.src) {
			if !yield(one, s.note(err)) {
				return
			}
		}
	}
}

// keysSince returns when the oldest keys that are still of use have come, in seconds
// since the Unix epoch.
func (c *Catalog) keysSince() int64 {
	now := c.now()
	if !c.IsTimeKnown() {
		return 0
	}
	return (now - int64(c.o.KeyWindow)) / int64(time.Second)
}

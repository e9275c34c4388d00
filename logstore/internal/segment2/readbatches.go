package segment2

import (
	"context"
	"iter"
)

// HasKeys and HasSources report whether the segment has these sections.
func (c *Card) HasKeys() bool    { return c.section(TypeKeys) != nil }
func (c *Card) HasSources() bool { return c.section(TypeSources) != nil }

// BatchKeys returns the keys of batches that the segment remembers, read from src,
// part by part. An error that is damage loses a part; any other is the last.
func (c *Card) BatchKeys(ctx context.Context, src Source) iter.Seq2[BatchKey, error] {
	return c.index(src, nil).batchKeys(ctx)
}

// BatchSources returns the sources that the segment remembers, as BatchKeys does.
func (c *Card) BatchSources(ctx context.Context, src Source) iter.Seq2[BatchSource, error] {
	return c.index(src, nil).batchSources(ctx)
}

func (x *index2) batchKeys(ctx context.Context) iter.Seq2[BatchKey, error] {
	var list []BatchKey
	return batchesOf(ctx, x, TypeKeys, func(p []byte) (_ []BatchKey, err error) {
		list, err = parseBatchKeys(list, p)
		return list, err
	})
}

func (x *index2) batchSources(ctx context.Context) iter.Seq2[BatchSource, error] {
	return batchesOf(ctx, x, TypeSources, parseBatchSources)
}

// batchesOf returns the items of a section.
func batchesOf[T any](ctx context.Context, x *index2, kind Type, parse func([]byte) ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		s := x.card.section(kind)
		if s == nil {
			return
		}
		table, err := x.parts(ctx, s)
		if err != nil {
			yield(none, err)
			return
		}
		for _, p := range table {
			var list []T
			err := x.viewPart(ctx, p, sectionName(kind), func(raw []byte) (err error) {
				list, err = parse(raw)
				return err
			})
			if err != nil {
				if !yield(none, err) || !isCorrupt(err) {
					return
				}
				continue
			}
			for _, one := range list {
				if !yield(one, nil) {
					return
				}
			}
		}
	}
}

package catalog

import (
	"sync/atomic"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A cardBudget bounds the memory of cards. It takes it from the cache of parts; once
// the cards have a quarter of that, further ones are slim.
type cardBudget struct {
	parts *partCache
	limit int64
	bytes atomic.Int64
}

// fileBytes is about the memory of a file beside its card.
const fileBytes = 400

// take gives a file its card, or a slim one in its place, and counts it.
func (b *cardBudget) take(f *file, c *segment2.Card) {
	if b.bytes.Load()+c.Weight() > b.limit {
		c = c.Slim()
	}
	f.card = c
	b.add(c.Weight() + fileBytes)
}

// drop counts the card of a file no more: it is about to be removed.
func (b *cardBudget) drop(f *file) {
	if f.card != nil && !f.dropped.Swap(true) {
		b.add(-f.card.Weight() - fileBytes)
	}
}

func (b *cardBudget) add(bytes int64) {
	b.bytes.Add(bytes)
	b.parts.yield(bytes)
}

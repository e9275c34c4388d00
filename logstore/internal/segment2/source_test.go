package segment2

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stele-go/stele/logstore/internal/filter"
)

// A farSource is a segment that is read with a context.
type farSource struct{ memory }

func (s farSource) ReadRange(ctx context.Context, p []byte, off int64) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return s.ReadAt(p, off)
}

// An Index passes its context to a source that takes one.
func TestRangeReader(t *testing.T) {
	p := pack(t, someRows(rand.New(rand.NewPCG(5, 6)), 300, 4), Info{Upto: 9}, 700, 100).p
	src := farSource{memory{p: p}}
	ctx, cancel := context.WithCancel(t.Context())
	bound := within(ctx, src)
	cancel()
	if _, err := bound.ReadAt(make([]byte, 4), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("a read after the end of its context: %v", err)
	}
	c := must(OpenCard(src, int64(len(p))))
	x := c.Index(src, mapCache{})
	g := must(x.Group(t.Context(), 0))
	f := must(x.Filters(t.Context(), g))
	defer f.Release()
	if _, err := f.May(g, 0, filter.Word([]byte("absent"))); err != nil {
		t.Error(err)
	}
}

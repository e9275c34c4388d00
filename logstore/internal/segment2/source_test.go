package segment2

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stele-go/stele/logstore/internal/filter"
)

// A farSource is a segment that is read with a context.
type farSource struct {
	memory
	end func() // called when a read begins
}

func (s farSource) ReadRange(ctx context.Context, p []byte, off int64) (int, error) {
	if s.end != nil {
		s.end()
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return s.ReadAt(p, off)
}

// An Index passes its context to a source that takes one.
func TestRangeReader(t *testing.T) {
	p := pack(t, someRows(rand.New(rand.NewPCG(5, 6)), 300, 4), Info{Upto: 9}, 700, 100).p
	src := farSource{memory: memory{p: p}}
	c := must(OpenCard(src, int64(len(p))))
	x := c.Index(src, mapCache{})
	g := must(x.Group(t.Context(), 0))
	f := must(x.Filters(t.Context(), g))
	defer f.Release()
	if _, err := f.May(g, 0, filter.Word([]byte("absent"))); err != nil {
		t.Error(err)
	}
	ctx, end := context.WithCancel(t.Context())
	src.end = end // while a block is read
	x = c.Index(src, nil)
	if err := x.ReadFrame(ctx, new(Frame), g, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("a block whose context ended in the read: %v", err)
	}
}

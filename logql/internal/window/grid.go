package window

import (
	"context"
	"unsafe"

	"github.com/stele-go/stele/logql/internal/matrix"
	"github.com/stele-go/stele/logstore"
)

// A partial is what is known of the entries of a cell: *T for a cell of type T. The zero
// T is that of no entry.
type partial[T any] interface {
	*T
	// add adds n entries with a sum of values; where n matters only 1 is given.
	add(time int64, value float64, n int64)
	// merge adds entries, which come later in time than those of the receiver or, where
	// that is so in the same cell, were added later.
	merge(other *T)
	// value returns the function's value, and false for no entry.
	value(f *Function) (float64, bool)
}

const pageCells = 32

// A grid has a partial result for each cell, in pages that are made when the first
// entry comes: most series of a query over many have few entries.
type grid[T any, P partial[T]] struct {
	pages []*[pageCells]T
}

func newGrid[T any, P partial[T]](f *Function) *grid[T, P] {
	return &grid[T, P]{pages: make([]*[pageCells]T, f.pages())}
}

func (f *Function) pages() int { return (f.cells + pageCells - 1) / pageCells }

func (g *grid[T, P]) add(cell int, time int64, value float64, n int64, charge func(int64) error) error {
	c, err := g.cell(cell, charge)
	if err != nil {
		return err
	}
	c.add(time, value, n)
	return nil
}

// cell returns a cell to add to.
func (g *grid[T, P]) cell(cell int, charge func(int64) error) (P, error) {
	page := g.pages[cell/pageCells]
	if page == nil {
		page = new([pageCells]T)
		if err := tell(charge, int64(unsafe.Sizeof(*page))); err != nil {
			return nil, err
		}
		g.pages[cell/pageCells] = page
	}
	return &page[cell%pageCells], nil
}

// An endsGrid is a grid of the first or the last entries.
type endsGrid[T any, P interface {
	partial[T]
	addAt(at *logstore.Cursor, value float64)
}] struct{ grid[T, P] }

func newEndsGrid[T any, P interface {
	partial[T]
	addAt(at *logstore.Cursor, value float64)
}](f *Function) *endsGrid[T, P] {
	return &endsGrid[T, P]{*newGrid[T, P](f)}
}

func (g *endsGrid[T, P]) addAt(cell int, at *logstore.Cursor, value float64, charge func(int64) error) error {
	c, err := g.cell(cell, charge)
	if err != nil {
		return err
	}
	c.addAt(at, value)
	return nil
}

func (g *endsGrid[T, P]) merge(other store, charge func(int64) error) error {
	return g.grid.merge(&other.(*endsGrid[T, P]).grid, charge)
}

func (g *grid[T, P]) merge(other store, _ func(int64) error) error {
	for i, theirs := range other.(*grid[T, P]).pages {
		ours := g.pages[i]
		switch {
		case theirs == nil:
		case ours == nil:
			g.pages[i] = theirs // charged already
		default:
			for c := range ours {
				P(&ours[c]).merge(&theirs[c])
			}
		}
	}
	return nil
}

// at returns a cell, nil if it has no entry.
func (g *grid[T, P]) at(cell int) *T {
	if page := g.pages[cell/pageCells]; page != nil {
		return &page[cell%pageCells]
	}
	return nil
}

// result merges the cells of each window: cells are cut into blocks as long as a window,
// so a window is the end of one block and the begin of the next. Ends are merged
// backwards, once a block; begins grow from window to window.
//
// A few thousand cells take less time than it takes to notice that ctx is done.
func (g *grid[T, P]) result(_ context.Context, f *Function, s *matrix.Series) error {
	if f.width == 1 {
		for i := range f.steps {
			g.put(f, s, i, g.at(i*f.stride))
		}
		return nil
	}
	ends := make([]T, f.width) // ends[i] is block cells i to the last, of the block before next
	var begin, window T        // begin is the cells from next to before upto
	next, upto := 0, 0
	for i := range f.steps {
		first := i * f.stride
		if first >= next {
			block := first / f.width * f.width
			g.fillEnds(ends, block)
			next = block + f.width
			begin, upto = *new(T), next
		}
		for ; upto < first+f.width; upto++ {
			if c := g.at(upto); c != nil {
				P(&begin).merge(c)
			}
		}
		window = ends[first-(next-f.width)]
		P(&window).merge(&begin)
		g.put(f, s, i, &window)
	}
	return nil
}

func (g *grid[T, P]) fillEnds(ends []T, block int) {
	var sum, before T
	for i := len(ends) - 1; i >= 0; i-- {
		if block+i < len(g.pages)*pageCells {
			if c := g.at(block + i); c != nil {
				before = *c
				P(&before).merge(&sum)
				sum = before
			}
		}
		ends[i] = sum
	}
}

func (g *grid[T, P]) put(f *Function, s *matrix.Series, step int, c *T) {
	if c == nil {
		return
	}
	if v, ok := P(c).value(f); ok {
		s.Set(step, v)
	}
}

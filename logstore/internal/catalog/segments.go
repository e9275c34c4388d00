package catalog

import (
	"context"
	"errors"
	"iter"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/segment2"
	"github.com/stele-go/stele/logstore/internal/template"
)

// A Segment is a segment of a snapshot. It answers what a query asks, from the
// cache where that has it, and opens the file for as long as each call. It is
// valid until the snapshot is released.
//
// Damage is recorded, and Maintain salvages the intact blocks. An error of the
// disk is returned and counted, and the segment stays as it is: the next read may
// succeed, and a copy could not be made.
type Segment struct {
	catalog *Catalog
	file    *file
	ordered *orderedIndex // or nil
}

// An orderedIndex is the index of a segment that a caller asks in order.
type orderedIndex struct {
	segment2.Index
	handle *handle // open until the caller stops
}

var _ segment2.Index = Segment{}

// Segments ranges over the segments, by position.
func (n *Snapshot) Segments() iter.Seq[Segment] {
	return func(yield func(Segment) bool) {
		for _, f := range n.v.order {
			if !yield(Segment{catalog: n.catalog, file: f}) {
				return
			}
		}
	}
}

// Segment returns the segment with an id. ok is false if it is not in the
// snapshot.
func (n *Snapshot) Segment(id uint64) (s Segment, ok bool) {
	f := n.v.file(id)
	return Segment{catalog: n.catalog, file: f}, f != nil
}

// ID identifies the segment in this process.
func (s Segment) ID() uint64 { return s.file.id }

// Rank orders segments by their positions in the log: it is Info().After.
func (s Segment) Rank() uint64 { return s.file.positions.after }

// Path returns the path of the file.
func (s Segment) Path() string { return s.catalog.path(s.file) }

// Cache returns the cache of parts of the segment, for others than its index's.
func (s Segment) Cache() segment2.Cache { return s.file.parts }

// Info returns what the segment's footer says; nothing is read.
func (s Segment) Info() segment2.Info { return s.file.info }

// open returns the index of the open file. The caller calls unref.
func (s Segment) open(ctx context.Context) (segment2.Index, *handle, error) {
	if o := s.ordered; o != nil && o.handle.tryRef() {
		return o.Index, o.handle, nil
	}
	h, err := s.catalog.files.acquire(ctx, s.file)
	if err != nil {
		return nil, nil, s.note(err)
	}
	return h.index, h, nil
}

// note records what an error says about the file.
func (s Segment) note(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return s.catalog.noteError(s.file, err)
}

// ask calls f with the index of the open file.
func ask[T any](ctx context.Context, s Segment, f func(segment2.Index) (T, error)) (T, error) {
	x, h, err := s.open(ctx)
	if err != nil {
		var none T
		return none, err
	}
	defer h.unref()
	result, err := f(x)
	return result, s.note(err)
}

// MaySelect asks the card of the segment, without opening the file. Segments of
// version 1 have streams of the tenant "" only.
func (s Segment) MaySelect(tenant string, conditions []segment2.Condition) bool {
	if s.file.card == nil {
		return tenant == ""
	}
	return s.file.card.MaySelect(tenant, conditions)
}

func (s Segment) Zones(ctx context.Context) ([]segment2.Zone, error) {
	k := segment2.PartKey{Kind: segment2.ZonesPart}
	if l, ok := segment2.Present[segment2.ZoneList](s.Cache(), k); ok {
		return l, nil
	}
	return ask(ctx, s, func(x segment2.Index) ([]segment2.Zone, error) { return x.Zones(ctx) })
}

func (s Segment) Group(ctx context.Context, group int) (*segment2.Group, error) {
	k := segment2.PartKey{Kind: segment2.GroupPart, Number: uint32(group)}
	if g, ok := segment2.Present[*segment2.Group](s.Cache(), k); ok {
		return g, nil
	}
	return ask(ctx, s, func(x segment2.Index) (*segment2.Group, error) { return x.Group(ctx, group) })
}

func (s Segment) Runs(ctx context.Context, group int) (segment2.Runs, error) {
	k := segment2.PartKey{Kind: segment2.RunsPart, Number: uint32(group)}
	if r, ok := segment2.Present[segment2.Runs](s.Cache(), k); ok {
		return r, nil
	}
	return ask(ctx, s, func(x segment2.Index) (segment2.Runs, error) { return x.Runs(ctx, group) })
}

func (s Segment) Select(ctx context.Context, tenant string, conditions []segment2.Condition) (*roaring.Bitmap, error) {
	return ask(ctx, s, func(x segment2.Index) (*roaring.Bitmap, error) { return x.Select(ctx, tenant, conditions) })
}

func (s Segment) Names(ctx context.Context, tenant string) (names []string, ok bool, err error) {
	x, h, err := s.open(ctx)
	if err != nil {
		return nil, false, err
	}
	defer h.unref()
	names, ok, err = x.Names(ctx, tenant)
	return names, ok, s.note(err)
}

func (s Segment) Values(ctx context.Context, tenant, name string) (values []string, ok bool, err error) {
	x, h, err := s.open(ctx)
	if err != nil {
		return nil, false, err
	}
	defer h.unref()
	values, ok, err = x.Values(ctx, tenant, name)
	return values, ok, s.note(err)
}

func (s Segment) Tenants(ctx context.Context) ([]segment2.TenantTotals, error) {
	return ask(ctx, s, func(x segment2.Index) ([]segment2.TenantTotals, error) { return x.Tenants(ctx) })
}

func (s Segment) Find(ctx context.Context, tenant, labels string) (ordinal uint32, ok bool, err error) {
	x, h, err := s.open(ctx)
	if err != nil {
		return 0, false, err
	}
	defer h.unref()
	ordinal, ok, err = x.Find(ctx, tenant, labels)
	return ordinal, ok, s.note(err)
}

func (s Segment) Streams(ctx context.Context, part int) (*segment2.Part, error) {
	k := segment2.PartKey{Kind: segment2.StreamsPart, Number: uint32(part)}
	if p, ok := segment2.Present[*segment2.Part](s.Cache(), k); ok {
		return p, nil
	}
	return ask(ctx, s, func(x segment2.Index) (*segment2.Part, error) { return x.Streams(ctx, part) })
}

func (s Segment) ChunkOf(ctx context.Context, ordinal uint32) (int, error) {
	return ask(ctx, s, func(x segment2.Index) (int, error) { return x.ChunkOf(ctx, ordinal) })
}

func (s Segment) Content(ctx context.Context, ordinal uint32) (segment2.Content, error) {
	return ask(ctx, s, func(x segment2.Index) (segment2.Content, error) { return x.Content(ctx, ordinal) })
}

func (s Segment) Labels(ctx context.Context, chunk int) (*segment2.Chunk, error) {
	k := segment2.PartKey{Kind: segment2.LabelsPart, Number: uint32(chunk)}
	if c, ok := segment2.Present[*segment2.Chunk](s.Cache(), k); ok {
		return c, nil
	}
	return ask(ctx, s, func(x segment2.Index) (*segment2.Chunk, error) { return x.Labels(ctx, chunk) })
}

// InOrder keeps the file open until stop is called. If the file cannot be opened it
// returns the segment itself, whose methods tell the error.
func (s Segment) InOrder(ctx context.Context, streams *roaring.Bitmap, low, high uint32) (segment2.Index, func()) {
	return s.Ordered(ctx, streams, low, high)
}

// Ordered is InOrder, as a Segment.
func (s Segment) Ordered(ctx context.Context, streams *roaring.Bitmap, low, high uint32) (Segment, func()) {
	x, h, err := s.open(ctx)
	if err != nil {
		return s, nil
	}
	x, stop := x.InOrder(ctx, streams, low, high)
	if stop == nil {
		h.unref()
		return s, nil
	}
	s.ordered = &orderedIndex{x, h}
	return s, func() {
		stop()
		h.unref()
	}
}

func (s Segment) Filters(ctx context.Context, groups ...*segment2.Group) (segment2.Filters, error) {
	x, h, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	f, err := x.Filters(ctx, groups...)
	if err != nil {
		h.unref()
		return nil, s.note(err)
	}
	return &openFilters{f, s, h}, nil
}

// openFilters keep the file open until Release.
type openFilters struct {
	segment2.Filters
	segment Segment
	handle  *handle
}

func (f *openFilters) May(g *segment2.Group, block int, needles ...filter.Needle) (bool, error) {
	may, err := f.Filters.May(g, block, needles...)
	return may, f.segment.note(err)
}

func (f *openFilters) Release() {
	f.Filters.Release()
	f.handle.unref()
}

func (s Segment) ReadFrame(ctx context.Context, f *segment2.Frame, g *segment2.Group, block int) error {
	x, h, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer h.unref()
	return s.note(x.ReadFrame(ctx, f, g, block))
}

// ReadStart is that of an index of version 2; ok is false for another one.
func (s Segment) ReadStart(ctx context.Context, f *segment2.Frame, g *segment2.Group, block, n int) (ok bool, err error) {
	x, h, err := s.open(ctx)
	if err != nil {
		return true, err
	}
	defer h.unref()
	starts, ok := x.(interface {
		ReadStart(ctx context.Context, f *segment2.Frame, g *segment2.Group, block, n int) error
	})
	if !ok {
		return false, nil
	}
	return true, s.note(starts.ReadStart(ctx, f, g, block, n))
}

func (s Segment) Dictionary(ctx context.Context, number uint16) (*template.Dictionary, error) {
	if number == 0 {
		return nil, ctx.Err()
	}
	k := segment2.PartKey{Kind: segment2.DictionaryPart, Number: uint32(number)}
	if d, ok := segment2.Present[*template.Dictionary](s.Cache(), k); ok {
		return d, nil
	}
	return ask(ctx, s, func(x segment2.Index) (*template.Dictionary, error) { return x.Dictionary(ctx, number) })
}

func (s Segment) Tables(ctx context.Context, group int) (*segment2.Tables, error) {
	k := segment2.PartKey{Kind: segment2.TablesPart, Number: uint32(group)}
	if t, ok := segment2.Present[*segment2.Tables](s.Cache(), k); ok {
		return t, nil
	}
	return ask(ctx, s, func(x segment2.Index) (*segment2.Tables, error) { return x.Tables(ctx, group) })
}

func (s Segment) IDs(ctx context.Context, dst []segment2.ID, f *segment2.Frame) ([]segment2.ID, error) {
	return ask(ctx, s, func(x segment2.Index) ([]segment2.ID, error) { return x.IDs(ctx, dst, f) })
}

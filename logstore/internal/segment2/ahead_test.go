package segment2

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/RoaringBitmap/roaring/v2"
)

// farLabels is a segment with one row of each of 30,000 streams, whose label frames are
// several ranges of minRange.
func farLabels(t testing.TB) *packed {
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([]row, 30_000)
	for i := range rows {
		rows[i] = row{streamKey: streamKey{"", labelsOf("pod", fmt.Sprintf("%012x-%d", r.Uint64()>>16, i%10))}, time: int64(i), id: ID{uint64(i), 0}}
	}
	return pack(t, rows, Info{Upto: uint64(len(rows))}, 160<<10, 1)
}

// An aheadSource is far away. It counts the reads, and those under way.
type aheadSource struct {
	memory
	begin   func(ctx context.Context, n int, off int64) error // or nil
	all     atomic.Int64
	current atomic.Int64
}

func (s *aheadSource) ReadRange(ctx context.Context, p []byte, off int64) (int, error) {
	s.all.Add(1)
	s.current.Add(1)
	defer s.current.Add(-1)
	if s.begin != nil {
		if err := s.begin(ctx, len(p), off); err != nil {
			return 0, err
		}
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return s.ReadAt(p, off)
}

// A lendingCache lends memory.
type lendingCache struct {
	lockedCache
	bound      int64
	lent, most atomic.Int64
}

func (c *lendingCache) Lendable() int64 { return c.bound - c.lent.Load() }

func (c *lendingCache) Lend(n int64) bool {
	if n > 0 && c.lent.Load()+n > c.bound {
		return false
	}
	c.most.Store(max(c.most.Load(), c.lent.Add(n)))
	return true
}

func openAhead(t testing.TB, p []byte, bound int64) (*index2, *aheadSource, *lendingCache) {
	t.Helper()
	src := &aheadSource{memory: memory{p: p}}
	cache := &lendingCache{lockedCache: lockedCache{parts: mapCache{}}, bound: bound}
	x := must(OpenCard(src, int64(len(p)))).index(src, cache)
	src.all.Store(0)
	return x, src, cache
}

// sevens selects a tenth of the streams, by all labels.
var sevens = []Condition{{Name: "pod", Match: func(v string) bool { return strings.HasSuffix(v, "-7") }}}

func (k *packed) sevens() *roaring.Bitmap {
	set := roaring.New()
	for i, s := range k.streams {
		if strings.HasSuffix(s.labels, "-7") {
			set.Add(uint32(i))
		}
	}
	return set
}

// The next range of label frames is in flight before the one before it is there, and
// what is read ahead keeps to the memory that the cache lends.
func TestSelectReadsAhead(t *testing.T) {
	k := farLabels(t)
	synctest.Test(t, func(t *testing.T) { // which fails where a read waits for ever
		const most = 2 * minRange
		x, src, cache := openAhead(t, k.p, readAheadShare*most)
		d := must(x.directory(t.Context()))
		frames := d[len(d)-1].off + d[len(d)-1].bytes()
		second := make(chan struct{})
		var ranges atomic.Int64
		src.begin = func(_ context.Context, _ int, off int64) error {
			if off >= frames {
				return nil
			}
			if off == headerSize {
				<-second
			} else if ranges.Add(1) == 1 {
				close(second)
			}
			return nil
		}
		set, err := x.Select(t.Context(), "", sevens)
		if err != nil || !set.Equals(k.sevens()) {
			t.Errorf("%v, %v", set, err)
		}
		if n := frames/most + 6; src.all.Load() > n {
			t.Errorf("%d reads; want at most %d, for %d bytes of label frames", src.all.Load(), n, frames)
		}
		if lent := cache.lent.Load(); lent != 0 || cache.most.Load() > readAheadShare*most {
			t.Errorf("%d bytes are lent, %d were at most; want 0 and %d", lent, cache.most.Load(), readAheadShare*most)
		}
	})
}

// A damaged frame is rebuilt, two of a parity group lose their own streams only, and
// where a range cannot be read its parts are read alone.
func TestDamageAhead(t *testing.T) {
	k := farLabels(t)
	x, _, _ := openAhead(t, k.p, 1<<20)
	d := must(x.directory(t.Context()))
	other := 1 + parityGroups(len(d))
	one := slices.Clone(k.p)
	one[d[1].off+d[1].bytes()-1] ^= 1
	two := slices.Clone(one)
	two[d[other].off+labelHeaderSize] ^= 1
	for _, c := range []struct {
		name   string
		p      []byte
		fails  bool // reads of more than a frame fail
		lost   []int
		damage bool
	}{{"a range that fails", k.p, true, nil, false}, {"one frame", one, false, nil, true}, {"two frames", two, false, []int{1, other}, true}} {
		x, src, cache := openAhead(t, c.p, 1<<20)
		if c.fails {
			src.begin = func(_ context.Context, n int, off int64) error {
				if off < d[len(d)-1].off && n > int(d[0].bytes())*2 {
					return errors.New("the range fails")
				}
				return nil
			}
		}
		want := k.sevens()
		for _, chunk := range c.lost {
			want.RemoveRange(uint64(d[chunk].first), uint64(d[chunk].first+d[chunk].streams))
		}
		set, err := x.Select(t.Context(), "", sevens)
		bad, damaged := errors.AsType[*CorruptError](err)
		if !set.Equals(want) || (err != nil) != c.damage || damaged && bad.Rebuilt != (c.lost == nil) {
			t.Errorf("%s: %d streams, %v; want %d", c.name, set.GetCardinality(), err, want.GetCardinality())
		}
		if cache.lent.Load() != 0 {
			t.Errorf("%s: %d bytes are still lent", c.name, cache.lent.Load())
		}
	}
}

// A Select whose context ends leaves no read behind, and no memory.
func TestAheadEnds(t *testing.T) {
	k := farLabels(t)
	x, src, cache := openAhead(t, k.p, readAheadShare*minRange)
	must(x.directory(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	var begun atomic.Int64
	src.begin = func(ctx context.Context, _ int, off int64) error {
		if off < 128<<10 { // label frames
			if begun.Add(1) == 2 {
				cancel()
			}
			<-ctx.Done()
		}
		return ctx.Err()
	}
	if set, err := x.Select(ctx, "", sevens); !errors.Is(err, context.Canceled) || !set.IsEmpty() {
		t.Errorf("%v, %v; want an error", set, err)
	}
	if src.current.Load() != 0 || cache.lent.Load() != 0 || begun.Load() < 2 {
		t.Errorf("%d reads under way, of %d, %d bytes lent", src.current.Load(), begun.Load(), cache.lent.Load())
	}
}

// What InOrder returns answers as the index, in few reads, of some streams too, and out
// of order.
func TestInOrder(t *testing.T) {
	k := farLabels(t)
	near := k.open(t, true)
	if x, stop := near.InOrder(t.Context(), nil, 0, 1); x != near || stop != nil {
		t.Error("a near segment is read ahead")
	}
	few := roaring.BitmapOf(5, 600, 601, 29_000)
	for _, c := range []struct {
		name    string
		streams *roaring.Bitmap
		reads   int64
	}{{"all", nil, 3}, {"few", few, 4}, {"sevens", k.sevens(), 3}} {
		far, src, cache := openAhead(t, k.p, 4<<20)
		x, stop := far.InOrder(t.Context(), c.streams, 0, uint32(len(k.streams)-1))
		check := func(ordinal uint32) {
			t.Helper()
			content, err := x.Content(t.Context(), ordinal)
			if err != nil || content != must(near.Content(t.Context(), ordinal)) {
				t.Fatalf("%s: the content of %d: %+v, %v", c.name, ordinal, content, err)
			}
			chunk := must(x.Labels(t.Context(), must(x.ChunkOf(t.Context(), ordinal))))
			if got := chunk.Of(ordinal); got != k.streams[ordinal].labels {
				t.Fatalf("%s: stream %d is %q; want %q", c.name, ordinal, got, k.streams[ordinal].labels)
			}
			p := must(x.Streams(t.Context(), int(ordinal/PartStreams)))
			if want := must(near.Streams(t.Context(), int(ordinal/PartStreams))); !slices.Equal(p.Streams, want.Streams) || p.First != want.First {
				t.Fatalf("%s: other totals of part %d", c.name, ordinal/PartStreams)
			}
		}
		for chunk := uint32(0); chunk < uint32(len(k.streams)); chunk += PartStreams {
			if c.streams == nil {
				check(chunk)
			} else if next := c.streams.NextValue(chunk); next >= 0 && next < int64(chunk+PartStreams) {
				check(uint32(next))
			}
		}
		if n := src.all.Load(); n > c.reads {
			t.Errorf("%s: %d reads; want at most %d", c.name, n, c.reads)
		}
		check(3)      // known
		check(15_000) // perhaps not
		stop()
		if cache.lent.Load() != 0 {
			t.Errorf("%s: %d bytes are still lent", c.name, cache.lent.Load())
		}
	}
}

package segment2

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/stele-go/stele/logstore/internal/filter"
)

// packs are segments of all shapes.
func packs(t *testing.T) map[string]*packed {
	r := rand.New(rand.NewPCG(5, 6))
	info := Info{After: 3, Upto: 9_000_000, Generation: 2, Created: 77, Log: [16]byte{1, 2}, Term: 5, TermBefore: 4, Applied: 6}
	many := make([]row, 20_000) // of many streams: runs bound the groups, and chunks have parity groups
	for i := range many {
		many[i] = row{streamKey: streamKey{"", labelsOf("app", fmt.Sprint(i%7), "pod", fmt.Sprintf("%x", r.Uint64()))}, time: r.Int64N(1000), line: "x"}
	}
	return map[string]*packed{
		"small groups": pack(t, someRows(r, 3000, 40), info, 128, 6), // blocks bound the groups
		"large blocks": pack(t, someRows(r, 3000, 400), info, 20_000, 600),
		"many streams": pack(t, many, info, 2000, 1),
		"one row":      pack(t, someRows(r, 1, 1), info, 1, 1),
		"empty":        pack(t, nil, info, 1, 1),
	}
}

func TestIndex2(t *testing.T) {
	for name, k := range packs(t) {
		t.Run(name, func(t *testing.T) {
			for _, view := range []bool{false, true} {
				k.check(t, k.open(t, view))
			}
			c := mapCache{}
			for range 2 { // the second time from the cache
				k.check(t, must(openBytes(k.p, false, c)))
			}
			x := k.open(t, true)
			if err := x.card.Verify(t.Context(), x.src, nil); err != nil {
				t.Error(err)
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := x.Zones(ended); !errors.Is(err, context.Canceled) {
				t.Errorf("Zones with a context that is done: %v", err)
			}
		})
	}
}

// check compares all answers of an index with what was written.
func (k *packed) check(t *testing.T, x Index) {
	t.Helper()
	i := x.Info()
	if want := k.info; i != want || i.Streams != len(k.streams) || i.Blocks != len(k.blocks) || i.Size != int64(len(k.p)) {
		t.Fatalf("info %+v, want %+v", i, want)
	}
	k.checkStreams(t, x)
	k.checkGroups(t, x)
	k.checkNames(t, x, false)
}

// checkNames compares the names and the values that the index has by itself.
// With told it must have all of them, unless there are several tenants.
func (k *packed) checkNames(t *testing.T, x Index, told bool) {
	t.Helper()
	byTenant := map[string]map[string][]string{"green": nil}
	for _, s := range k.streams {
		if byTenant[s.tenant] == nil {
			byTenant[s.tenant] = map[string][]string{"absent": nil}
		}
		for name, value := range allLabels(s.labels) {
			byTenant[s.tenant][name] = append(byTenant[s.tenant][name], value)
		}
	}
	for tenant, byName := range byTenant {
		must := told && len(byTenant) == 2 || byName == nil
		var names []string
		for name, values := range byName {
			slices.Sort(values)
			values = slices.Compact(values)
			if values != nil {
				names = append(names, name)
			}
			got, ok, err := x.Values(t.Context(), tenant, name)
			if err != nil || ok && !slices.Equal(got, values) || !ok && (must || got != nil) {
				t.Errorf("values of %q of tenant %q: %q, %t, %v; want %q", name, tenant, got, ok, err, values)
			}
		}
		slices.Sort(names)
		got, ok, err := x.Names(t.Context(), tenant)
		if err != nil || ok && !slices.Equal(got, names) || !ok && (must || got != nil) {
			t.Errorf("names of tenant %q: %q, %t, %v; want %q", tenant, got, ok, err, names)
		}
	}
}

// Names and values come from the summary, from postings, or not at all.
func TestNames2(t *testing.T) {
	for what, c := range map[string]struct {
		pods, level int
		told        bool
	}{
		"summary":         {3, 3, true},
		"postings":        {500, 900, true},
		"too many values": {3, maxPostingValues + 1, false},
	} {
		t.Run(what, func(t *testing.T) {
			var rows []row
			for i := range 4000 {
				labels := labelsOf("app", "a", "level", fmt.Sprint(i%c.level), "pod", fmt.Sprint(i%c.pods))
				rows = append(rows, row{streamKey: streamKey{"", labels}, time: int64(i), id: ID{uint64(i), 0}})
			}
			k := pack(t, rows, Info{Upto: 9000}, 500, 100)
			k.checkNames(t, k.open(t, true), c.told)
			_, ok, err := k.open(t, false).Values(t.Context(), "", "pod")
			if !ok || err != nil {
				t.Errorf("values of pod: %t, %v", ok, err)
			}
		})
	}
}

func (k *packed) checkStreams(t *testing.T, x Index) {
	t.Helper()
	ctx := t.Context()
	totals := make([]streamTotal, len(k.streams))
	for _, r := range k.runs {
		totals[r.Ordinal].add(r)
	}
	step := 1
	if len(k.streams) > 1000 {
		step = 97
	}
	for i := 0; i < len(k.streams); i += step {
		n, key := uint32(i), k.streams[i]
		part, err := x.Streams(ctx, i/PartStreams)
		if err != nil {
			t.Fatal(err)
		}
		if s := part.Streams[n-part.First]; totals[i].stored() != s || (s.Rows == 0) != (totals[i].runs == 1) {
			t.Fatalf("stream %d: totals %+v, want %+v", i, s, totals[i])
		}
		chunk, err := x.ChunkOf(ctx, n)
		if err != nil {
			t.Fatal(err)
		}
		c, err := x.Labels(ctx, chunk)
		if err != nil || c.Of(n) != key.labels {
			t.Fatalf("stream %d: labels %q, %v; want %q", i, c.Of(n), err, key.labels)
		}
		if got, ok, err := x.Find(ctx, key.tenant, key.labels); got != n || !ok || err != nil {
			t.Fatalf("Find(%q) = %d, %v, %v; want %d", key, got, ok, err, i)
		}
		for _, other := range []streamKey{{"green", key.labels}, {key.tenant, key.labels + labelsOf("z", "1")}, {key.tenant, labelsOf("a", fmt.Sprint(i))}} {
			if _, ok, err := x.Find(ctx, other.tenant, other.labels); ok || err != nil {
				t.Fatalf("Find(%q), which is not there: %v, %v", other, ok, err)
			}
		}
	}
}

func (k *packed) checkGroups(t *testing.T, x Index) {
	t.Helper()
	ctx := t.Context()
	zones, err := x.Zones(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var f Frame
	next := 0
	for i, z := range zones {
		g, err := x.Group(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		runs, err := x.Runs(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		filters, err := x.Filters(ctx, g)
		if err != nil {
			t.Fatal(err)
		}
		if z.First != next || g.First != next || g.Number != i || z.Blocks == 0 || z.Blocks > GroupBlocks || z.Runs > GroupRuns && z.Blocks > 1 || len(runs) != z.Runs {
			t.Fatalf("zone %d: %+v; want block %d", i, z, next)
		}
		has := Zone{First: z.First, Low: math.MaxUint32, MinTime: math.MaxInt64, MaxTime: math.MinInt64}
		for n := g.First; n < g.First+len(g.Blocks); n++ {
			if want := k.runs.Of(n); !slices.Equal(runs.Of(n), want) {
				t.Fatalf("block %d: runs %+v, want %+v", n, runs.Of(n), want)
			}
			k.checkBlock(t, x, g, n, &f, filters)
			b := g.Block(n)
			has.Blocks++
			has.Rows, has.Raw, has.Runs = has.Rows+int64(b.Rows), has.Raw+int64(b.Raw), has.Runs+int(b.Runs)
			has.Low, has.High = min(has.Low, b.Low), max(has.High, b.High)
			has.MinTime, has.MaxTime = min(has.MinTime, b.MinTime), max(has.MaxTime, b.MaxTime)
		}
		filters.Release()
		if has != z {
			t.Fatalf("zone %d: %+v, want %+v", i, z, has)
		}
		next += z.Blocks
	}
	if next != len(k.blocks) {
		t.Fatalf("%d blocks, want %d", next, len(k.blocks))
	}
}

func (k *packed) checkBlock(t *testing.T, x Index, g *Group, n int, f *Frame, filters Filters) {
	t.Helper()
	ctx, want, b := t.Context(), k.blocks[n], g.Block(n)
	if err := x.ReadFrame(ctx, f, g, n); err != nil {
		t.Fatal(err)
	}
	ids, err := x.IDs(ctx, nil, f)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := decodeRows(t.Context(), x, f, ids, func(ordinal uint32) (streamKey, error) { return k.streams[ordinal], nil })
	if err != nil || !slices.Equal(rows, want.rows) || f.Number != n || f.Codec != want.codec {
		t.Fatalf("block %d: other rows; %v", n, err)
	}
	for i, r := range k.runs.Of(n) {
		if f.Runs[i] != (FrameRun{r.Ordinal, r.First, r.Rows, r.Seq}) {
			t.Fatalf("block %d: run %+v, want %+v", n, f.Runs[i], r)
		}
		if b.MinTime > r.MinTime || b.MaxTime < r.MaxTime || b.Low > r.Ordinal || b.High < r.Ordinal {
			t.Fatalf("block %d: %+v does not have the run %+v", n, b, r)
		}
	}
	for _, e := range want.rows {
		if may, err := filters.May(g, n, wordOf(e)); !may || err != nil {
			t.Fatalf("block %d: May of %q: %v, %v", n, e.line, may, err)
		}
	}
	for i := range 20 {
		word := filter.Word(fmt.Appendf(nil, "absent%d", i))
		got, err := filters.May(g, n, word)
		if may := filter.May(want.filter, word); got != may || err != nil {
			t.Fatalf("block %d: May of a word that is not there: %v, %v; want %v", n, got, err, may)
		}
	}
}

// TestSelect2 compares Select with a search of all labels.
func TestSelect2(t *testing.T) {
	for name, k := range map[string]*packed{
		"all names have postings": selectPack(t, 40),
		"some names have none":    selectPack(t, maxPostingValues+500),
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			x := must(openBytes(k.p, true, mapCache{}))
			uncached := k.open(t, false)
			for i := range 400 {
				tenant := []string{"", "", "blue", "green"}[r.IntN(4)]
				conditions := someConditions(r)
				want := k.selects(tenant, conditions)
				index := Index(x)
				if i%20 == 0 {
					index = uncached
				}
				got, err := index.Select(t.Context(), tenant, conditions)
				if err != nil {
					t.Fatal(err)
				}
				if got == nil && int(want.GetCardinality()) != len(k.streams) || got != nil && !got.Equals(want) {
					t.Fatalf("Select(%q, %+v) = %v, want %v", tenant, conditions, got, want)
				}
				if !index.MaySelect(tenant, conditions) && !want.IsEmpty() {
					t.Fatalf("MaySelect(%q, %+v) is false, and %v are selected", tenant, conditions, want)
				}
			}
			for _, c := range [][]Condition{{{Name: "app", Values: []string{"absent"}}}, {{Name: "absent", Not: true, Values: []string{""}}}} {
				if x.MaySelect("", c) {
					t.Errorf("MaySelect of %+v, which no stream meets", c)
				}
			}
			if x.MaySelect("green", nil) {
				t.Error("MaySelect of a tenant that is not there")
			}
		})
	}
}

// selectPack has streams of two tenants, and pods that many.
func selectPack(t *testing.T, pods int) *packed {
	r := rand.New(rand.NewPCG(3, 4))
	var rows []row
	for i := range 3000 {
		var pairs []string
		for _, name := range []string{"app", "level", "pod"} {
			if r.IntN(3) > 0 {
				pairs = append(pairs, name, fmt.Sprint(r.IntN(map[string]int{"app": 3, "level": 40, "pod": pods}[name])))
			}
		}
		rows = append(rows, row{streamKey: streamKey{[]string{"", "", "blue"}[i%3], labelsOf(pairs...)}, time: int64(i), id: ID{uint64(i), 0}})
	}
	return pack(t, rows, Info{Upto: 9000}, 500, 100)
}

func someConditions(r *rand.Rand) (list []Condition) {
	for range r.IntN(4) {
		value, not := fmt.Sprint(r.IntN(60)), r.IntN(2) == 0
		c := Condition{Name: []string{"app", "level", "pod", "zone"}[r.IntN(4)], Not: not}
		switch r.IntN(5) {
		case 0:
			c.Values = []string{""}
		case 1:
			c.Values = []string{value}
		case 2:
			c.Values = []string{value, fmt.Sprint(r.IntN(60)), "", "x"}[:1+r.IntN(4)]
		case 3:
			c.Match, c.Key = func(v string) bool { return v != "" && v[len(v)-1] == value[0] }, "last "+value[:1]
		default:
			c.Match, c.Key = func(v string) bool { return v == "" || v[0] == value[0] }, "none, or first "+value[:1]
		}
		list = append(list, c)
	}
	return list
}

// selects is Select by a look at all streams.
func (k *packed) selects(tenant string, conditions []Condition) *roaring.Bitmap {
	set := roaring.New()
streams:
	for i, key := range k.streams {
		if key.tenant != tenant {
			continue
		}
		values := map[string]string{}
		for name, value := range allLabels(key.labels) {
			values[name] = value
		}
		for _, c := range conditions {
			if !c.Meets(values[c.Name]) {
				continue streams
			}
		}
		set.Add(uint32(i))
	}
	return set
}

// largeFilters is a segment with 14 MB of filters, and little else.
func largeFilters(t *testing.T) *packed {
	r := rand.New(rand.NewPCG(7, 8))
	var b filter.Builder
	for range 4000 {
		b.Add(fmt.Appendf(nil, "%x", r.Uint64()))
	}
	k, large, by := &packed{}, b.Append(nil), packer{}
	blocks := 14 << 20 / len(large)
	for i := range 400 {
		k.streams = append(k.streams, streamKey{"", labelsOf("s", fmt.Sprintf("%03d", i))})
	}
	for i := range blocks {
		ordinal, seq := uint32(i*400/blocks), uint64(0)
		e := row{streamKey: k.streams[ordinal], time: int64(i), line: "x", id: ID{1, uint32(i)}}
		k.blocks = append(k.blocks, packedBlock{rows: []row{e}})
		k.blocks[i].encode(t, &by, i%2 == 0)
		k.blocks[i].filter = large
		if n := len(k.runs); n > 0 && k.runs[n-1].Ordinal == ordinal {
			seq = k.runs[n-1].Seq + 1
		}
		k.runs = append(k.runs, Run{Ordinal: ordinal, Block: uint32(i), Rows: 1, Seq: seq, MinTime: e.time, MaxTime: e.time, Raw: 1})
	}
	k.write(t, Info{Upto: 9})
	return k
}

// A segment is opened by one read, and a word in it takes four at most, of
// MaxRead at most, though it has 14 MB of filters. A block is one read.
func TestReads2(t *testing.T) {
	k := largeFilters(t)
	var reads []int
	src := memory{k.p, &reads}
	c, err := OpenCard(src, int64(len(k.p)))
	if err != nil || len(reads) != 1 || reads[0] > tailSize {
		t.Fatalf("OpenCard read %v: %v", reads, err)
	}
	if w := c.Weight(); w > 12<<10 {
		t.Errorf("the card has %d bytes", w)
	}
	x, ctx := c.Index(src, mapCache{}), t.Context()
	var groups []*Group
	for i := range must(x.Zones(ctx)) {
		groups = append(groups, must(x.Group(ctx, i)))
	}
	for _, g := range groups { // as a query does
		filters, err := x.Filters(ctx, g)
		if err != nil {
			t.Fatal(err)
		}
		defer filters.Release()
		for n := range g.Blocks {
			if _, err := filters.May(g, g.First+n, filter.Word([]byte("absent"))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(reads) > 4 || slices.Max(reads) > MaxRead {
		t.Errorf("%d blocks in %d groups: reads of %v bytes; want at most 4 of %d", len(k.blocks), len(groups), reads, MaxRead)
	}
	reads = nil
	var f Frame
	if err := x.ReadFrame(ctx, &f, groups[0], 0); err != nil || len(reads) != 1 {
		t.Errorf("ReadFrame read %v: %v", reads, err)
	}
}

func TestAllocations2(t *testing.T) {
	k := pack(t, someRows(rand.New(rand.NewPCG(5, 6)), 300, 4), Info{Upto: 9}, 700, 100)
	x, ctx, needle := must(openBytes(k.p, true, mapCache{})), t.Context(), filter.Word([]byte("absent"))
	g := must(x.Group(ctx, 0))
	filters := must(x.Filters(ctx, g))
	var f Frame
	allocs := testing.AllocsPerRun(100, func() {
		must(x.Group(ctx, 0))
		must(filters.May(g, 1, needle))
		if err := x.ReadFrame(ctx, &f, g, 1); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 1 { // bytes.Reader of the test's source
		t.Errorf("%v allocations for a cached group, a filter and a block", allocs)
	}
}

// lockedCache is a mapCache for many goroutines.
type lockedCache struct {
	mu    sync.Mutex
	parts mapCache
}

func (c *lockedCache) Present(k PartKey) CachedPart {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.parts[k]
}

func (c *lockedCache) Load(ctx context.Context, k PartKey, load func(context.Context) (CachedPart, error)) (CachedPart, error) {
	p, err := load(ctx)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.parts[k] = p
	}
	return p, err
}

// Goroutines that share an index, and its parts, get the same answers.
func TestConcurrent2(t *testing.T) {
	k := pack(t, someRows(rand.New(rand.NewPCG(5, 6)), 800, 40), Info{Upto: 9_000_000}, 700, 60)
	x := must(openBytes(k.p, true, &lockedCache{parts: mapCache{}}))
	var wg sync.WaitGroup
	for n := range 6 {
		wg.Go(func() {
			got, errs := readAll(t, x)
			if len(errs) > 0 || !maps.EqualFunc(got, k.rows, slices.Equal) {
				t.Errorf("goroutine %d: other rows; %v", n, errs)
			}
			for group := range must(x.Zones(t.Context())) {
				g := must(x.Group(t.Context(), group))
				filters := must(x.Filters(t.Context(), g))
				for b := range g.Blocks {
					for _, e := range k.blocks[g.First+b].rows {
						if may, err := filters.May(g, g.First+b, wordOf(e)); !may || err != nil {
							t.Errorf("May of %q: %v, %v", e.line, may, err)
						}
					}
				}
				filters.Release()
			}
		})
	}
	wg.Wait()
}

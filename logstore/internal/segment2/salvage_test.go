package segment2

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stele-go/stele/logstore/internal/filter"
)

// salvaged salvages a segment, and checks the new one.
func salvaged(t testing.TB, p []byte, from Info, o MergeOptions) (mergeable, []error, error) {
	t.Helper()
	var out bytes.Buffer
	largest := 0
	o.Throttle = func(_ context.Context, n int) error { largest = max(largest, n); return nil }
	info, lost, err := Salvage(t.Context(), &out, memory{p: p}, int64(len(p)), Info{After: from.After, Upto: from.Upto, Generation: from.Generation}, o)
	if err != nil {
		return mergeable{}, lost, err
	}
	if largest > writeSize {
		t.Errorf("%d bytes at once", largest)
	}
	m := mergeable2(t, out.Bytes(), nil)
	c := m.MergeSource.(mergeSource2).Card
	var bad []error
	if err := c.Verify(t.Context(), memory{p: m.p}, func(err error) { bad = append(bad, err) }); err != nil && !isCorrupt(err) {
		t.Fatal(err)
	}
	for _, err := range bad { // positions that are lost
		if b := err.(*CorruptError).Block; b < 0 || must(m.index.Group(t.Context(), 0)).Block(b).positions > 0 {
			t.Fatal(err)
		}
	}
	if c.Info() != info {
		t.Errorf("%+v, and was written as %+v", c.Info(), info)
	}
	return m, lost, nil
}

// With damage of any kind, at every offset, all rows in the new segment were
// written, all that are not there are reported, and one flipped bit loses one
// block at most.
func TestSalvage(t *testing.T) {
	k := specimen(t)
	total, most := countRows(k.rows), 0
	for _, b := range k.blocks {
		most = max(most, len(b.rows))
	}
	o := MergeOptions{Generation: 8, Created: 4}
	for i, h := range harms {
		stride := 41
		if i > 0 {
			stride = 301
		}
		if os.Getenv("STELE_LONG") != "" {
			stride = 1
		}
		for at := i; at < len(k.p); at += stride {
			p := h.do(slices.Clone(k.p), at)
			m, lost, err := salvaged(t, p, k.info, o)
			if err != nil {
				if isCorrupt(err) && at < headerSize && (h.name == "a hole closed" || h.name == "the rest cut off") {
					continue // nothing is there to know it by
				}
				t.Fatalf("%s at %d: %v", h.name, at, err)
			}
			got, _ := readAll(t, m.index)
			subset(t, h.name, at, got, k.rows)
			if i, want := m.Info(), k.info; i.After != want.After || i.Upto != want.Upto || i.Generation != 8 || i.Created != 4 {
				t.Fatalf("%s at %d: %+v of %+v", h.name, at, i, want)
			}
			n := countRows(got)
			if n < total && len(lost) == 0 || i == 0 && (n < total-most || len(lost) > 1) {
				t.Fatalf("%s at %d: %d of %d rows; lost %q", h.name, at, n, total, lost)
			}
			if m.Info().Log != k.info.Log {
				if at > headerSize && at < len(p)-footerSize {
					t.Fatalf("%s at %d: the log's id is lost", h.name, at)
				}
			}
			checkStreamsHaveRows(t, m)
		}
	}
}

// checkStreamsHaveRows fails for streams without rows.
func checkStreamsHaveRows(t testing.TB, m mergeable) {
	t.Helper()
	for part := 0; part*PartStreams < m.Info().Streams; part++ {
		p, err := m.index.Streams(t.Context(), part)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range p.Streams {
			if s.Seqs == 0 {
				t.Fatalf("stream %d has no rows", int(p.First)+i)
			}
		}
	}
}

// An intact segment is salvaged without a loss, with its filters.
func TestSalvageOfIntact(t *testing.T) {
	k := specimen(t)
	k.write(t, k.info)
	m, lost, err := salvaged(t, k.p, k.info, MergeOptions{})
	if err != nil || len(lost) > 0 {
		t.Fatal(err, lost)
	}
	sameRows(t, first(readAll(t, m.index)), k.rows)
	checkFilters(t, m.index)
	if m.Info().Blocks != len(k.blocks) {
		t.Errorf("%d blocks; want %d", m.Info().Blocks, len(k.blocks))
	}
	if whole := filterBytes(t, m.index); whole == 0 || whole != filterBytes(t, k.open(t, true)) {
		t.Errorf("%d bytes of filters", whole)
	}
}

// filterBytes returns how many bytes all filters of a segment have.
func filterBytes(t testing.TB, x Index) (n int64) {
	for i := range must(x.Zones(t.Context())) {
		for _, b := range must(x.Group(t.Context(), i)).Blocks {
			n += int64(b.FilterBytes)
		}
	}
	return n
}

func first[A, B any](a A, _ B) A { return a }

// If two label frames of one parity group are damaged, the rows of other streams
// stay, also those of the same blocks.
func TestSalvageWithoutLabels(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	var rows []row
	for i, labels := range podLabels(r, 20_000) {
		rows = append(rows, row{streamKey: streamKey{labels: labels}, time: int64(i), line: "line", id: ID{uint64(i), 1}})
	}
	k := pack(t, rows, Info{After: 1, Upto: 9}, 4<<10, 100)
	x := k.open(t, true)
	d := must(x.directory(t.Context()))
	if groups := parityGroups(len(d)); len(d) <= groups {
		t.Fatalf("%d chunks in %d groups", len(d), groups)
	}
	p := slices.Clone(k.p)
	want := len(rows)
	for _, chunk := range []int{1, 1 + parityGroups(len(d))} {
		p[d[chunk].off+labelHeaderSize] ^= 1
		want -= int(d[chunk].streams)
	}
	m, lost, err := salvaged(t, p, k.info, MergeOptions{})
	if err != nil || len(lost) < 3 {
		t.Fatal(err, lost)
	}
	got, errs := readAll(t, m.index)
	if len(errs) > 0 || countRows(got) != want {
		t.Errorf("%d of %d rows, %v; want %d", countRows(got), len(rows), errs, want)
	}
	subset(t, "labels", 0, got, k.rows)
	checkFilters(t, m.index)

	// With the label directory too, the frames are scanned, and filters kept but for those
	// of blocks that are encoded again.
	clear(p[x.card.section(TypeLabels).off:][:x.card.section(TypeLabels).bytes])
	m, lost, err = salvaged(t, p, k.info, MergeOptions{Encoder: newColumnsEncoder()})
	if err != nil || len(lost) < 3 {
		t.Fatal(err, lost)
	}
	if got, errs := readAll(t, m.index); len(errs) > 0 || countRows(got) != want {
		t.Errorf("%d of %d rows were found, %v; want %d", countRows(got), len(rows), errs, want)
	}
	checkFilters(t, m.index)
	if n := filterBytes(t, m.index); n < filterBytes(t, x)/2 {
		t.Errorf("%d bytes of filters of %d", n, filterBytes(t, x))
	}
}

// A segment of version 1 becomes one of version 2.
func TestSalvageSource(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 7))
		s := packed1(t, someRows(r, 700, 60), Info{After: 4, Upto: 7}, 700, 8)
		var out bytes.Buffer
		info, lost, err := SalvageSource(t.Context(), &out, s, MergeOptions{Generation: 2, Log: [16]byte{5}})
		if err != nil || len(lost) > 0 || info.Log != [16]byte{5} || info.Upto != 7 {
			t.Fatal(info, err, lost)
		}
		mergeable2(t, out.Bytes(), s.rows).check(t, info)
	}
}

// Salvage refuses what only a newer program can read, and can be cancelled.
func TestSalvageRefuses(t *testing.T) {
	k := specimen(t)
	k.blocks[3].block = slices.Clone(k.blocks[3].block)
	k.blocks[3].block[0] = 9
	k.write(t, k.info)
	if _, _, err := salvaged(t, k.p, k.info, MergeOptions{}); err == nil || isCorrupt(err) {
		t.Errorf("a newer block: %v", err)
	}
	if _, _, err := salvaged(t, specimen(t).p, k.info, MergeOptions{Log: [16]byte{77}}); err == nil || isCorrupt(err) {
		t.Errorf("another log: %v", err)
	}
	p := specimen(t).p
	for _, p := range [][]byte{p, p[:len(p)-footerSize]} {
		steps := 0
		o := MergeOptions{Throttle: func(context.Context, int) error { steps++; return nil }}
		salvage := func(ctx context.Context) error {
			_, _, err := Salvage(ctx, new(bytes.Buffer), memory{p: p}, int64(len(p)), k.info, o)
			return err
		}
		if err := salvage(t.Context()); err != nil {
			t.Fatal(err)
		}
		all := steps
		for stop := 0; stop < all; stop += 1 + all/100 {
			ctx, cancel := context.WithCancel(t.Context())
			steps = 0
			o.Throttle = func(ctx context.Context, _ int) error {
				if steps++; steps > stop {
					cancel()
				}
				return ctx.Err()
			}
			if err := salvage(ctx); !errors.Is(err, context.Canceled) {
				t.Fatalf("cancelled at step %d of %d: %v", stop, all, err)
			}
			cancel()
		}
	}
}

// Filters that nothing tells the place of are made again, with the texts that a
// store adds.
func TestSalvageMakesFilters(t *testing.T) {
	rows := someRows(rand.New(rand.NewPCG(8, 2)), 700, 60)
	for i := range rows {
		if rows[i].meta != "" {
			rows[i].meta = labelsOf("id", "v"+string(rune('a'+i%26)), "other", "metadata")
		}
	}
	k := pack(t, rows, Info{Upto: 9}, 700, 8)
	p := k.p[:k.open(t, true).card.section(TypeFilters).off]
	m, lost, err := salvaged(t, p, k.info, MergeOptions{})
	if err != nil || len(lost) == 0 {
		t.Fatal(err, lost)
	}
	sameRows(t, first(readAll(t, m.index)), k.rows)
	checkFilters(t, m.index)
	g := must(m.index.Group(t.Context(), 0))
	f := must(m.index.Filters(t.Context(), g))
	defer f.Release()
	passed := 0
	for n := range g.Blocks {
		if must(f.May(g, n, filter.Word([]byte("nothingofthis")))) {
			passed++
		}
		want := slices.ContainsFunc(k.blocks[n].rows, func(e row) bool { return e.meta != "" })
		if must(f.May(g, n, filter.Word([]byte("metadata")))) != want {
			t.Errorf("block %d: its filter has the metadata: %v; want %v", n, !want, want)
		}
	}
	if passed > 1+len(g.Blocks)/20 {
		t.Errorf("%d of %d filters rule nothing out", passed, len(g.Blocks))
	}
}

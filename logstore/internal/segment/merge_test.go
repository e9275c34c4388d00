package segment

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
)

// mergeAll merges, and verifies what holds for every merge.
func mergeAll(t testing.TB, sources []*Segment, o MergeOptions) *Segment {
	t.Helper()
	var out bytes.Buffer
	largest := 0
	o.Throttle = func(_ context.Context, n int) error { largest = max(largest, n); return nil }
	info, err := Merge(t.Context(), &out, sources, o)
	if err != nil {
		t.Fatal(err)
	}
	if largest > 256<<10 {
		t.Errorf("%d bytes at once", largest)
	}
	s := open(t, out.Bytes())
	mustVerify(t, s)
	if s.Info() != info {
		t.Errorf("%+v, and Merge says %+v", s.Info(), info)
	}
	first, last := sources[0].Info(), sources[len(sources)-1].Info()
	if info.After != first.After || info.Upto != last.Upto || info.Generation != o.Generation || info.Created != o.Created {
		t.Errorf("%+v of %+v and %+v", info, first, last)
	}
	return s
}

// Random entries are packed into segments that are merged again and again, in
// any grouping of neighbours: a reader sees the appended entries in order.
func TestMergesLoseNothing(t *testing.T) {
	seeds := uint64(25)
	if raceEnabled {
		seeds = 6
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 9))
		var all []entry
		var segments []*Segment
		n := 1 + r.IntN(8)
		for i := range n {
			part := someEntries(r, r.IntN(1500), 1+r.IntN(120))
			all = append(all, part...)
			info := Info{After: uint64(10 * i), Upto: uint64(10*i + r.IntN(11))}
			segments = append(segments, open(t, pack(t, part, info, 1+r.IntN(6<<10), 1+r.IntN(100))))
		}
		want := byStream(all)
		for len(segments) > 1 {
			from := r.IntN(len(segments) - 1)
			to := from + 2 + r.IntN(min(4, len(segments)-from-1))
			o := MergeOptions{BlockRaw: 1 + r.IntN(8<<10), Generation: 5, Created: 77}
			merged := mergeAll(t, segments[from:to], o)
			segments = slices.Replace(segments, from, to, merged)
		}
		got := mustRead(t, segments[0])
		same(t, got, want)
		checkFilters(t, segments[0], got)

		// Scan returns the same entries, and so does Salvage.
		p := bytesOf(t, segments[0])
		scanned, lost, err := Scan(t.Context(), inMemory(p), int64(len(p)), segments[0].Info())
		if err != nil || len(lost) > 0 {
			t.Fatalf("seed %d: Scan: %v, %v", seed, err, lost)
		}
		same(t, mustRead(t, scanned), want)
		mustVerify(t, scanned)
		same(t, mustRead(t, salvage(t, scanned, 0)), want)
	}
}

func bytesOf(t testing.TB, s *Segment) []byte {
	t.Helper()
	p := make([]byte, s.Info().Size)
	if err := readFull(s.src, p, 0, -1); err != nil {
		t.Fatal(err)
	}
	return p
}

// salvage salvages, and fails unless as many blocks as given are lost.
func salvage(t testing.TB, s *Segment, lose int) *Segment {
	t.Helper()
	var out bytes.Buffer
	_, lost, err := Salvage(t.Context(), &out, s, MergeOptions{Generation: 9})
	if err != nil || len(lost) != lose {
		t.Fatalf("%v; lost %v, want %d", err, lost, lose)
	}
	saved := open(t, out.Bytes())
	mustVerify(t, saved)
	return saved
}

// checkFilters tests the filters for each line's first word.
func checkFilters(t testing.TB, s *Segment, all map[string][]entry) {
	t.Helper()
	eachRow(t, s, func(block int, e entry) {
		if may, err := s.May(block, wordOf(e)); !may || err != nil {
			t.Fatalf("block %d cannot have %q: %v", block, e.line, err)
		}
	})
	if may, _ := s.May(0, wordOf(entry{line: "nothingofthis"})); may && s.Info().Blocks > 0 && len(all) > 0 {
		passed := 0
		for i := range s.Info().Blocks {
			if may, _ := s.May(i, wordOf(entry{line: "nothingofthis"})); may {
				passed++
			}
		}
		if passed > 1+s.Info().Blocks/4 {
			t.Errorf("%d of %d filters rule nothing out", passed, s.Info().Blocks)
		}
	}
}

// Large blocks are copied byte for byte; small ones are merged.
func TestMergeCopiesWhatIsGood(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	var sources []*Segment
	good := map[string]bool{}
	const raw = 4 << 10
	for i := range 6 {
		s := open(t, pack(t, someEntries(r, 2000, 60), Info{After: uint64(i), Upto: uint64(i + 1)}, raw, 200))
		sources = append(sources, s)
		for b := range s.Info().Blocks {
			at, err := s.Block(b)
			if err != nil {
				t.Fatal(err)
			}
			if at.Raw >= raw/2 {
				p, err := s.ReadBlock(nil, b)
				if err != nil {
					t.Fatal(err)
				}
				good[string(p)] = false
			}
		}
	}
	s := mergeAll(t, sources, MergeOptions{BlockRaw: raw})
	small := 0
	for b := range s.Info().Blocks {
		p, err := s.ReadBlock(nil, b)
		if err != nil {
			t.Fatal(err)
		}
		at, _ := s.Block(b)
		if seen, ok := good[string(p)]; ok {
			if seen {
				t.Errorf("block %d is there twice", b)
			}
			good[string(p)] = true
		} else if at.Raw < raw/2 {
			small++
		}
	}
	for _, seen := range good {
		if !seen {
			t.Fatal("a good block has not been copied")
		}
	}
	if len(good) < 10 || small > 1 {
		t.Errorf("%d good blocks, %d small ones left", len(good), small)
	}
}

func TestMergeRefuses(t *testing.T) {
	a := open(t, pack(t, someEntries(rand.New(rand.NewPCG(1, 1)), 500, 20), Info{After: 5, Upto: 9}, 1<<10, 20))
	b := open(t, pack(t, nil, Info{After: 9, Upto: 12}, 1<<10, 20))
	o := MergeOptions{BlockRaw: 1 << 10}
	if _, err := Merge(t.Context(), io.Discard, nil, o); err == nil {
		t.Error("nothing is merged")
	}
	if _, err := Merge(t.Context(), io.Discard, []*Segment{b, a}, o); err == nil {
		t.Error("the wrong order is merged")
	}
	if _, err := Merge(t.Context(), io.Discard, []*Segment{a, b}, MergeOptions{}); err == nil {
		t.Error("blocks of no size are made")
	}
	if _, err := Merge(t.Context(), full{}, []*Segment{a, b}, o); !errors.Is(err, errFull) {
		t.Errorf("to a full disk: %v", err)
	}
	s := mergeAll(t, []*Segment{a, b}, o)
	if s.Info().Rows != 500 {
		t.Errorf("%+v", s.Info())
	}
}

// A merge can be cancelled at every step.
func TestMergeIsCancelled(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	var sources []*Segment
	for i := range 3 {
		sources = append(sources, open(t, pack(t, someEntries(r, 300, 20), Info{After: uint64(i), Upto: uint64(i + 1)}, 2<<10, 20)))
	}
	steps := 0
	o := MergeOptions{BlockRaw: 2 << 10, Throttle: func(context.Context, int) error { steps++; return nil }}
	if _, err := Merge(t.Context(), io.Discard, sources, o); err != nil {
		t.Fatal(err)
	}
	if steps < 10 {
		t.Fatalf("%d steps", steps)
	}
	all := steps
	for stop := range all {
		ctx, cancel := context.WithCancel(t.Context())
		steps = 0
		o.Throttle = func(ctx context.Context, _ int) error {
			if steps++; steps > stop {
				cancel()
			}
			return ctx.Err()
		}
		if _, err := Merge(ctx, io.Discard, sources, o); !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled at step %d of %d: %v", stop, all, err)
		}
		cancel()
		if steps > stop+1 {
			t.Fatalf("%d steps after it was cancelled", steps-stop)
		}
	}
}

// Segments crafted so that sequence numbers of runs collide or overflow are not
// merged into an unreadable one.
func TestMergeRefusesPlaces(t *testing.T) {
	made := func(seqs ...uint64) (p []byte, err error) {
		var out bytes.Buffer
		w := NewWriter(&out)
		for _, seq := range seqs {
			run := blockRun{seq: seq, StreamRun: StreamRun{"app", Run{Rows: 1}}}
			if err := w.add([]byte("block"), nil, []blockRun{run}); err != nil {
				return nil, err
			}
		}
		_, err = w.Finish(Info{})
		return out.Bytes(), err
	}
	if _, err := made(7, 7); err == nil {
		t.Error("two runs have one seq")
	}
	if _, err := made(1<<63 - 1); err == nil {
		t.Error("a seq that no list can encode")
	}
	p, err := made(1<<63 - 2)
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, p)
	if _, err := s.Runs(0); err != nil {
		t.Error(err)
	}
	if _, err := Merge(t.Context(), io.Discard, []*Segment{s, s}, MergeOptions{BlockRaw: 1}); err == nil {
		t.Error("seqs overflow")
	}
}

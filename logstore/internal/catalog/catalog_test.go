package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/segment/segmenttest"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// The text of a line is unique, and has its time.
type row struct {
	time int64
	line string
}

// rowsOf returns rows of streams: n of each, from the given time, a second
// apart.
func rowsOf(time int64, n int, streams ...string) map[string][]row {
	m := map[string][]row{}
	for _, s := range streams {
		for i := range n {
			t := time + int64(i)*1e9
			m[s] = append(m[s], row{t, fmt.Sprintf("%s at %d: request %d was answered in %d ms", s, t, i*7919, i%100)})
		}
	}
	return m
}

// labelsOf returns the encoded labels of a stream of the tests, streamOf its name.
func labelsOf(stream string) string { return "\x04name" + string(rune(len(stream))) + stream }

func streamOf(labels string) string { return strings.TrimPrefix(labels, "\x04name")[1:] }

// A blockOf is a block of one stream.
type blockOf struct {
	ordinal       int
	seq           uint64
	stream        string
	rows          []row
	block, filter []byte
	raw           int64
}

// blocksOf encodes rows in blocks of at most perBlock, each of one stream.
func blocksOf(rows map[string][]row, perBlock int) (streams []string, blocks []blockOf, err error) {
	var enc block.Encoder
	var words filter.Builder
	streams = slices.SortedFunc(maps.Keys(rows), func(a, b string) int { return cmp.Compare(labelsOf(a), labelsOf(b)) })
	for ordinal, stream := range streams {
		seq := uint64(0)
		for part := range slices.Chunk(rows[stream], perBlock) {
			enc.Reset()
			words.Reset()
			for _, r := range part {
				enc.Add(r.time, []byte(r.line), nil)
				words.Add([]byte(r.line))
			}
			b, err := enc.Append(nil)
			if err != nil {
				return nil, nil, err
			}
			blocks = append(blocks, blockOf{ordinal, seq, stream, part, b, words.Append(nil), int64(enc.Raw())})
			seq++
		}
	}
	return streams, blocks, nil
}

// writeRows writes blocks of at most perBlock rows, each of one stream.
func writeRows(w *segment2.Writer, rows map[string][]row, perBlock int) error {
	streams, blocks, err := blocksOf(rows, perBlock)
	if err != nil {
		return err
	}
	err = w.AddStreams("", func(yield func(string) bool) {
		for _, s := range streams {
			if !yield(labelsOf(s)) {
				return
			}
		}
	})
	for _, b := range blocks {
		if err != nil {
			return err
		}
		run := segment2.Run{
			Ordinal: uint32(b.ordinal), Seq: b.seq, Rows: uint32(len(b.rows)), Raw: b.raw,
			MinTime: b.rows[0].time, MaxTime: b.rows[len(b.rows)-1].time,
		}
		err = w.AddBlock(segment2.EncodedBlock{Block: b.block, Codec: 1, Runs: segment2.Runs{run}, IDs: make([]segment2.ID, len(b.rows))})
	}
	for _, b := range blocks {
		if err == nil {
			err = w.AddFilter(b.filter)
		}
	}
	return err
}

// writeRows1 is writeRows of version 1.
func writeRows1(w *segmenttest.Writer, rows map[string][]row, perBlock int) error {
	_, blocks, err := blocksOf(rows, perBlock)
	for _, b := range blocks {
		if err != nil {
			return err
		}
		run := segmenttest.Run{Labels: labelsOf(b.stream), Rows: len(b.rows), MinTime: b.rows[0].time, MaxTime: b.rows[len(b.rows)-1].time, Raw: b.raw}
		err = w.AddBlock(b.block, b.filter, []segmenttest.Run{run})
	}
	return err
}

// publish1 is publish of a segment of version 1.
func publish1(t testing.TB, s *Catalog, n uint64, rows map[string][]row) {
	t.Helper()
	want := positions{after: s.Upto(), upto: s.Upto() + n}
	f, err := s.writeSegment(context.Background(), want, func(_ context.Context, o *segmentOutput) (segment2.Info, error) {
		w := segmenttest.NewWriter(o)
		if err := writeRows1(w, rows, 16); err != nil {
			return segment2.Info{}, err
		}
		return w.Finish(segment2.Info{After: want.after, Upto: want.upto, Created: s.Created()})
	})
	if err != nil {
		t.Fatal(err)
	}
	s.install([]*file{f}, nil, nil)
}

// A clock is one that the test sets.
type clock struct {
	mu      sync.Mutex
	now     time.Time
	elapsed time.Duration
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Elapsed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.elapsed
}

// forward lets time pass.
func (c *clock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.elapsed += d
}

// jump sets the clock wrong, or right again.
func (c *clock) jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func testOptions() (Options, *clock) {
	c := &clock{now: time.Unix(1_800_000_000, 0)}
	return Options{
		SegmentSize: 64 << 20, SegmentSpan: 24 * time.Hour, SmallSpan: 24 * time.Hour, BlockRaw: 4 << 10, CacheBytes: 1 << 20, Files: 64,
		Truncated: math.MaxUint64, Clock: c,
	}, c
}

func openDir(ctx context.Context, dir string, o Options) (*Catalog, error) {
	at, err := OpenDir(dir, nil)
	if err != nil {
		return nil, err
	}
	return Open(ctx, at, o)
}

func open(t testing.TB, dir string, o Options) *Catalog {
	t.Helper()
	s, err := openDir(context.Background(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func closeCatalog(t testing.TB, s *Catalog) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// publish publishes rows under the next n positions.
func publish(t testing.TB, s *Catalog, n uint64, rows map[string][]row) {
	t.Helper()
	if err := s.Publish(context.Background(), infoAfter(s, n), writerOf(rows), nil); err != nil {
		t.Fatal(err)
	}
}

// infoAfter describes a segment of the next n positions.
func infoAfter(s *Catalog, n uint64) segment2.Info {
	return segment2.Info{After: s.Upto(), Upto: s.Upto() + n, Created: s.Created(), Log: s.o.Log}
}

// writerOf returns an argument of Publish.
func writerOf(rows map[string][]row) func(w *segment2.Writer) error {
	return func(w *segment2.Writer) error { return writeRows(w, rows, 16) }
}

func maintain(t testing.TB, s *Catalog) {
	t.Helper()
	if err := s.Maintain(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// linesOf returns all lines of a snapshot, stream by stream, in the order of
// their runs, and the errors of damaged ones.
func linesOf(n *Snapshot) (lines map[string][]string, errs []error) {
	ctx := context.Background()
	lines = map[string][]string{}
	note := func(err error) {
		if bad, ok := errors.AsType[*segment2.CorruptError](err); err != nil && !(ok && bad.Rebuilt) {
			errs = append(errs, err)
		}
	}
	for seg := range n.Segments() {
		zones, err := seg.Zones(ctx)
		note(err)
		var runs segment2.Runs
		groups := make([]*segment2.Group, len(zones))
		groupOf := map[uint32]*segment2.Group{}
		for i := range zones {
			groups[i], err = seg.Group(ctx, i)
			note(err)
			list, err := seg.Runs(ctx, i)
			note(err)
			runs = append(runs, list...)
			for _, r := range list {
				groupOf[r.Block] = groups[i]
			}
		}
		slices.SortFunc(runs, func(a, b segment2.Run) int {
			return cmp.Or(cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(a.Seq, b.Seq))
		})
		for _, r := range runs {
			got, err := linesOfRun(seg, groupOf[r.Block], r)
			note(err)
			chunk, err := seg.ChunkOf(ctx, r.Ordinal)
			note(err)
			c, err := seg.Labels(ctx, chunk)
			if note(err); c != nil {
				stream := streamOf(c.Of(r.Ordinal))
				lines[stream] = append(lines[stream], got...)
			}
		}
	}
	return lines, errs
}

// mayHave reports whether a block may have the needles, by its filter.
func mayHave(seg Segment, block int, needles ...filter.Needle) (may bool, err error) {
	ctx := context.Background()
	zones, err := seg.Zones(ctx)
	if err != nil {
		return true, err
	}
	for i, z := range zones {
		if block < z.First || block >= z.First+z.Blocks {
			continue
		}
		g, err := seg.Group(ctx, i)
		if err != nil {
			return true, err
		}
		f, err := seg.Filters(ctx, g)
		if err != nil {
			return true, err
		}
		defer f.Release()
		return f.May(g, block, needles...)
	}
	return true, fmt.Errorf("block %d is in no group", block)
}

// linesOfRun returns the lines of a run.
func linesOfRun(seg Segment, g *segment2.Group, r segment2.Run) (lines []string, err error) {
	var f segment2.Frame
	if g == nil {
		return nil, fmt.Errorf("block %d is in no group", r.Block)
	}
	if err := seg.ReadFrame(context.Background(), &f, g, int(r.Block)); f.Block == nil {
		return nil, err
	}
	var dec block.Decoder
	if err := dec.Open(f.Block, nil); err != nil {
		return nil, err
	}
	if err := dec.Lines(); err != nil {
		return nil, err
	}
	for i := range r.Rows {
		lines = append(lines, string(dec.Line(int(r.First+i))))
	}
	return lines, nil
}

// served returns linesOf of the current snapshot, sorted.
func served(t testing.TB, s *Catalog) []string {
	t.Helper()
	n := s.Snapshot()
	defer n.Release()
	lines, errs := linesOf(n)
	if len(errs) > 0 {
		t.Fatal(errors.Join(errs...))
	}
	return flat(lines)
}

func flat(lines map[string][]string) []string {
	var all []string
	for _, l := range lines {
		all = append(all, l...)
	}
	slices.Sort(all)
	return all
}

func sortedLines(rows ...map[string][]row) []string {
	var all []string
	for _, m := range rows {
		for _, list := range m {
			for _, r := range list {
				all = append(all, r.line)
			}
		}
	}
	slices.Sort(all)
	return all
}

func equalLines(t testing.TB, what string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("%s: %d lines, want %d; the first that differs, by number %d: %q, want %q", what, len(got), len(want), i, at(got, i), at(want, i))
		}
	}
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "(none)"
}

// namesIn returns the names of the files in a directory of the store.
func namesIn(t testing.TB, dir, sub string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, sub))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestPublishAndReopen(t *testing.T) {
	dir := t.TempDir()
	o, _ := testOptions()
	s := open(t, dir, o)
	first, second := rowsOf(1e18, 40, "a", "b"), rowsOf(1e18+60e9, 40, "b", "c")
	publish(t, s, 10, first)
	publish(t, s, 5, second)
	want := sortedLines(first, second)
	equalLines(t, "published", served(t, s), want)
	if got := s.Upto(); got != 15 {
		t.Errorf("Upto is %d, want 15", got)
	}
	st := s.Stats()
	if st.Segments != 2 || st.Rows != 160 || st.Published != 2 || st.Streams != 4 || st.MostStreams != 2 || st.CardBytes == 0 || st.CardBytes > 2*4096 || st.Bytes != st.PublishedBytes || st.Bytes == 0 {
		t.Errorf("stats: %+v", st)
	}
	closeCatalog(t, s)

	s = open(t, dir, o)
	equalLines(t, "opened again", served(t, s), want)
	if got := s.Upto(); got != 15 {
		t.Errorf("opened again, Upto is %d, want 15", got)
	}
	names := namesIn(t, dir, SegmentDir)
	if !slices.Equal(names, []string{"0000000000000000-000000000000000a-00000000.seg", "000000000000000a-000000000000000f-00000000.seg"}) {
		t.Errorf("files: %v", names)
	}
}

// step decides when a segment becomes visible, and it becomes so at once.
func TestPublishInOneStep(t *testing.T) {
	dir := t.TempDir()
	o, _ := testOptions()
	s := open(t, dir, o)
	rows := rowsOf(1e18, 3, "a")
	var before, after int
	err := s.Publish(t.Context(), segment2.Info{Upto: 1}, func(w *segment2.Writer) error { return writeRows(w, rows, 16) }, func(publish func()) {
		before = len(served(t, s))
		if s.Stats().Segments != 0 || s.Upto() != 0 {
			t.Error("the segment is there before the step")
		}
		publish()
		after = len(served(t, s))
	})
	if err != nil || before != 0 || after != 3 {
		t.Errorf("%d lines before the step, %d after, want 0 and 3; error %v", before, after, err)
	}
}

func TestPublishFails(t *testing.T) {
	dir := t.TempDir()
	o, _ := testOptions()
	s := open(t, dir, o)
	publish(t, s, 10, rowsOf(1e18, 3, "a"))
	want := served(t, s)
	cancelled, cancel := context.WithCancel(t.Context())
	ours := errors.New("ours")
	cases := []struct {
		name  string
		info  segment2.Info
		write func(w *segment2.Writer) error
		is    error
		says  string
	}{
		{"positions that are there", segment2.Info{After: 9, Upto: 12}, nil, nil, "want positions after 10"},
		{"no positions", segment2.Info{After: 10, Upto: 10}, nil, nil, "want positions after 10"},
		{"an error of the caller", segment2.Info{After: 10, Upto: 12}, func(w *segment2.Writer) error {
			return errors.Join(writeRows(w, rowsOf(1e18, 1000, "a"), 16), ours)
		}, ours, ""},
		{"no rows", segment2.Info{After: 10, Upto: 12}, func(w *segment2.Writer) error { return nil }, nil, ""},
		{"cancelled", segment2.Info{After: 10, Upto: 12}, func(w *segment2.Writer) error {
			cancel()
			return writeRows(w, rowsOf(1e18, 1000, "a"), 16)
		}, context.Canceled, ""},
	}
	for _, c := range cases {
		ctx := t.Context()
		if c.name == "cancelled" {
			ctx = cancelled
		}
		err := s.Publish(ctx, c.info, c.write, func(publish func()) { t.Errorf("%s: step was called", c.name) })
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want %v %q", c.name, err, c.is, c.says)
		}
		if names := namesIn(t, dir, SegmentDir); len(names) != 1 {
			t.Errorf("%s: left behind: %v", c.name, names)
		}
	}
	equalLines(t, "after failures", served(t, s), want)
	publish(t, s, 2, rowsOf(1e18, 3, "b")) // the same positions, this time for good
}

func TestClose(t *testing.T) {
	o, _ := testOptions()
	s := open(t, t.TempDir(), o)
	publish(t, s, 1, rowsOf(1e18, 3, "a"))
	n := s.Snapshot()
	later := s.Snapshot()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if s.Snapshot() != nil {
		t.Error("a closed catalog has a snapshot")
	}
	for _, in := range []*Snapshot{n, later} {
		if lines, errs := linesOf(in); len(lines["a"]) != 3 || len(errs) > 0 {
			t.Errorf("a snapshot of a closed catalog has %v, errors %v", lines, errs)
		}
		if s.files.opened.Load() == 0 {
			t.Error("the files of a snapshot are closed")
		}
		in.Release()
	}
	if open := s.files.opened.Load(); open != 0 {
		t.Errorf("%d files are open after the last snapshot was released", open)
	}
	if err := s.Maintain(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Maintain: %v", err)
	}
	if err := s.Publish(t.Context(), segment2.Info{Upto: 9}, nil, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Publish: %v", err)
	}
	if err := s.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("Close: %v", err)
	}
}

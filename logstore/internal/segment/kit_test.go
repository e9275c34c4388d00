package segment

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/segment/segmenttest"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// memory is a segment in memory, read like an object of an object store.
type memory struct {
	name string
	*bytes.Reader
}

func (m memory) Name() string { return m.name }

// viewed is a segment in memory that hands it out, like a mapped file.
type viewed struct {
	memory
	p []byte
}

func (v viewed) View(off int64, n int, f func([]byte) error) error {
	if off+int64(n) > int64(len(v.p)) {
		return io.ErrUnexpectedEOF
	}
	return f(v.p[off : off+int64(n)])
}

func inMemory(p []byte) segment2.Source { return memory{"a.seg", bytes.NewReader(p)} }
func inView(p []byte) segment2.Source   { return viewed{memory{"a.seg", bytes.NewReader(p)}, p} }

func open(t testing.TB, p []byte) *Segment {
	t.Helper()
	s, err := Open(inMemory(p), int64(len(p)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// An entry is a row and the labels of its stream.
type entry struct {
	labels string
	time   int64
	line   string
	meta   string
}

// byStream holds the entries of streams as a reader gets them: by time, equal
// times in the order of append.
func byStream(entries []entry) map[string][]entry {
	all := map[string][]entry{}
	for _, e := range entries {
		all[e.labels] = append(all[e.labels], e)
	}
	for _, list := range all {
		slices.SortStableFunc(list, func(a, b entry) int { return cmp.Compare(a.time, b.time) })
	}
	return all
}

// A packer makes a segment of entries as a store does: a large stream has
// blocks of its own, small ones share blocks.
type packer struct {
	w       *segmenttest.Writer
	e       block.Encoder
	f       filter.Builder
	runs    []segmenttest.Run
	maxRaw  int
	maxRows int // of a run
}

func (p *packer) flush() error {
	if p.e.Rows() == 0 {
		return nil
	}
	b, err := p.e.Append(nil)
	if err != nil {
		return err
	}
	if err := p.w.AddBlock(b, p.f.Append(nil), p.runs); err != nil {
		return err
	}
	p.e.Reset()
	p.f.Reset()
	p.runs = nil
	return nil
}

// run adds a run; seq is that of segmenttest.Run.
func (p *packer) run(rows []entry, seq uint64) error {
	r := segmenttest.Run{Labels: rows[0].labels, Rows: len(rows), MinTime: rows[0].time, MaxTime: rows[len(rows)-1].time, Seq: seq}
	for _, e := range rows {
		p.e.Add(e.time, []byte(e.line), []byte(e.meta))
		p.f.Add([]byte(e.line))
		r.Raw += int64(len(e.line) + len(e.meta))
	}
	p.runs = append(p.runs, r)
	if p.e.Raw() >= p.maxRaw {
		return p.flush()
	}
	return nil
}

func pack(t testing.TB, entries []entry, info segment2.Info, maxRaw, maxRows int) []byte {
	t.Helper()
	var out bytes.Buffer
	p := packer{w: segmenttest.NewWriter(&out), maxRaw: maxRaw, maxRows: maxRows}
	streams := byStream(entries)
	for _, labels := range slices.Sorted(maps.Keys(streams)) {
		for rows := range slices.Chunk(streams[labels], p.maxRows) {
			if len(p.runs) > 0 && p.runs[len(p.runs)-1].Labels == labels {
				if err := p.flush(); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.run(rows, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := p.flush(); err != nil {
		t.Fatal(err)
	}
	got, err := p.w.Finish(info)
	if err != nil {
		t.Fatal(err)
	}
	if got.Size != int64(out.Len()) || got.Rows != int64(len(entries)) || got.Streams != len(streams) {
		t.Fatalf("%+v of %d bytes, %d entries, %d streams", got, out.Len(), len(entries), len(streams))
	}
	return out.Bytes()
}

// read returns the entries of a segment that can be read, and the errors of the
// others.
func read(s *Segment) (map[string][]entry, []error) {
	all := map[string][]entry{}
	var errs []error
	for i := range s.Info().Streams {
		stream, err := s.Stream(i)
		if err != nil {
			return nil, []error{err}
		}
		runs, err := s.Runs(i)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, r := range runs {
			rows, err := readRun(s, stream.Labels, r)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			all[stream.Labels] = append(all[stream.Labels], rows...)
		}
		slices.SortStableFunc(all[stream.Labels], func(a, b entry) int { return cmp.Compare(a.time, b.time) })
	}
	return all, errs
}

func readRun(s *Segment, labels string, r Run) (rows []entry, err error) {
	p, err := s.ReadBlock(nil, r.Block)
	if err != nil {
		return nil, err
	}
	var d block.Decoder
	times, err := d.Decode(p, nil)
	if err != nil {
		return nil, err
	}
	raw := int64(0)
	for i := r.First; i < r.First+r.Rows; i++ {
		rows = append(rows, entry{labels, times[i], string(d.Line(i)), string(d.Meta(i))})
		raw += int64(len(d.Line(i)) + len(d.Meta(i)))
	}
	if !slices.IsSorted(times[r.First:r.First+r.Rows]) || rows[0].time != r.MinTime || rows[len(rows)-1].time != r.MaxTime || raw != r.Raw {
		return nil, fmt.Errorf("the run %+v is not what is in the block", r)
	}
	return rows, nil
}

// mustRead returns the entries of a segment, all of which must be readable.
func mustRead(t testing.TB, s *Segment) map[string][]entry {
	t.Helper()
	all, errs := read(s)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return all
}

// eachRow calls f with each entry of a segment that can be read, and its block.
func eachRow(t testing.TB, s *Segment, f func(block int, e entry)) {
	t.Helper()
	for i := range s.Info().Streams {
		st, err := s.Stream(i)
		if err != nil {
			t.Fatal(err)
		}
		runs, _ := s.Runs(i)
		for _, r := range runs {
			rows, _ := readRun(s, st.Labels, r)
			for _, e := range rows {
				f(r.Block, e)
			}
		}
	}
}

// same compares what was read with what was written.
func same(t testing.TB, got, want map[string][]entry) {
	t.Helper()
	for labels, rows := range want {
		if !slices.Equal(got[labels], rows) {
			for i := range rows {
				if i >= len(got[labels]) || got[labels][i] != rows[i] {
					t.Fatalf("stream %q: %d rows, want %d; row %d is not %+v", labels, len(got[labels]), len(rows), i, rows[i])
				}
			}
			t.Fatalf("stream %q: %d rows, want %d", labels, len(got[labels]), len(rows))
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d streams, want %d", len(got), len(want))
	}
}

// make some entries: few times, so that many are equal; a few large streams,
// and many small ones.
func someEntries(r *rand.Rand, n, streams int) []entry {
	list := make([]entry, n)
	for i := range list {
		s := int(float64(streams) * r.Float64() * r.Float64() * r.Float64())
		e := entry{labels: labelsOf(s), time: 1_700_000_000_000 + r.Int64N(50)}
		switch r.IntN(10) {
		case 0: // an empty line
		case 1:
			e.meta = fmt.Sprint("id=", i)
			fallthrough
		default:
			e.line = fmt.Sprintf("line%d of stream %d %s", i, s, strings.Repeat("word ", r.IntN(8)))
		}
		list[i] = e
	}
	return list
}

func labelsOf(i int) string {
	if i == 0 {
		return ""
	}
	host := fmt.Sprintf("h-%03d", i)
	return fmt.Sprintf("\x03app\x04api%c\x04host%c%s", 'a'+i%3, len(host), host)
}

func mustVerify(t testing.TB, s *Segment) {
	t.Helper()
	if err := s.Verify(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
}

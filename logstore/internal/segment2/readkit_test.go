package segment2

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
	"github.com/stele-go/stele/logstore/internal/template"
)

// memory is a segment in memory, read like an object of an object store. It
// notes what is read.
type memory struct {
	p     []byte
	reads *[]int // bytes of each
}

func (m memory) Name() string { return "a.seg" }

func (m memory) ReadAt(p []byte, off int64) (int, error) {
	if m.reads != nil {
		*m.reads = append(*m.reads, len(p))
	}
	return bytes.NewReader(m.p).ReadAt(p, off)
}

// viewed is a segment in memory that hands it out, like a mapped file.
type viewed struct{ memory }

func (v viewed) View(off int64, n int, f func([]byte) error) error {
	if off < 0 || off > int64(len(v.p)) || int64(n) > int64(len(v.p))-off {
		return io.ErrUnexpectedEOF
	}
	return f(v.p[off:][:n:n])
}

// mapCache keeps everything.
type mapCache map[PartKey]CachedPart

func (c mapCache) Present(k PartKey) CachedPart { return c[k] }

func (c mapCache) Load(ctx context.Context, k PartKey, load func(context.Context) (CachedPart, error)) (CachedPart, error) {
	p, err := load(ctx)
	if err == nil {
		c[k] = p
	}
	return p, err
}

// A streamKey names a stream.
type streamKey struct{ tenant, labels string }

func (k streamKey) compare(o streamKey) int {
	return strings.Compare(string(appendKey(nil, k.tenant, k.labels)), string(appendKey(nil, o.tenant, o.labels)))
}

// A row is an entry with its identity.
type row struct {
	streamKey
	time int64
	line string
	meta string
	id   ID
}

// someRows makes rows: few times, so that many are equal; a few large streams,
// and many small ones; most of one tenant.
func someRows(r *rand.Rand, n, streams int) []row {
	list := make([]row, n)
	next := map[streamKey]ID{}
	for i := range list {
		s := int(float64(streams) * r.Float64() * r.Float64() * r.Float64())
		k := streamKey{[]string{"", "", "", "blue", "red"}[s%5], ""}
		if s > 0 {
			k.labels = labelsOf("app", "api"+string(rune('a'+s%3)), "host", fmt.Sprintf("h-%03d", s))
		}
		id := next[k]
		if id.Place++; r.IntN(3) > 0 {
			id = ID{id.Position + r.Uint64N(4), 0}
		}
		next[k] = id
		e := row{streamKey: k, time: 1_700_000_000_000 + r.Int64N(50), id: ID{id.Position + 1, id.Place}}
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

// A packed is a segment and what it must answer.
type packed struct {
	p       []byte
	info    Info
	streams []streamKey
	rows    map[streamKey][]row // as a reader gets them: by time, equal times as appended
	runs    Runs                // of all blocks
	blocks  []packedBlock
}

type packedBlock struct {
	rows          []row
	block, filter []byte
	codec         uint16
	templates     *template.Dictionary
}

// A packer encodes blocks. Its zero value is ready.
type packer struct{ lines, columns block.Encoder }

// pack makes a segment as a store does: a stream has runs of at most maxRows
// rows, and a block at least maxRaw bytes, or what a tenant has.
func pack(t testing.TB, rows []row, info Info, maxRaw, maxRows int) *packed {
	t.Helper()
	k := &packed{rows: map[streamKey][]row{}}
	for _, e := range rows {
		k.rows[e.streamKey] = append(k.rows[e.streamKey], e)
	}
	k.streams = slices.SortedFunc(maps.Keys(k.rows), streamKey.compare)
	var now packedBlock
	var runs Runs
	raw := 0
	flush := func() {
		if len(now.rows) > 0 {
			k.blocks, k.runs = append(k.blocks, now), append(k.runs, runs...)
			now, runs, raw = packedBlock{}, nil, 0
		}
	}
	for ordinal, key := range k.streams {
		list := k.rows[key]
		slices.SortStableFunc(list, func(a, b row) int { return cmp.Compare(a.time, b.time) })
		seq := uint64(0)
		for part := range slices.Chunk(list, maxRows) {
			if len(now.rows) > 0 && (raw >= maxRaw || now.rows[0].tenant != key.tenant || seq > 0) {
				flush()
			}
			run := Run{
				Ordinal: uint32(ordinal), Block: uint32(len(k.blocks)), First: uint32(len(now.rows)), Rows: uint32(len(part)), Seq: seq,
				MinTime: part[0].time, MaxTime: part[len(part)-1].time,
			}
			for _, e := range part {
				run.Raw += int64(len(e.line) + len(e.meta))
			}
			raw += int(run.Raw)
			now.rows, runs = append(now.rows, part...), append(runs, run)
			seq++
		}
	}
	flush()
	var e packer
	for i := range k.blocks {
		k.blocks[i].encode(t, &e, i%3 == 1)
	}
	k.write(t, info)
	return k
}

// encode encodes the rows, with CodecColumns if columns is set.
func (b *packedBlock) encode(t testing.TB, by *packer, columns bool) {
	t.Helper()
	e, f := &by.lines, filter.Builder{}
	if b.codec = CodecLines; columns {
		e, b.codec = &by.columns, CodecColumns
		if e.Miner == nil {
			e.Miner = template.NewMiner()
		}
	}
	e.Reset()
	for _, r := range b.rows {
		e.Add(r.time, []byte(r.line), []byte(r.meta))
		f.Add([]byte(r.line))
	}
	p, err := e.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	b.block, b.filter, b.templates = p, f.Append(nil), nil
	if columns {
		b.templates = e.Templates().Clone()
	}
}

// open opens the segment, as a file if view is set.
func (k *packed) open(t testing.TB, view bool) *index2 {
	t.Helper()
	x, err := openBytes(k.p, view, nil)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func openBytes(p []byte, view bool, cache Cache) (*index2, error) {
	src := Source(memory{p: p})
	if view {
		src = viewed{memory{p: p}}
	}
	c, err := OpenCard(src, int64(len(p)))
	if err != nil {
		return nil, err
	}
	return c.index(src, cache), nil
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// wordOf is the first word of a line.
func wordOf(e row) filter.Needle {
	word, _, _ := strings.Cut(e.line, " ")
	return filter.Word([]byte(word))
}

// decodeRows returns the rows of a frame, of x. keyOf returns the key of a stream.
func decodeRows(ctx context.Context, x interface {
	Dictionary(context.Context, uint16) (*template.Dictionary, error)
}, f *Frame, ids []ID, keyOf func(ordinal uint32) (streamKey, error)) ([]row, error) {
	templates, err := x.Dictionary(ctx, f.Dictionary)
	if UnlessRebuilt(err) != nil {
		return nil, err
	}
	var d block.Decoder
	times, err := d.Decode(f.Block, templates)
	if err != nil {
		return nil, err
	}
	var list []row
	for _, r := range f.Runs {
		key, err := keyOf(r.Ordinal)
		if err != nil {
			return nil, err
		}
		if uint64(r.First)+uint64(r.Rows) > uint64(len(times)) {
			return nil, fmt.Errorf("run %+v of a block of %d rows", r, len(times))
		}
		for i := r.First; i < r.First+r.Rows; i++ {
			e := row{streamKey: key, time: times[i], line: string(d.Line(int(i))), meta: string(d.Meta(int(i)))}
			if ids != nil {
				e.id = ids[i]
			}
			list = append(list, e)
		}
	}
	return list, nil
}

// A runRows is the rows of a run, with its place among those of the stream.
type runRows struct {
	seq  uint64
	rows []row
}

// collect adds the rows of a frame to those of their streams.
func collect(to map[streamKey][]runRows, f *Frame, rows []row) {
	for _, r := range f.Runs {
		part := rows[r.First : r.First+r.Rows]
		to[part[0].streamKey] = append(to[part[0].streamKey], runRows{r.Seq, part})
	}
}

// merged returns the rows of each stream as a reader gets them.
func merged(runs map[streamKey][]runRows) map[streamKey][]row {
	all := map[streamKey][]row{}
	for key, list := range runs {
		slices.SortStableFunc(list, func(a, b runRows) int { return cmp.Compare(a.seq, b.seq) })
		var rows []row
		for _, r := range list {
			rows = append(rows, r.rows...)
		}
		slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.time, b.time) })
		all[key] = rows
	}
	return all
}

// readAll returns the rows that can be read through the index, and the errors
// of the others. Errors of what was rebuilt are not among them.
func readAll(t testing.TB, x Index) (map[streamKey][]row, []error) {
	t.Helper()
	ctx, all := t.Context(), map[streamKey][]runRows{}
	var errs []error
	lost := func(err error) bool {
		if bad, ok := err.(*CorruptError); err != nil && (!ok || !bad.Rebuilt) {
			errs = append(errs, err)
			return true
		}
		return false
	}
	zones, err := x.Zones(ctx)
	lost(err)
	var f Frame
	for i := range zones {
		g, err := x.Group(ctx, i)
		if lost(err) || g == nil {
			continue
		}
		for n := g.First; n < g.First+len(g.Blocks); n++ {
			if lost(x.ReadFrame(ctx, &f, g, n)) {
				continue
			}
			ids, err := x.IDs(ctx, nil, &f)
			lost(err)
			rows, err := decodeRows(ctx, x, &f, ids, func(ordinal uint32) (streamKey, error) { return keyOf(ctx, x, ordinal) })
			if lost(err) {
				continue
			}
			collect(all, &f, rows)
		}
	}
	return merged(all), errs
}

// keyOf returns the key of a stream by the index, whose tenants are those of
// someRows.
func keyOf(ctx context.Context, x Index, ordinal uint32) (streamKey, error) {
	chunk, err := x.ChunkOf(ctx, ordinal)
	if err != nil {
		return streamKey{}, err
	}
	c, err := x.Labels(ctx, chunk)
	if c == nil {
		return streamKey{}, err
	}
	for _, tenant := range []string{"", "blue", "red"} {
		set, err := x.Select(ctx, tenant, nil)
		if err == nil && (set == nil || set.Contains(ordinal)) {
			return streamKey{tenant, c.Of(ordinal)}, nil
		}
	}
	return streamKey{}, &CorruptError{Block: -1, Reason: fmt.Sprintf("stream %d has no tenant", ordinal)}
}

// write writes the segment with its blocks.
func (k *packed) write(t testing.TB, info Info) {
	t.Helper()
	var out bytes.Buffer
	w := newWriter(&out, info, 0x0123456789abcdef)
	for rest := k.streams; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].tenant == rest[0].tenant {
			n++
		}
		var labels []string
		for _, s := range rest[:n] {
			labels = append(labels, s.labels)
		}
		if err := w.AddStreams(rest[0].tenant, slices.Values(labels)); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	for i, b := range k.blocks {
		var ids []ID
		for _, e := range b.rows {
			ids = append(ids, e.id)
		}
		if err := w.AddBlock(EncodedBlock{Block: b.block, Codec: b.codec, Templates: b.templates, Runs: k.runs.Of(i), IDs: ids}); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range k.blocks {
		if err := w.AddFilter(b.filter); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if k.info, err = w.Finish(); err != nil {
		t.Fatal(err)
	}
	k.p = out.Bytes()
}

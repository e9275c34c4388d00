package segment2

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/stele-go/stele/internal/filetest"
	"github.com/stele-go/stele/logstore/internal/filter"
)

// A testSegment is what a Writer is given.
type testSegment struct {
	info     Info
	tenants  []string
	labels   [][]string // of each tenant
	blocks   []EncodedBlock
	filters  [][]byte
	sections []Section
}

func (s *testSegment) keys() (keys []string) {
	for i, t := range s.tenants {
		keys = append(keys, keysOf(t, s.labels[i])...)
	}
	return keys
}

func (s *testSegment) write(out io.Writer) (Info, error) {
	w := newWriter(out, s.info, 0x0123456789abcdef)
	for i, t := range s.tenants {
		w.AddStreams(t, slices.Values(s.labels[i]))
	}
	for _, b := range s.blocks {
		w.AddBlock(b)
	}
	for _, f := range s.filters {
		w.AddFilter(f)
	}
	for _, one := range s.sections {
		w.AddSection(one)
	}
	return w.Finish()
}

// someSegment makes a segment of random rows: streams of several tenants, some
// with one row, some with many runs, some with none.
func someSegment(r *rand.Rand, tenants, streams, blocks int) *testSegment {
	s := &testSegment{info: Info{After: 10, Upto: 1000, Generation: 2, Created: 77, Log: [16]byte{1}, Term: 5, TermBefore: 4, Applied: 3}}
	seqs := map[uint32]uint64{}
	first := uint32(0)
	for t := range tenants {
		s.tenants = append(s.tenants, []string{"", "a", "b", "cc"}[t])
		labels := podLabels(r, streams)
		s.labels = append(s.labels, labels)
		for range blocks {
			low := first + r.Uint32N(uint32(len(labels)))
			s.blocks = append(s.blocks, someBlock(r, low, first+uint32(len(labels)), seqs))
			s.filters = append(s.filters, randomBytes(r, r.IntN(3)*40))
		}
		first += uint32(len(labels))
	}
	return s
}

// someBlock makes a block of streams from low on, below end.
func someBlock(r *rand.Rand, low, end uint32, seqs map[uint32]uint64) EncodedBlock {
	b := EncodedBlock{Block: randomBytes(r, 1+r.IntN(300)), Codec: 1}
	for ordinal := low; ordinal < end && len(b.Runs) < 300; ordinal += r.Uint32N(3) {
		run := Run{Ordinal: ordinal, Rows: 1 + r.Uint32N(3)*r.Uint32N(20), Seq: seqs[ordinal], MinTime: r.Int64N(1 << 50), Raw: r.Int64N(1000)}
		run.MaxTime = run.MinTime + r.Int64N(2)*r.Int64N(1<<40)
		seqs[ordinal] += 1 + r.Uint64N(2)*r.Uint64N(5)
		for range run.Rows {
			b.IDs = append(b.IDs, ID{11 + r.Uint64N(900), r.Uint32N(4)})
		}
		b.Runs = append(b.Runs, run)
	}
	return b
}

// A parsedSegment is the index of a segment, all of it.
type parsedSegment struct {
	p         []byte
	f         footer
	info      Info
	sections  []section
	directory []chunkEntry
	zones     []zone
}

func (s *parsedSegment) section(kind Type) section {
	for _, one := range s.sections {
		if one.kind == kind {
			return one
		}
	}
	return section{}
}

func (s *parsedSegment) open(t testing.TB, kind Type) []byte {
	t.Helper()
	one := s.section(kind)
	raw, err := one.open(s.p[one.off : one.off+one.bytes])
	if err != nil {
		t.Fatalf("section %d: %v", kind, err)
	}
	return raw
}

func (s *parsedSegment) parts(t testing.TB, kind Type) (list [][]byte) {
	t.Helper()
	one := s.section(kind)
	off, n := one.partTable()
	parts, err := one.parseParts(s.p[off : off+n])
	if err != nil {
		t.Fatalf("section %d: %v", kind, err)
	}
	for i, p := range parts {
		raw, err := p.open(nil, s.p[p.off:p.off+int64(p.bytes)])
		if err != nil {
			t.Fatalf("section %d: part %d: %v", kind, i, err)
		}
		list = append(list, raw)
	}
	return list
}

// parse reads header, footer, section table, directory and zones.
func parse(t testing.TB, p []byte) *parsedSegment {
	t.Helper()
	s := &parsedSegment{p: p}
	salt, head, ok := parseHeader(p)
	f, ver, ok2 := parseFooter(p[len(p)-footerSize:])
	table := p[f.table : f.table+int64(f.tableBytes)]
	if !ok || !ok2 || ver != version || salt != f.salt || checksum(table) != f.tableSum || f.table+int64(f.tableBytes)+footerSize != int64(len(p)) {
		t.Fatalf("header %+v, %v; footer %+v, %v", head, ok, f, ok2)
	}
	var err error
	if s.f, s.info = f, f.info; err == nil {
		s.sections, err = parseSections(table, f.table)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := parseOrigin(&s.info, s.open(t, TypeOrigin)); err != nil {
		t.Fatal(err)
	}
	if head.After != f.info.After || head.Upto != f.info.Upto || head.Created != f.info.Created || head.Log != f.info.Log ||
		head.Generation != f.info.Generation || head.Term != s.info.Term || head.TermBefore != s.info.TermBefore {
		t.Fatalf("the header says %+v, the footer %+v", head, s.info)
	}
	if s.info.Streams == 0 {
		return s
	}
	s.directory, err = parseDirectory(s.parts(t, TypeLabels)[0], s.info.Streams)
	if err != nil {
		t.Fatal(err)
	}
	s.zones, err = parseZones(s.open(t, TypeZones), s.section(TypeGroups), s.section(TypeFilters))
	if err != nil {
		t.Fatal(err)
	}
	s.info.Blocks = int(s.section(TypeGroups).items)
	return s
}

// group reads a group and its runs.
func (s *parsedSegment) group(t testing.TB, i int) (*Group, Runs) {
	t.Helper()
	z := &s.zones[i]
	open := func(p part) []byte {
		raw, err := p.open(nil, s.p[p.off:p.off+int64(p.bytes)])
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	g, err := parseGroup(open(z.blocks), i, z)
	if err != nil {
		t.Fatal(err)
	}
	runs, err := parseRuns(open(z.runs), g, z.Zone)
	if err != nil {
		t.Fatal(err)
	}
	return g, runs
}

// check compares everything in a segment with what was written.
func (s *testSegment) check(t testing.TB, p []byte) *parsedSegment {
	t.Helper()
	seg := parse(t, p)
	next := s.checkLabels(t, seg)
	totals := make([]streamTotal, seg.info.Streams)
	number := 0
	for i := range seg.zones {
		g, runs := seg.group(t, i)
		for j, b := range g.Blocks {
			if b.Offset != next || number != g.First+j {
				t.Fatalf("block %d is at %d; want block %d at %d", g.First+j, b.Offset, number, next)
			}
			next = b.Offset + b.Bytes
			s.checkBlock(t, seg, number, b, runs.Of(number))
			number++
		}
		for _, r := range runs {
			totals[r.Ordinal].add(r)
		}
	}
	if seg.info.Streams > 0 && next != seg.section(TypeFilters).off || number != len(s.blocks) {
		t.Fatalf("%d blocks, up to %d; want %d, up to %d", number, next, len(s.blocks), seg.section(TypeFilters).off)
	}
	var got []StreamTotals
	for _, p := range seg.parts(t, TypeStreams) {
		list, err := parseStreams(p, min(PartStreams, len(totals)-len(got)))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, list...)
	}
	if want := (func() (list []StreamTotals) {
		for i := range totals {
			list = append(list, totals[i].stored())
		}
		return list
	})(); !slices.Equal(got, want) {
		t.Fatal("the totals of streams are not those of their runs")
	}
	s.checkTenants(t, seg)
	return seg
}

// checkLabels compares all that there is of labels, and returns where the label
// frames end.
func (s *testSegment) checkLabels(t testing.TB, seg *parsedSegment) int64 {
	t.Helper()
	var keys []string
	next := int64(headerSize)
	filters := seg.parts(t, TypeLabels)[1:]
	var sets [][]byte
	for i, p := range filters {
		list, err := parseFilters(p, min(filterChunks, len(seg.directory)-i*filterChunks))
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, list...)
	}
	parity := seg.parts(t, TypeParity)
	read := func(i int) ([]byte, error) { e := seg.directory[i]; return seg.p[e.off : e.off+e.bytes()], nil }
	for i, e := range seg.directory {
		frame, _ := read(i)
		f, list, err := parseChunk(frame, seg.f.salt, e.off)
		if err != nil || e.off != next || int(f.number) != i || int(f.first) != len(keys) {
			t.Fatalf("%+v: %v", f, err)
		}
		again, err := rebuildFrame(seg.directory, i, parity[i%len(parity)], read)
		if err != nil || !bytes.Equal(again, frame) {
			t.Fatalf("chunk %d is rebuilt as another: %v", i, err)
		}
		next += e.bytes()
		keys = append(keys, list...)
	}
	if !slices.Equal(keys, s.keys()) {
		t.Fatalf("%d streams; want %d", len(keys), len(s.keys()))
	}
	stored := map[[2]string]*roaring.Bitmap{}
	names, complete := map[string]bool{}, false
	for i, p := range seg.parts(t, TypePostings) {
		if i == 0 {
			var err error
			if _, complete, err = parsePostingsDirectory(p); err != nil {
				t.Fatal(err)
			}
			continue
		}
		list, err := parsePostings(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range list {
			b := roaring.New()
			if err := addRuns(b, l.runs, len(keys)); err != nil {
				t.Fatal(err)
			}
			stored[[2]string{l.name, l.value}], names[l.name] = b, true
		}
	}
	streams := seg.parts(t, TypeStreamFilter)
	sum, err := parseSummary(seg.open(t, TypeSummary))
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range keys {
		h := filter.KeyOf(k)
		if !filter.InSet(streams[partOfHash(h, len(streams))], h) || chunkOfKey(seg.directory, k) != chunkOf(seg.directory, uint32(i)) {
			t.Fatalf("stream %d is not found", i)
		}
		_, labels, _ := splitKey(k)
		eachLabel(labels, func(name, value, _ string) {
			name, _ = cutSized(name)
			b := stored[[2]string{name, value}]
			if names[name] && !b.Contains(uint32(i)) || complete && !names[name] || !sum.may(name, value) ||
				!filter.InSet(sets[chunkOf(seg.directory, uint32(i))], labelKeyOf(name, value)) {
				t.Fatalf("stream %d is not found by %s=%s", i, name, value)
			}
			if b != nil {
				b.Remove(uint32(i))
			}
		})
	}
	for l, b := range stored {
		if !b.IsEmpty() {
			t.Fatalf("%s=%s has %d streams too many", l[0], l[1], b.GetCardinality())
		}
	}
	return next
}

func (s *testSegment) checkBlock(t testing.TB, seg *parsedSegment, number int, b Block, runs Runs) {
	t.Helper()
	want := s.blocks[number]
	f, ok := parseBlockFrame(seg.p[b.Offset:], seg.f.salt, b.Offset)
	if !ok || int(f.number) != number || f.bytes() != b.Bytes || f.codec != want.Codec || f.dictionary != 0 {
		t.Fatalf("block %d: %+v, %v", number, f, ok)
	}
	list := seg.p[b.Offset+blockHeaderSize:][:f.list]
	positions := seg.p[b.Offset+blockHeaderSize+int64(f.list):][:f.positions]
	block := seg.p[b.Offset+b.Bytes-int64(f.size) : b.Offset+b.Bytes]
	if checksum(list) != f.listSum || checksum(positions) != f.positionsSum || checksum(block) != f.sum || f.sum != b.sum || !bytes.Equal(block, want.Block) {
		t.Fatalf("block %d is not as it was written", number)
	}
	frame, rows, err := parseList(nil, list)
	if err != nil || rows != int(b.Rows) || len(frame) != len(want.Runs) || len(runs) != len(want.Runs) {
		t.Fatalf("block %d: %d rows in %d runs, %v", number, rows, len(frame), err)
	}
	for i, r := range want.Runs {
		got := runs[i]
		if frame[i] != (FrameRun{r.Ordinal, got.First, r.Rows, r.Seq}) {
			t.Fatalf("block %d: run %d: %+v", number, i, frame[i])
		}
		if got.First, got.Block = 0, 0; got != r {
			t.Fatalf("block %d: run %d: %+v; want %+v", number, i, got, r)
		}
	}
	ids, err := parsePositions(nil, positions, frame)
	if err != nil || !slices.Equal(ids, want.IDs) {
		t.Fatalf("block %d: its IDs are others: %v", number, err)
	}
	set := seg.p[b.FilterOffset:][:b.FilterBytes]
	if !bytes.Equal(set, s.filters[number]) || b.FilterBytes > 0 && checksum(set) != b.filterSum {
		t.Fatalf("block %d: its filter is another", number)
	}
}

func (s *testSegment) checkTenants(t testing.TB, seg *parsedSegment) {
	t.Helper()
	tenants, err := parseTenants(seg.open(t, TypeTenants), seg.info)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range tenants {
		if r.tenant != s.tenants[i] || r.streams != len(s.labels[i]) || r.blocks != len(s.blocks)/len(s.tenants) {
			t.Fatalf("%+v", r)
		}
	}
	if len(tenants) != len(s.tenants) {
		t.Fatalf("%d tenants; want %d", len(tenants), len(s.tenants))
	}
}

func TestWriter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ tenants, streams, blocks int }{{1, 1, 1}, {1, 30, 5}, {3, 2000, 300}, {1, 20_000, 300}} {
		s := someSegment(r, c.tenants, c.streams, c.blocks)
		s.sections = []Section{
			{Type: TypeRoster, Items: 4, Data: bytes.Repeat([]byte("roster"), 30)},
			{Type: TypeDeletes, Instance: 0, Flags: FlagNeeded, Data: []byte("d")},
			{Type: TypeDeletes, Instance: 1, Flags: FlagKept, Data: nil},
		}
		var out bytes.Buffer
		info, err := s.write(&out)
		if err != nil {
			t.Fatal(err)
		}
		seg := s.check(t, out.Bytes())
		if seg.info != info || info.Size != int64(out.Len()) || info.Blocks != len(s.blocks) {
			t.Errorf("%+v, written as %+v", seg.info, info)
		}
		for i, want := range s.sections {
			got := seg.sections[1+i]
			p, err := got.open(out.Bytes()[got.off : got.off+got.bytes])
			if err != nil || got.kind != want.Type || got.instance != want.Instance || got.flags != want.Flags || got.items != want.Items || !bytes.Equal(p, want.Data) {
				t.Errorf("%+v, %v; want %+v", got, err, want)
			}
		}
		t.Logf("%+v: %d bytes", c, out.Len())
	}
}

// A segment may have no rows: what it has of the log stays.
func TestWriterWithoutRows(t *testing.T) {
	for _, streams := range []int{0, 3} {
		s := &testSegment{info: Info{Upto: 7}, sections: []Section{{Type: TypeRoster, Data: []byte("roster")}}}
		if streams > 0 {
			s.tenants, s.labels = []string{""}, [][]string{podLabels(rand.New(rand.NewPCG(1, 2)), streams)}
		}
		var out bytes.Buffer
		info, err := s.write(&out)
		if err != nil || info.Rows != 0 || info.Streams != streams {
			t.Fatalf("%+v, %v", info, err)
		}
		seg := parse(t, out.Bytes())
		if streams > 0 {
			s.check(t, out.Bytes())
		} else if len(seg.sections) != 2 {
			t.Errorf("%+v", seg.sections)
		}
		if string(seg.open(t, TypeRoster)) != "roster" || seg.info != info {
			t.Errorf("%+v, written as %+v", seg.info, info)
		}
	}
}

// Positions of another segment are copied as they are.
func TestWriterCopiesPositions(t *testing.T) {
	s := someSegment(rand.New(rand.NewPCG(1, 2)), 1, 50, 3)
	var first, second bytes.Buffer
	if _, err := s.write(&first); err != nil {
		t.Fatal(err)
	}
	g, _ := parse(t, first.Bytes()).group(t, 0)
	copied := *s
	copied.info.After = 5
	copied.blocks = slices.Clone(s.blocks)
	for i, b := range g.Blocks {
		copied.blocks[i].IDs = nil
		copied.blocks[i].Positions = first.Bytes()[b.Offset+blockHeaderSize+int64(b.list):][:b.positions]
	}
	if _, err := copied.write(&second); err != nil {
		t.Fatal(err)
	}
	s.check(t, second.Bytes())
}

// Whatever is not in order is refused, and so is everything after it.
func TestWriterOrder(t *testing.T) {
	run := Run{Rows: 1}
	block := EncodedBlock{Block: []byte("b"), Runs: Runs{run}, IDs: []ID{{1, 0}}}
	with := func(change func(b *EncodedBlock)) func(*Writer) error {
		return func(w *Writer) error {
			b := block
			b.Runs = slices.Clone(b.Runs)
			change(&b)
			return w.AddBlock(b)
		}
	}
	for name, f := range map[string]func(w *Writer) error{
		"streams not in order": func(w *Writer) error {
			return w.AddStreams("", slices.Values([]string{labelsOf("b", "b"), labelsOf("a", "a")}))
		},
		"a stream twice": func(w *Writer) error { return w.AddStreams("", slices.Values([]string{"", ""})) },
		"tenants not in order": func(w *Writer) error {
			w.AddStreams("z", slices.Values([]string{""}))
			return w.AddStreams("y", slices.Values([]string{""}))
		},
		"labels too long": func(w *Writer) error {
			return w.AddStreams("", slices.Values([]string{strings.Repeat("l", MaxLabels+1)}))
		},
		"a tenant too long":               func(w *Writer) error { return w.AddStreams(strings.Repeat("t", 256), slices.Values([]string{""})) },
		"labels that are not well-formed": func(w *Writer) error { return w.AddStreams("", slices.Values([]string{"x"})) },
		"streams after blocks":            func(w *Writer) error { w.AddBlock(block); return w.AddStreams("z", slices.Values([]string{""})) },
		"an empty block":                  with(func(b *EncodedBlock) { b.Block = nil }),
		"no runs":                         with(func(b *EncodedBlock) { b.Runs = nil }),
		"no rows":                         with(func(b *EncodedBlock) { b.Runs[0].Rows = 0 }),
		"too many rows":                   with(func(b *EncodedBlock) { b.Runs[0].Rows = 1<<20 + 1 }),
		"too many bytes":                  with(func(b *EncodedBlock) { b.Runs[0].Raw = 1 << 31 }),
		"times not in order":              with(func(b *EncodedBlock) { b.Runs[0].MinTime = 1 }),
		"an unknown stream":               with(func(b *EncodedBlock) { b.Runs[0].Ordinal = 4 }),
		"two tenants":                     with(func(b *EncodedBlock) { b.Runs = append(b.Runs, Run{Ordinal: 3, Rows: 1}); b.IDs = make([]ID, 2) }),
		"ordinals not in order":           with(func(b *EncodedBlock) { b.Runs = append(Runs{{Ordinal: 1, Rows: 1}}, b.Runs...) }),
		"a seq twice":                     with(func(b *EncodedBlock) { b.Runs = append(b.Runs, b.Runs...); b.IDs = make([]ID, 2) }),
		"IDs and positions":               with(func(b *EncodedBlock) { b.Positions = []byte{1} }),
		"too few IDs":                     with(func(b *EncodedBlock) { b.Runs[0].Rows = 2 }),
		"a tenant again": func(w *Writer) error {
			with(func(b *EncodedBlock) { b.Runs[0].Ordinal = 3 })(w)
			return w.AddBlock(block)
		},
		"too many filters": func(w *Writer) error { w.AddBlock(block); w.AddFilter(nil); return w.AddFilter(nil) },
		"too few filters": func(w *Writer) error {
			w.AddBlock(block)
			w.AddBlock(block)
			w.AddFilter(nil)
			_, err := w.Finish()
			return err
		},
		"blocks after filters": func(w *Writer) error { w.AddBlock(block); w.AddFilter(nil); return w.AddBlock(block) },
		"filters after sections": func(w *Writer) error {
			w.AddBlock(block)
			w.AddFilter(nil)
			w.AddSection(Section{Type: TypeRoster})
			return w.AddFilter(nil)
		},
		"a section twice": func(w *Writer) error {
			w.AddSection(Section{Type: TypeRoster})
			return w.AddSection(Section{Type: TypeRoster})
		},
		"a section of the index": func(w *Writer) error { return w.AddSection(Section{Type: TypeZones}) },
		"a flag of the index":    func(w *Writer) error { return w.AddSection(Section{Type: TypeRoster, Flags: flagParts}) },
		"anything after the end": func(w *Writer) error { w.Finish(); return w.AddSection(Section{Type: TypeRoster}) },
	} {
		w := NewWriter(io.Discard, Info{Upto: 1})
		if err := w.AddStreams("", slices.Values([]string{"", labelsOf("a", "b"), labelsOf("c", "d")})); err != nil {
			t.Fatal(err)
		}
		if err := w.AddStreams("t", slices.Values([]string{""})); err != nil {
			t.Fatal(err)
		}
		// AddBlock of "too few filters" and others needs growing Seqs only in a block.
		err := f(w)
		if err == nil || !strings.HasPrefix(err.Error(), "segment: ") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, again := w.Finish(); again != err {
			t.Errorf("%s: %v, and then %v", name, err, again)
		}
		t.Log(err)
	}
	w := NewWriter(io.Discard, Info{After: 2, Upto: 1})
	if _, err := w.Finish(); err == nil {
		t.Error("After behind Upto is taken")
	}
}

// A limitedWriter fails behind so many bytes, and notes the largest call.
type limitedWriter struct {
	left, largest int
}

var errFull = errors.New("no space left")

func (w *limitedWriter) Write(p []byte) (int, error) {
	w.largest = max(w.largest, len(p))
	if w.left -= len(p); w.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// The writer's error is that of the file, at each size; calls are of 256 KiB at
// most.
func TestWriterFails(t *testing.T) {
	s := someSegment(rand.New(rand.NewPCG(1, 2)), 2, 500, 15)
	for i := range s.blocks {
		s.blocks[i].Block = make([]byte, 90_000)
	}
	all := &limitedWriter{left: 1 << 30}
	info, err := s.write(all)
	if err != nil || all.largest > writeSize || info.Size < 8*writeSize {
		t.Fatalf("%+v, %v, calls of up to %d bytes", info, err, all.largest)
	}
	for left := 0; left < int(info.Size); left += writeSize / 2 {
		if _, err := s.write(&limitedWriter{left: left}); !errors.Is(err, errFull) {
			t.Errorf("behind %d bytes: %v", left, err)
		}
	}
}

// exampleSegment is the worked example of the package comment.
func exampleSegment() *testSegment {
	return &testSegment{
		info:    Info{Upto: 3, Generation: 1, Created: 9, Log: [16]byte([]byte("the id of a log.")), Term: 2, TermBefore: 1},
		tenants: []string{""}, labels: [][]string{{labelsOf("app", "api"), labelsOf("app", "web")}},
		blocks: []EncodedBlock{{
			Block: []byte("rows"), Codec: 1, IDs: []ID{{1, 0}, {1, 1}, {3, 0}},
			Runs: Runs{{Rows: 2, MinTime: 5, MaxTime: 6, Raw: 10}, {Ordinal: 1, Rows: 1, MinTime: 7, MaxTime: 7, Raw: 4}},
		}},
		filters: [][]byte{[]byte("words")},
	}
}

func TestWorkedExample(t *testing.T) {
	s := exampleSegment()
	var out bytes.Buffer
	if _, err := s.write(&out); err != nil {
		t.Fatal(err)
	}
	s.check(t, out.Bytes())
	filetest.CheckExample(t, 0, out.Bytes())
}

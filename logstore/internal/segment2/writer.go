package segment2

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"unsafe"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/template"
)

// A Writer writes a segment to w, from its first byte to its last, in calls of
// 256 KiB at most. Call AddStreams for all streams, then AddBlock for each
// block, AddFilter for each of these, AddKeys, AddSources and AddSection, and
// Finish. It is for one goroutine. After an error all calls return it.
//
// While streams are added its memory is some 8 bytes a stream, and the postings,
// at most 8 MiB; then about 8 bytes a run and 100 a block, and a dictionary.
type Writer struct {
	out  output
	zip  zipper
	salt uint64
	info Info
	err  error
	step writerStep

	labels labelsWriter
	index  *labelSections // once all streams are known

	groups    groupsWriter
	templates templatesWriter
	positions positionsEncoder
	tenant    int // that the last block belongs to
	ends      []uint32
	frame     []byte // scratch
	list      []FrameRun
	runs      Runs

	filtered int // blocks whose filter was added
	sections []section
}

// A writerStep is how far a Writer has come. Steps may be left out, not
// repeated.
type writerStep int

const (
	addingStreams writerStep = iota
	addingBlocks
	addingFilters
	addingSections
	finished
)

func (s writerStep) String() string {
	return [...]string{"AddStreams", "AddBlock", "AddFilter", "AddSection", "Finish"}[s]
}

// An EncodedBlock is a block for a Writer. Its runs cover its rows, in order,
// and are of streams of one tenant, whose ordinals do not decrease; those of one
// stream have growing Seqs. First and Block of a run are computed.
type EncodedBlock struct {
	Block []byte
	Codec uint16 // CodecLines or CodecColumns
	// Templates has those that the table of a block of CodecColumns refers to, by their
	// numbers; the segment has them in dictionaries of its own, with other numbers.
	Templates *template.Dictionary
	Runs      Runs
	// IDs has the identity of each row. Positions may be given instead, as
	// another segment has them; without either, they are lost.
	IDs       []ID
	Positions []byte
}

// A Section is a section that the Writer does not know: of the type TypeRoster,
// TypeDeletes or TypeLosses, or of one that is not named here.
type Section struct {
	Type     Type
	Instance uint32
	Flags    Flags
	Items    uint32
	Data     []byte
}

// NewWriter returns a Writer to w. Of info the positions, Generation, Created,
// Log, Term, TermBefore and Applied must be set; the Writer computes the others.
func NewWriter(w io.Writer, info Info) *Writer { return newWriter(w, info, rand.Uint64()) }

func newWriter(out io.Writer, info Info, salt uint64) *Writer {
	w := &Writer{
		out: output{w: out, buf: make([]byte, 0, writeSize)}, salt: salt,
		info: Info{
			Version: version, After: info.After, Upto: info.Upto, Generation: info.Generation, Created: info.Created,
			Log: info.Log, Term: info.Term, TermBefore: info.TermBefore, Applied: info.Applied,
		},
	}
	if info.After > info.Upto {
		w.fail(fmt.Errorf("the segment ends at position %d, before %d behind which it begins; want Upto at least After", info.Upto, info.After))
	}
	w.labels = labelsWriter{out: &w.out, zip: &w.zip, salt: salt, postings: newPostings()}
	w.groups.zip = &w.zip
	w.out.put(appendHeader(nil, salt, w.info))
	return w
}

// LimitPostings bounds the memory of postings, which is 8 MiB at most. It is called
// before AddStreams.
func (w *Writer) LimitPostings(bytes int64) {
	w.labels.postings.limit = int(min(bytes, postingsMemory))
}

// Memory returns about how many bytes of memory the Writer takes.
func (w *Writer) Memory() int64 {
	n := writerBytes + totalsMemory(w.labels.count) + w.labels.memory() + w.groups.memory() + w.templates.memory() + int64(cap(w.frame)) +
		int64(cap(w.list))*frameRunBytes + int64(cap(w.runs))*runBytes
	if x := w.index; x != nil {
		n += partsMemory(x.directory) + partsMemory(x.parity) + partsMemory(x.postings) + partsMemory(x.filter)
	}
	return n
}

const (
	// writerBytes is about the memory of a Writer beside what grows: its buffer, and
	// that of the compressor.
	writerBytes   = writeSize + 2<<20
	frameRunBytes = int64(unsafe.Sizeof(FrameRun{}))
	runBytes      = int64(unsafe.Sizeof(Run{}))
)

// partsMemory returns the bytes of memory of parts.
func partsMemory(parts []storedPart) (n int64) {
	for _, p := range parts {
		n += int64(cap(p.p)) + int64(unsafe.Sizeof(p))
	}
	return n
}

// fail keeps the first error.
func (w *Writer) fail(err error) error {
	if w.err == nil && w.out.err != nil {
		w.err = w.out.err
	}
	if w.err == nil && err != nil {
		w.err = fmt.Errorf("segment: %w", err)
	}
	return w.err
}

// AddStreams adds streams of a tenant by their labels, in order. Tenants come in
// the order of the lengths of their names, then of the names. The ordinals of
// streams follow from that order.
func (w *Writer) AddStreams(tenant string, labels iter.Seq[string]) error {
	if w.begin(addingStreams) != nil {
		return w.err
	}
	for l := range labels {
		if err := w.fail(w.labels.add(tenant, l)); err != nil {
			return err
		}
	}
	return nil
}

// AddBlock writes a block. It keeps no argument.
func (w *Writer) AddBlock(b EncodedBlock) error {
	if w.begin(addingBlocks) != nil {
		return w.err
	}
	number := len(w.groups.blocks)
	entry, err := w.check(b)
	var table []block.TemplateRows
	if err == nil && b.Codec == CodecColumns {
		b.Block, entry.Dictionary, err = w.templates.add(&w.zip, b.Block, b.Templates)
		entry.size, table = uint32(len(b.Block)), w.templates.table
		if err == nil && len(b.Block) > MaxRead { // larger numbers of templates take more bytes
			err = errBlockSize(len(b.Block))
		}
	}
	if err == nil {
		entry.sum = checksum(b.Block)
		err = w.putBlock(&entry, b)
	}
	if err == nil {
		err = w.groups.add(entry, w.runs, table)
	}
	if err != nil {
		err = fmt.Errorf("block %d: %w", number, err)
	}
	return w.fail(err)
}

// check verifies the argument of AddBlock, sets runs and list, and returns the
// beginning of the block's entry.
func (w *Writer) check(b EncodedBlock) (Block, error) {
	if len(b.Block) == 0 || len(b.Block) > MaxRead {
		return Block{}, errBlockSize(len(b.Block))
	}
	if len(b.Runs) == 0 || len(b.Runs) > maxBlockRuns || len(w.groups.blocks) == math.MaxInt32 {
		return Block{}, fmt.Errorf("%d runs, behind %d blocks; want 1 to %d", len(b.Runs), len(w.groups.blocks), maxBlockRuns)
	}
	if err := w.checkTenant(b.Runs[0].Ordinal, b.Runs[len(b.Runs)-1].Ordinal); err != nil {
		return Block{}, err
	}
	w.runs, w.list = w.runs[:0], w.list[:0]
	entry := Block{
		Codec: b.Codec, size: uint32(len(b.Block)),
		Runs: uint32(len(b.Runs)), Low: b.Runs[0].Ordinal, High: b.Runs[len(b.Runs)-1].Ordinal,
		MinTime: math.MaxInt64, MaxTime: math.MinInt64,
	}
	for i, r := range b.Runs {
		if err := checkRun(b.Runs, i); err != nil {
			return Block{}, fmt.Errorf("run %d: %w", i, err)
		}
		if r.Rows > maxBlockRows-entry.Rows || r.Raw > int64(math.MaxInt32-entry.Raw) {
			return Block{}, fmt.Errorf("run %d: with it %d rows and %d bytes; want at most %d and %d", i,
				int64(entry.Rows)+int64(r.Rows), int64(entry.Raw)+r.Raw, maxBlockRows, math.MaxInt32)
		}
		r.First, r.Block = entry.Rows, uint32(len(w.groups.blocks))
		entry.Rows += r.Rows
		entry.Raw += uint32(r.Raw)
		entry.MinTime, entry.MaxTime = min(entry.MinTime, r.MinTime), max(entry.MaxTime, r.MaxTime)
		w.runs = append(w.runs, r)
		w.list = append(w.list, FrameRun{Ordinal: r.Ordinal, First: r.First, Rows: r.Rows, Seq: r.Seq})
	}
	if len(b.IDs) > 0 && (len(b.IDs) != int(entry.Rows) || len(b.Positions) > 0) {
		return Block{}, fmt.Errorf("%d IDs for %d rows, and %d bytes of positions; want an ID for each row, or positions", len(b.IDs), entry.Rows, len(b.Positions))
	}
	return entry, nil
}

func errBlockSize(bytes int) error { return fmt.Errorf("%d bytes; want 1 to %d", bytes, MaxRead) }

// checkRun verifies the i-th run of a block.
func checkRun(runs Runs, i int) error {
	r := &runs[i]
	switch {
	case r.Rows == 0:
		return errors.New("0 rows; want at least 1")
	case r.MaxTime < r.MinTime:
		return fmt.Errorf("times from %d to %d; want them in order", r.MinTime, r.MaxTime)
	case r.Seq > maxSeq:
		return fmt.Errorf("seq %d; want at most %d", r.Seq, int64(maxSeq))
	case r.Raw < 0:
		return fmt.Errorf("%d bytes; want 0 or more", r.Raw)
	case i == 0:
		return nil
	}
	switch before := &runs[i-1]; {
	case r.Ordinal < before.Ordinal:
		return fmt.Errorf("ordinal %d behind %d; want ordinals in order", r.Ordinal, before.Ordinal)
	case r.Ordinal == before.Ordinal && r.Seq <= before.Seq:
		return fmt.Errorf("seq %d of a stream behind %d; want them in order", r.Seq, before.Seq)
	}
	return nil
}

// checkTenant verifies that a block with these ordinals has streams of one
// tenant, and does not come too late for it.
func (w *Writer) checkTenant(low, high uint32) error {
	if high < low || int64(high) >= int64(w.labels.count) {
		return fmt.Errorf("ordinals from %d to %d; want them in order, below %d", low, high, w.labels.count)
	}
	for w.tenant < len(w.ends)-1 && low >= w.ends[w.tenant] {
		w.tenant++
	}
	if high >= w.ends[w.tenant] || w.tenant > 0 && low < w.ends[w.tenant-1] {
		return fmt.Errorf("ordinals from %d to %d; want those of one tenant, and tenants in order: %q has streams below %d",
			low, high, w.index.tenants[w.tenant].tenant, w.ends[w.tenant])
	}
	w.index.tenants[w.tenant].blocks++
	return nil
}

// putBlock writes the frame of a block and completes its entry.
func (w *Writer) putBlock(entry *Block, b EncodedBlock) error {
	w.frame = append(w.frame[:0], make([]byte, blockHeaderSize)...)
	w.frame = appendList(w.frame, w.list)
	entry.list = uint32(len(w.frame) - blockHeaderSize)
	positions := len(w.frame)
	w.frame = append(w.frame, b.Positions...)
	if len(b.IDs) > 0 {
		var err error
		if w.frame, err = w.positions.append(w.frame, &w.zip, w.list, b.IDs); err != nil {
			return err
		}
	}
	if len(w.frame)-positions > MaxRead {
		return fmt.Errorf("%d bytes of positions; want at most %d", len(w.frame)-positions, MaxRead)
	}
	entry.positions = uint32(len(w.frame) - positions)
	entry.Offset = w.out.size()
	head := blockFrame{
		number: uint32(len(w.groups.blocks)), codec: entry.Codec, dictionary: entry.Dictionary,
		list: entry.list, positions: entry.positions, size: entry.size,
		listSum: checksum(w.frame[blockHeaderSize:positions]), positionsSum: checksum(w.frame[positions:]), sum: entry.sum,
	}
	entry.Bytes = head.bytes()
	head.append(w.frame[:0], w.salt, entry.Offset)
	w.out.put(w.frame)
	w.out.put(b.Block)
	return nil
}

// AddFilter writes the filter of the next block, which an empty one does not
// narrow down.
func (w *Writer) AddFilter(p []byte) error {
	if w.begin(addingFilters) != nil {
		return w.err
	}
	if w.filtered == len(w.groups.blocks) {
		return w.fail(fmt.Errorf("filter %d; want one for each of %d blocks", w.filtered, len(w.groups.blocks)))
	}
	if len(p) > MaxRead {
		return w.fail(fmt.Errorf("filter %d: %d bytes; want at most %d", w.filtered, len(p), MaxRead))
	}
	b := &w.groups.blocks[w.filtered]
	b.FilterOffset, b.FilterBytes, b.filterSum = w.out.size(), uint32(len(p)), checksum(p)
	w.filtered++
	w.out.put(p)
	return w.fail(nil)
}

// AddSection writes a section. A type and an instance may come once.
func (w *Writer) AddSection(s Section) error {
	if w.begin(addingSections) != nil {
		return w.err
	}
	switch {
	case s.Type < TypeRoster || s.Type >= TypeDictionary && s.Type < typeEnd:
		return w.fail(fmt.Errorf("section %d is written by Finish", s.Type))
	case s.Type == TypeKeys || s.Type == TypeSources:
		return w.fail(fmt.Errorf("section %d is written by AddKeys or AddSources", s.Type))
	case s.Flags&^(FlagNeeded|FlagKept) != 0:
		return w.fail(fmt.Errorf("section %d: flags %d; want FlagNeeded and FlagKept only", s.Type, s.Flags))
	case slices.ContainsFunc(w.sections, func(o section) bool { return o.kind == s.Type && o.instance == s.Instance }):
		return w.fail(fmt.Errorf("section %d: two of instance %d", s.Type, s.Instance))
	}
	return w.fail(w.putSection(section{kind: s.Type, instance: s.Instance, flags: s.Flags, items: s.Items}, s.Data))
}

// begin comes to a step, and ends those before.
func (w *Writer) begin(to writerStep) error {
	if w.err != nil {
		return w.err
	}
	if to < w.step {
		return w.fail(fmt.Errorf("%v after %v", to, w.step))
	}
	for ; w.step < to && w.err == nil; w.step++ {
		switch w.step {
		case addingStreams:
			w.fail(w.endStreams())
		case addingBlocks:
			w.fail(w.groups.end())
			w.fail(w.endDictionaries())
		case addingFilters:
			w.fail(w.endFilters())
		}
	}
	return w.err
}

func (w *Writer) endStreams() (err error) {
	w.index, err = w.labels.finish()
	if err != nil {
		return err
	}
	end := uint32(0)
	for _, t := range w.index.tenants {
		end += uint32(t.streams)
		w.ends = append(w.ends, end)
	}
	return nil
}

// endFilters makes the entry of the filters, which lie between the frames and
// the sections.
func (w *Writer) endFilters() error {
	blocks := w.groups.blocks
	if w.filtered < len(blocks) {
		return fmt.Errorf("%d filters; want one for each of %d blocks", w.filtered, len(blocks))
	}
	s := section{kind: TypeFilters, items: uint32(len(blocks)), off: w.out.size()}
	if len(blocks) > 0 {
		s.off = blocks[0].FilterOffset
	}
	s.bytes = w.out.size() - s.off
	s.raw = s.bytes
	if w.labels.count > 0 {
		w.sections = append(w.sections, s)
	}
	return nil
}

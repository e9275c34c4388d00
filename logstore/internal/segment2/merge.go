package segment2

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/logstore/internal/template"
)

// MergeOptions are the settings of Merge.
type MergeOptions struct {
	// BlockRaw is the target size of blocks in bytes of lines; a block of at
	// least half of that, or of very many rows, is copied.
	BlockRaw int
	// Encoder, unless nil, encodes the blocks that are not copied; else codec 1 does.
	Encoder BlockEncoder
	// Recode is how many bytes of lines of blocks of other codecs than Encoder's are
	// encoded again, however large the blocks are.
	Recode int64
	// Throttle, unless nil, is called before n bytes are read or written, at
	// most 256 KiB, and may wait.
	Throttle func(ctx context.Context, n int) error
	// Created and Generation are those of the new segment.
	Created    int64
	Generation uint32
	// Log is that of the new segment. If it is 0, the sources' is.
	Log [16]byte
	// Postings, unless 0, bounds the memory of postings in bytes, see
	// Writer.LimitPostings.
	Postings int64
	// Memory, unless nil, is called again and again with about how many bytes of
	// memory Merge takes.
	Memory func(bytes int64)
	// KeysSince leaves out the keys of batches that came before, in seconds since
	// the Unix epoch.
	KeysSince int64
	// Removals has for each source the rows that are left out, or nil; it is empty
	// where all stay. At least one row of all stays. A block of CodecLines that loses
	// rows and is not recoded keeps its filter, which may then seem to have words that it
	// has not.
	Removals []*Removal
	// Applied is what Info.Applied is at least.
	Applied uint64
	// Sections, unless nil, is called behind the last block, and returns the
	// sections of the types TypeRoster, TypeDeletes and TypeLosses.
	Sections func() ([]Section, error)
}

// Merge writes one segment of version 2 with all rows of sources, of any version, but
// for MergeOptions.Removals. The sources are ordered by positions: the After of each is
// the Upto of the one before, or more. After and TermBefore are those of the first
// source, Upto and Term those of the last, Applied is the lowest, or
// MergeOptions.Applied.
//
// A block of at least half of BlockRaw is copied, unless it is recoded; smaller ones of
// a tenant are merged, up to BlockRaw and 16 joined filters. Blocks lie in the order of
// their lowest streams, of equal ones in that of sources. Filters are rebuilt only of
// blocks that another codec than 1 encodes, or has encoded; positions are kept. Blocks
// that are copied get new numbers of their templates, of which the new segment has each
// once. The keys of batches are those of all sources, the sources of batches those of
// the last one that knows some.
//
// The error is a *CorruptError if a source is damaged and what is damaged cannot
// be rebuilt; a *VersionError if a source has what this program cannot carry
// over: a section of the types that MergeOptions.Sections gives without that, or
// one to be kept that has parts; else that of a source, of w or of the context.
// Sources whose Log differs are refused.
//
// Its memory is that of a Writer, 4 bytes a stream of each source, 2 a stream of
// the new segment, about 80 a block, 0.5 MiB a source and its last dictionary, the
// filters that are rebuilt, up to 3 bytes a line of those blocks, and a few blocks, 6 MiB
// in all; and for each source of version 1 its tables and 50 bytes a stream.
func Merge(ctx context.Context, w io.Writer, sources []MergeSource, o MergeOptions) (Info, error) {
	info, err := mergedInfo(sources, o)
	if err != nil {
		return Info{}, err
	}
	m, err := newMerger(ctx, w, sources, info, o)
	if err != nil {
		return Info{}, err
	}
	for _, step := range []func() error{m.mergeStreams, m.plan, m.writeBlocks, m.writeFilters, m.writeBatches, m.writeSections} {
		if err := step(); err != nil {
			return Info{}, err
		}
	}
	return m.w.Finish()
}

// mergedInfo returns what is known of the new segment before its rows.
func mergedInfo(sources []MergeSource, o MergeOptions) (Info, error) {
	if len(sources) == 0 || len(sources) > maxSources {
		return Info{}, fmt.Errorf("segment: merge of %d sources; want 1 to %d", len(sources), maxSources)
	}
	if o.BlockRaw <= 0 {
		return Info{}, setting.Wrong("segment: MergeOptions.BlockRaw", setting.Bytes(o.BlockRaw), "1 or more")
	}
	first, last := sources[0].Info(), sources[len(sources)-1].Info()
	info := Info{
		After: first.After, Upto: last.Upto, Generation: o.Generation, Created: o.Created, Log: o.Log,
		Term: last.Term, TermBefore: first.TermBefore, Applied: first.Applied,
	}
	if len(o.Removals) > 0 && len(o.Removals) != len(sources) {
		return Info{}, fmt.Errorf("segment: merge of %d sources with %d removals; want as many, or none", len(sources), len(o.Removals))
	}
	upto := first.After
	for i, s := range sources {
		one := s.Info()
		if one.After < upto {
			return Info{}, fmt.Errorf("segment: merge: source %d begins behind position %d; want %d at least, where the source before it ends", i, one.After, upto)
		}
		upto = one.Upto
		info.Applied = min(info.Applied, one.Applied)
		if info.Log == ([16]byte{}) {
			info.Log = one.Log
		}
		if one.Log != info.Log && one.Log != ([16]byte{}) {
			return Info{}, fmt.Errorf("segment: merge: source %d is of the log %x; want %x", i, one.Log, info.Log)
		}
	}
	info.Applied = max(info.Applied, o.Applied)
	return info, nil
}

// maxSources bounds the sources of a merge.
const maxSources = 1 << 12

// A merger is a Merge under way.
type merger struct {
	ctx     context.Context
	o       MergeOptions
	w       *Writer
	sources []*mergeSource

	first      []uint16 // for each stream of the new segment, the first source that has it
	tenantEnds []uint32 // the ordinal behind the last stream of each tenant
	units      []mergeUnit
	written    [][]blockID    // for each block of the new segment, those that it is made of
	made       map[int][]byte // by block of the new segment: filters that were made again
	madeBytes  int64
	recode     int64 // what is left of MergeOptions.Recode

	frame  Frame
	runs   Runs
	ids    []ID
	blocks blockMerger
}

// A mergeSource is a source of a merge.
type mergeSource struct {
	MergeReader
	src      Source
	version2 bool
	zones    []Zone
	removal  *Removal // or nil
	// ordinals are those of the streams in the new segment; of a stream that is
	// emptied, the next one.
	ordinals []uint32
	// base is added to the seqs of streams that a source before has, too: it is
	// above all of theirs.
	base uint64

	group *Group // the last one
	spans groupSpans

	dictionary       *template.Dictionary // the last one
	dictionaryNumber uint16               // of it; 0: none
	part             *Part                // the last one
}

func newMerger(ctx context.Context, w io.Writer, sources []MergeSource, info Info, o MergeOptions) (*merger, error) {
	m := &merger{
		ctx: ctx, o: o, w: NewWriter(&throttledWriter{ctx, w, o.Throttle}, info),
		sources: make([]*mergeSource, len(sources)), recode: o.Recode, made: map[int][]byte{},
	}
	if m.blocks.encoder = o.Encoder; o.Encoder == nil {
		m.blocks.encoder = new(linesEncoder)
	}
	if o.Postings > 0 {
		m.w.LimitPostings(o.Postings)
	}
	for i, one := range sources {
		s := &mergeSource{version2: one.Info().Version == version}
		if len(o.Removals) > 0 {
			s.removal = o.Removals[i]
		}
		pace := func(src Source) Source {
			s.src = newThrottledSource(ctx, src, o.Throttle)
			return s.src
		}
		r, err := one.OpenMerge(pace)
		if err != nil {
			return nil, err
		}
		s.MergeReader = r
		if s.zones, err = r.Zones(ctx); UnlessRebuilt(err) != nil {
			return nil, err
		}
		if x, ok := r.(*index2); ok {
			if err := x.checkSections(o.Sections != nil); err != nil {
				return nil, err
			}
		}
		m.sources[i] = s
	}
	return m, nil
}

// corrupt returns damage of the source.
func (s *mergeSource) corrupt(off int64, block int, why error) error {
	return corrupt(s.src, off, block, "%v", why)
}

// shift returns a seq of a stream in the new segment.
func (m *merger) shift(source int, ordinal uint32, seq uint64) uint64 {
	if int(m.first[ordinal]) == source {
		return seq
	}
	return m.sources[source].base + seq
}

var errOrdinals = errors.New("its streams are not those of the segment")

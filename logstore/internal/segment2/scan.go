package segment2

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stele-go/stele/logstore/internal/template"
)

// A Scanned is a segment that was read by its frames, without its index. Its
// blocks are numbered by their place among those that were found. It is for one
// goroutine.
type Scanned struct {
	src    Source
	salt   uint64
	info   Info
	chunks []scannedChunk // by ordinals
	blocks []scannedBlock
	lost   []error

	dictionaries scannedDictionaries
}

// A scannedChunk is the keys of consecutive streams.
type scannedChunk struct {
	first uint32
	keys  []string
}

// A scannedBlock is the frame of a block.
type scannedBlock struct {
	blockFrame
	off int64
}

// Scan reads a segment whose index or footer is damaged (the error of OpenCard,
// or of an Index, is a *CorruptError) by its frames. After, Upto, Generation
// and Created of info must be set: they are in the name of the file, and are
// used if header and footer do not tell. lost lists what could not be read.
//
// Scan reads all labels and dictionaries, the headers and lists of all blocks, and
// everything between frames byte by byte. The labels stay in memory.
func Scan(ctx context.Context, src Source, size int64, info Info) (s *Scanned, lost []error, err error) {
	sc := scanner{Scanned: Scanned{src: Within(ctx, src), info: info}, size: size}
	if err := sc.begin(); err != nil {
		return nil, nil, err
	}
	for off := sc.start; off < sc.stop; {
		f, next, err := sc.nextFrame(ctx, off)
		if err != nil {
			return nil, nil, err
		}
		if next > off && (sc.ended || next < sc.stop) { // without the footer, filters and sections may follow
			sc.lose(off, -1, "%d bytes are no labels, no block and no dictionary", next-off)
		}
		if next == sc.stop {
			break
		}
		if err := sc.add(f, next); err != nil {
			return nil, nil, err
		}
		off = next + f.bytes
	}
	if !sc.ended {
		sc.lose(size, -1, "the footer is not as it was written: blocks at the end of the file may be missing")
	}
	if err := sc.rebuild(ctx); err != nil {
		return nil, nil, err
	}
	return &sc.Scanned, sc.lost, nil
}

// A scanner is the state of Scan.
type scanner struct {
	Scanned
	size        int64
	start, stop int64  // of the frames
	ended       bool   // the footer is intact
	last        int64  // the number of the last block; -1 before the first
	next        uint32 // the ordinal behind the last chunk
}

func (sc *scanner) lose(off int64, block int, format string, args ...any) {
	sc.lost = append(sc.lost, corrupt(sc.src, off, block, format, args...))
}

// begin finds the salt of the frames and where they end.
func (sc *scanner) begin() error {
	if sc.size < headerSize {
		return corrupt(sc.src, 0, -1, "%d bytes are no segment", sc.size)
	}
	head, foot := make([]byte, headerSize), make([]byte, footerSize)
	if err := ReadFull(sc.src, head, 0, -1); err != nil {
		return err
	}
	if err := ReadFull(sc.src, foot, max(0, sc.size-footerSize), -1); err != nil && !isCorrupt(err) {
		return err
	}
	var err error
	f, ver, ended := parseFooter(foot)
	if ended && ver != version {
		return &VersionError{File: sc.src.Name(), Version: ver}
	}
	ver, salt, begins := parseVersion(head)
	if begins && ver != version {
		return &VersionError{File: sc.src.Name(), Version: ver}
	}
	sc.salt, sc.start, sc.stop, sc.last = salt, headerSize, sc.size, -1
	_, info, whole := parseHeader(head)
	if !whole {
		sc.lose(0, -1, "the header is not as it was written")
	}
	if sc.ended = ended && f.info.Size == sc.size && f.table >= headerSize && f.table <= sc.size-footerSize; sc.ended {
		sc.salt = f.salt
		if sc.stop, err = sc.endOfFrames(f); err != nil {
			return err
		}
		if !whole {
			info = f.info
		}
	} else if !begins {
		return corrupt(sc.src, 0, -1, "both the header and the footer are damaged: the salt of its frames is unknown")
	}
	if whole || sc.ended {
		sc.info = info
	}
	i := &sc.info
	i.Version, i.MinTime, i.MaxTime, i.Rows, i.Raw, i.Streams, i.Blocks, i.Size = version, 0, 0, 0, 0, 0, 0, sc.size
	return nil
}

// endOfFrames returns where the filters begin by the section table, behind the
// dictionary frames; if that is damaged, where it begins itself.
func (sc *scanner) endOfFrames(f footer) (int64, error) {
	if f.tableBytes > MaxRead {
		return f.table, nil
	}
	buf := getBuffer(int(f.tableBytes))
	defer buf.put()
	if err := ReadFull(sc.src, buf.p, f.table, -1); err != nil && !isCorrupt(err) {
		return 0, err
	}
	if checksum(buf.p) != f.tableSum {
		return f.table, nil
	}
	list, err := parseSections(buf.p, f.table)
	if err != nil {
		return f.table, nil
	}
	for _, s := range list {
		if s.kind != TypeDictionaryFrame {
			return s.off, nil
		}
	}
	return f.table, nil
}

// A foundFrame is the header of a frame.
type foundFrame struct {
	kind       kind
	labels     labelFrame
	block      blockFrame
	dictionary dictionaryFrame
	bytes      int64
}

// parseFrame decodes the header of a frame of any kind.
func (sc *scanner) parseFrame(p []byte, off int64) (f foundFrame, ok bool) {
	if f.labels, ok = parseLabelFrame(p, sc.salt, off); ok {
		f.kind, f.bytes = kindLabels, f.labels.size()
	} else if f.block, ok = parseBlockFrame(p, sc.salt, off); ok {
		f.kind, f.bytes = kindBlock, f.block.bytes()
	} else if f.dictionary, ok = parseDictionaryFrame(p, sc.salt, off); ok {
		f.kind, f.bytes = kindDictionary, f.dictionary.size()
	}
	return f, ok && f.bytes <= sc.stop-off
}

// nextFrame returns the first frame at or after off; without one, next is
// sc.stop.
func (sc *scanner) nextFrame(ctx context.Context, off int64) (f foundFrame, next int64, err error) {
	buf := getBuffer(0)
	defer buf.put()
	n := int64(blockHeaderSize) // the larger header
	for at := off; at+labelHeaderSize <= sc.stop; {
		if err := ctx.Err(); err != nil {
			return f, 0, err
		}
		buf.p = slices.Grow(buf.p[:0], int(n))[:min(n, sc.stop-at)]
		if err := ReadFull(sc.src, buf.p, at, -1); err != nil {
			if isCorrupt(err) { // the file is shorter than it was
				return f, sc.stop, nil
			}
			return f, 0, err
		}
		for i := range frameOffsets(buf.p) {
			if f, ok := sc.parseFrame(buf.p[i:], at+int64(i)); ok {
				return f, at + int64(i), nil
			}
		}
		// Not where it should be: look at more. A header may begin in these
		// bytes and end behind them.
		at += max(1, int64(len(buf.p))-blockHeaderSize+1)
		n = writeSize
	}
	return f, sc.stop, nil
}

// frameOffsets ranges over offsets in p that may begin a frame.
func frameOffsets(p []byte) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for at := 4; at+labelHeaderSize-4 <= len(p); at++ {
			i := bytes.IndexByte(p[at:], 'L') // all kinds have one, as first or second byte
			if i < 0 {
				return
			}
			at += i
			for _, from := range [...]int{at, at - 1} {
				if from < 4 || len(p)-from < labelHeaderSize-4 {
					continue
				}
				if k := p[from:]; isKind(k) && !yield(from-4) {
					return
				}
			}
		}
	}
}

// isKind reports whether p begins with the kind of a frame.
func isKind(p []byte) bool {
	return bytes.HasPrefix(p, kindLabels[:]) || bytes.HasPrefix(p, kindBlock[:]) || bytes.HasPrefix(p, kindDictionary[:])
}

// add records a frame.
func (sc *scanner) add(f foundFrame, off int64) error {
	switch f.kind {
	case kindLabels:
		return sc.addLabels(f.labels, off)
	case kindDictionary:
		return sc.addDictionary(f.dictionary, off)
	}
	n := int(f.block.number)
	if int64(n) <= sc.last {
		sc.lose(off, n, "its number is not above that of the block before")
		return nil
	}
	sc.last = int64(n)
	buf := getBuffer(int(f.block.list))
	defer buf.put()
	if err := ReadFull(sc.src, buf.p, off+blockHeaderSize, n); err != nil {
		return err
	}
	if checksum(buf.p) != f.block.listSum {
		sc.lose(off, n, "the checksum of its list of runs does not match")
		return nil
	}
	runs, rows, err := parseList(nil, buf.p)
	if err != nil {
		sc.lose(off, n, "its list of runs: %v", err)
		return nil
	}
	sc.info.Rows += int64(rows)
	sc.info.Blocks++
	sc.info.Streams = max(sc.info.Streams, int(runs[len(runs)-1].Ordinal)+1)
	sc.blocks = append(sc.blocks, scannedBlock{f.block, off})
	return nil
}

func (sc *scanner) addLabels(f labelFrame, off int64) error {
	buf := getBuffer(int(f.size()))
	defer buf.put()
	if err := ReadFull(sc.src, buf.p, off, -1); err != nil {
		return err
	}
	if f.first < sc.next {
		sc.lose(off, -1, "labels of streams that are there already")
		return nil
	}
	_, keys, err := parseChunk(buf.p, sc.salt, off)
	if err != nil {
		sc.lose(off, -1, "%v", err)
		return nil
	}
	sc.chunks = append(sc.chunks, scannedChunk{f.first, keys})
	sc.next = f.first + f.streams
	sc.info.Streams = max(sc.info.Streams, int(sc.next))
	return nil
}

// addDictionary records a dictionary. One that is damaged may be in its section.
func (sc *scanner) addDictionary(f dictionaryFrame, off int64) error {
	buf := getBuffer(int(f.size()))
	defer buf.put()
	if err := ReadFull(sc.src, buf.p, off, -1); err != nil {
		return err
	}
	_, _, err := openDictionaryFrame(buf.p, sc.salt, off)
	if newer, ok := errors.AsType[*template.VersionError](err); ok {
		return fmt.Errorf("segment: %s: dictionary %d at offset %d: %w", sc.src.Name(), f.instance, off, newer)
	}
	if err != nil {
		sc.lose(off, -1, "dictionary %d: %v", f.instance, err)
		return nil
	}
	if sc.dictionaries.frames == nil {
		sc.dictionaries.frames = map[uint16]foundDictionary{}
	}
	sc.dictionaries.frames[uint16(f.instance+1)] = foundDictionary{off, f.size()}
	return nil
}

// rebuild adds the chunks that were not found, if the label directory and the
// parity are intact, and notes where else the dictionaries are.
func (sc *scanner) rebuild(ctx context.Context) error {
	card, err := OpenCard(sc.src, sc.size)
	if err != nil {
		if isCorrupt(err) {
			return nil
		}
		return err
	}
	x := card.index(sc.src, nil)
	sc.dictionaries.index = x
	d, err := x.directory(ctx)
	for i := range d {
		at, ok := slices.BinarySearchFunc(sc.chunks, d[i].first, func(c scannedChunk, first uint32) int { return int(int64(c.first) - int64(first)) })
		if ok {
			continue
		}
		keys, _, err := x.keys(ctx, d, i)
		if keys != nil {
			sc.chunks = slices.Insert(sc.chunks, at, scannedChunk{d[i].first, keys})
			sc.info.Streams = max(sc.info.Streams, int(d[i].first+d[i].streams))
		} else if !isCorrupt(err) {
			return err
		}
	}
	if err != nil && !isCorrupt(err) {
		return err
	}
	return nil
}

// Info describes what was found. It has neither times nor bytes of lines.
func (s *Scanned) Info() Info { return s.info }

// Key returns the tenant and the labels of a stream; ok is false if they are
// lost.
func (s *Scanned) Key(ordinal uint32) (tenant, labels string, ok bool) {
	i, ok := slices.BinarySearchFunc(s.chunks, ordinal, func(c scannedChunk, o uint32) int {
		switch {
		case o < c.first:
			return 1
		case o-c.first >= uint32(len(c.keys)):
			return -1
		}
		return 0
	})
	if !ok {
		return "", "", false
	}
	return splitKey(s.chunks[i].keys[ordinal-s.chunks[i].first])
}

// Frame returns the place of the frame of the i-th block.
func (s *Scanned) Frame(i int) (off, bytes int64) { return s.blocks[i].off, s.blocks[i].bytes() }

// ReadFrame reads the i-th of Info().Blocks blocks, and verifies its checksums.
// The error is a *CorruptError, or that of the source.
func (s *Scanned) ReadFrame(ctx context.Context, f *Frame, i int) error {
	b := s.blocks[i]
	n := int(b.number)
	f.Reset(n)
	if err := ctx.Err(); err != nil {
		return err
	}
	p := f.Buffer(int(b.bytes()))
	if err := ReadFull(Within(ctx, s.src), p, b.off, n); err != nil {
		return err
	}
	list, content := p[blockHeaderSize:][:b.list], p[len(p)-int(b.size):]
	switch {
	case checksum(content) != b.sum:
		return corrupt(s.src, b.off+b.bytes()-int64(b.size), n, "the checksum does not match")
	case checksum(list) != b.listSum:
		return corrupt(s.src, b.off+blockHeaderSize, n, "the checksum of its list of runs does not match")
	}
	runs, _, err := parseList(f.Runs, list)
	if err != nil {
		return corrupt(s.src, b.off+blockHeaderSize, n, "its list of runs: %v", err)
	}
	f.Runs, f.Block, f.Codec, f.Dictionary = runs, content, b.codec, b.dictionary
	f.offset, f.positions, f.positionsSum = b.off, p[blockHeaderSize+b.list:][:b.positions], b.positionsSum
	return nil
}

// IDs is IDs of Index.
func (s *Scanned) IDs(dst []ID, f *Frame) ([]ID, error) {
	ids, err := f.ids(dst)
	if err != nil {
		return dst, corrupt(s.src, f.offset, f.Number, "its positions: %v", err)
	}
	return ids, nil
}

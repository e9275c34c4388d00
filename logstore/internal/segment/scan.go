package segment

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// Scan opens a segment whose index or footer is damaged (the error of Open is a
// *segment2.CorruptError) by its blocks, for segment2.SalvageSource. After, Upto, Generation and
// Created of info must be set: they are in the name of the file. lost lists
// what could not be read.
//
// Scan reads the headers of all blocks, and everything between frames byte by
// byte. The tables stay in memory until Close.
func Scan(ctx context.Context, src segment2.Source, size int64, info segment2.Info) (s *Segment, lost []error, err error) {
	sc := scanner{src: src, size: size, streams: map[string]*scannedStream{}}
	if err := sc.salt(); err != nil {
		return nil, nil, err
	}
	for off := int64(headerSize); off < sc.stop; {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		f, next, err := sc.nextFrame(ctx, off)
		if err != nil {
			return nil, nil, err
		}
		if next > off {
			sc.lost = append(sc.lost, corrupt(src, off, -1, "%d bytes are no block and no filter", next-off))
		}
		if next == sc.stop {
			break
		}
		if err := sc.addFrame(f, next); err != nil {
			return nil, nil, err
		}
		off = next + f.size()
	}
	if !sc.hasFooter {
		sc.lost = append(sc.lost, corrupt(src, size, -1, "the footer is not as it was written: blocks at the end of the file may be missing"))
	}
	return sc.segment(info), sc.lost, nil
}

// A scanner is the state of Scan.
type scanner struct {
	src       segment2.Source
	size      int64
	stop      int64 // where the index begins, if the end is intact
	footer    footer
	hasFooter bool // it is
	lost      []error

	blocks  []blockEntry
	numbers []uint32 // of the blocks
	streams map[string]*scannedStream
	runs    []blockRun
}

type scannedStream struct {
	Stream
	runs []seqRun
}

// salt finds the salt of the file's frames.
func (sc *scanner) salt() error {
	if sc.size < headerSize+footerSize {
		return corrupt(sc.src, 0, -1, "%d bytes are no segment", sc.size)
	}
	p := make([]byte, headerSize)
	if err := segment2.ReadFull(sc.src, p, 0, -1); err != nil {
		return err
	}
	ver, salt, begins := parseHeader(p)
	if begins && ver != version {
		return &segment2.VersionError{File: sc.src.Name(), Version: ver}
	}
	p = make([]byte, footerSize)
	if err := segment2.ReadFull(sc.src, p, sc.size-footerSize, -1); err != nil && !isCorrupt(err) {
		return err
	}
	sc.footer, ver, sc.hasFooter = parseFooter(p)
	if sc.hasFooter && ver != version {
		return &segment2.VersionError{File: sc.src.Name(), Version: ver}
	}
	sc.stop = sc.size
	if sc.hasFooter = sc.hasFooter && sc.footer.info.Size == sc.size && sc.footer.index >= headerSize && sc.footer.index < sc.size; sc.hasFooter {
		sc.stop = sc.footer.index
		salt = sc.footer.salt
	}
	if !begins {
		sc.lost = append(sc.lost, corrupt(sc.src, 0, -1, "the header is not as it was written"))
	}
	if !begins && !sc.hasFooter {
		return corrupt(sc.src, 0, -1, "both the header and the footer are damaged: the salt of its blocks is unknown")
	}
	sc.footer.salt = salt
	return nil
}

// nextFrame returns the first frame at or after off; without one, next is
// sc.stop.
func (sc *scanner) nextFrame(ctx context.Context, off int64) (f frame, next int64, err error) {
	buf := getBuffer(frameHeaderSize)
	defer buf.put()
	for at := off; at+frameHeaderSize <= sc.stop; {
		if err := ctx.Err(); err != nil {
			return frame{}, 0, err
		}
		if at > off { // not where it should be: look at more
			buf.p = slices.Grow(buf.p[:0], groupSize)[:min(groupSize, sc.stop-at)]
		}
		if err := segment2.ReadFull(sc.src, buf.p, at, -1); err != nil {
			if isCorrupt(err) { // the file is shorter than it was
				return frame{}, sc.stop, nil
			}
			return frame{}, 0, err
		}
		for i := range candidates(buf.p) {
			if f, ok := parseFrame(buf.p[i:], sc.footer.salt, at+int64(i)); ok && f.size() <= sc.stop-at-int64(i) {
				return f, at + int64(i), nil
			}
		}
		at += int64(len(buf.p)) - frameHeaderSize + 1
	}
	return frame{}, sc.stop, nil
}

// candidates ranges over offsets in p that may begin a frame.
func candidates(p []byte) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for at := 4; at+frameHeaderSize-4 <= len(p); at++ {
			i := bytes.IndexAny(p[at:], "BF")
			if i < 0 {
				return
			}
			at += i
			if k := p[at:]; bytes.HasPrefix(k, kindBlock[:]) || bytes.HasPrefix(k, kindFilter[:]) {
				if !yield(at - 4) {
					return
				}
			}
		}
	}
}

// addFrame records a frame.
func (sc *scanner) addFrame(f frame, off int64) error {
	if f.kind == kindFilter {
		if i, ok := slices.BinarySearch(sc.numbers, f.number); ok {
			sc.blocks[i].filterOff, sc.blocks[i].filterSize = off, f.payload
		}
		return nil
	}
	lose := func(why string) {
		sc.lost = append(sc.lost, corrupt(sc.src, off, int(f.number), "%s", why))
	}
	if n := len(sc.numbers); n > 0 && f.number <= sc.numbers[n-1] {
		lose("its number is not above that of the previous block")
		return nil
	}
	buf := getBuffer(0)
	defer buf.put()
	if err := buf.read(sc.src, int64(f.list), off+frameHeaderSize, int(f.number)); err != nil {
		if isCorrupt(err) {
			sc.lost = append(sc.lost, err)
			return nil
		}
		return err
	}
	if checksum(buf.p) != f.listSum {
		lose("the checksum of its list of runs does not match")
		return nil
	}
	runs, rows, raw, err := parseBlockRuns(sc.runs[:0], buf.p, len(sc.blocks))
	if sc.runs = runs; err != nil {
		lose("its list of runs: " + err.Error())
		return nil
	}
	sc.numbers = append(sc.numbers, f.number)
	sc.blocks = append(sc.blocks, blockEntry{
		off: off, list: f.list, size: f.payload, sum: f.sum, rows: uint32(rows), raw: uint32(raw), runs: uint32(len(runs)),
	})
	for _, r := range runs {
		s := sc.streams[r.Labels]
		if s == nil {
			s = &scannedStream{Stream: Stream{Labels: r.Labels, MinTime: r.MinTime, MaxTime: r.MaxTime}}
			sc.streams[r.Labels] = s
		}
		s.runs = append(s.runs, seqRun{r.Run, r.seq})
		s.MinTime, s.MaxTime = min(s.MinTime, r.MinTime), max(s.MaxTime, r.MaxTime)
		s.Rows += int64(r.Rows)
		s.Raw += r.Raw
	}
	return nil
}

// segment builds the tables from the scanned blocks.
func (sc *scanner) segment(info segment2.Info) *Segment {
	var streams []streamEntry
	var lists [][]seqRun
	info.MinTime, info.MaxTime, info.Rows, info.Raw = 0, 0, 0, 0
	for i, labels := range slices.Sorted(maps.Keys(sc.streams)) {
		s := sc.streams[labels]
		slices.SortStableFunc(s.runs, func(a, b seqRun) int { return cmp.Compare(a.seq, b.seq) })
		streams = append(streams, streamEntry{Stream: s.Stream, seqs: s.runs[len(s.runs)-1].seq + 1})
		lists = append(lists, s.runs)
		if i == 0 {
			info.MinTime, info.MaxTime = s.MinTime, s.MaxTime
		}
		info.MinTime, info.MaxTime = min(info.MinTime, s.MinTime), max(info.MaxTime, s.MaxTime)
		info.Rows += s.Rows
		info.Raw += s.Raw
	}
	info.Streams, info.Blocks, info.Size = len(streams), len(sc.blocks), sc.size
	var table []byte
	for _, b := range sc.blocks {
		table = b.append(table)
	}
	out := &Segment{src: sc.src, footer: footer{info: info, salt: sc.footer.salt}, scanned: true}
	out.viewer, _ = sc.src.(segment2.Viewer)
	t := newTables(streams, table)
	if t.lists = lists; lists == nil {
		t.lists = [][]seqRun{}
	}
	out.tables.Store(t)
	return out
}

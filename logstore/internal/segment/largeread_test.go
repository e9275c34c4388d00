package segment

import (
	"bytes"
	"io"
	"testing"

	"github.com/stele-go/stele/internal/filetest"
	"github.com/stele-go/stele/logstore/internal/filter"
)

// A sparse is a file of zeros but for a few pieces.
type sparse struct {
	size   int64
	pieces map[int64][]byte
	specks bool // there is a byte that is not zero in each piece
}

func (s sparse) Name() string { return "a.seg" }

func (s sparse) ReadAt(p []byte, off int64) (int, error) {
	n := int(min(int64(len(p)), max(s.size-off, 0)))
	clear(p[:n])
	if s.specks {
		for at := -off & (maxRead - 1); at < int64(n); at += maxRead {
			p[at] = 1
		}
	}
	for at, b := range s.pieces {
		if from, to := max(at, off), min(at+int64(len(b)), off+int64(n)); from < to {
			copy(p[from-off:to-off], b[from-at:])
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// crafted is a file of one block and one stream with consistent numbers, but
// what r and listSize refer to are holes.
func crafted(t *testing.T, r blockEntry, listSize uint32) sparse {
	t.Helper()
	const salt = 7
	e := footer{info: Info{Upto: 3, MinTime: 1, MaxTime: 5, Rows: 3, Raw: 7, Streams: 1}, salt: salt}
	r.off, r.rows, r.raw, r.runs = headerSize, 3, 7, 1
	e.index = r.payload() + int64(r.size)
	if r.filterSize > 0 {
		r.filterOff = e.index
		e.index += frameHeaderSize + int64(r.filterSize)
	}
	var labels labelWriter
	table := streamEntry{Stream: Stream{Labels: "a", MinTime: 1, MaxTime: 5, Rows: 3, Raw: 7}, seqs: 1, size: listSize}.
		append(labels.append([]byte{1}, "a"), 1)
	blocks := r.append(nil)
	e.blocks = e.index + int64(listSize)
	e.streams = e.blocks + int64(len(blocks))
	e.info.Size = e.streams + int64(len(table)) + footerSize
	e.blocksSum, e.streamsSum = checksum(blocks), checksum(table)
	s := sparse{e.info.Size, map[int64][]byte{
		0:                        header(salt),
		r.off:                    frame{kind: kindBlock, list: r.list, payload: r.size}.append(nil, salt, r.off),
		e.blocks:                 blocks,
		e.streams:                table,
		e.info.Size - footerSize: e.append(nil),
	}, true}
	if r.filterSize > 0 {
		s.pieces[r.filterOff] = frame{kind: kindFilter, payload: r.filterSize}.append(nil, salt, r.filterOff)
	}
	return s
}

// Files of up to a terabyte, some KiB on the disk, claim that nearly all of it
// is a table, a list, a block or a filter, with a nonzero byte in each piece.
// No memory is allocated for that.
func TestSparseFilesTakeLittleMemory(t *testing.T) {
	const huge, most = 1 << 40, 1<<32 - 1
	const tablesSize = (huge - footerSize - headerSize) / blockEntrySize * blockEntrySize
	whole := footer{info: Info{Size: huge, Upto: 3}, index: headerSize, blocks: headerSize, streams: headerSize}
	blocks := whole
	blocks.streams += tablesSize
	for name, src := range map[string]sparse{
		"table of blocks":  {huge, map[int64][]byte{0: header(0), huge - footerSize: blocks.append(nil)}, true},
		"table of streams": {huge, map[int64][]byte{0: header(0), huge - footerSize: whole.append(nil)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := littleMemory(t, func() error { _, err := Open(src, src.size); return err }); !isCorrupt(err) {
				t.Errorf("Open: %v; want a *CorruptError", err)
			}
		})
	}
	list := crafted(t, blockEntry{list: 9, size: 5}, most)
	payload := crafted(t, blockEntry{list: 9, size: most}, 9)
	filtered := crafted(t, blockEntry{list: 9, size: 5, filterSize: most}, 9)
	lists := crafted(t, blockEntry{list: most, size: 5}, 9)
	var frames, runs buffer
	for _, c := range []struct {
		name string
		src  sparse
		read func(s *Segment) error
	}{
		{"list of a stream", list, func(s *Segment) error { _, err := s.Runs(0); return err }},
		{"block", payload, func(s *Segment) error { _, err := s.ReadBlock(nil, 0); return err }},
		{"filter", filtered, func(s *Segment) error { _, err := s.May(0, filter.Word([]byte("word"))); return err }},
		{"filter to verify", filtered, func(s *Segment) error { _, err := s.readFilter(&runs, s.tables.Load(), 0); return err }},
		{"frame", lists, func(s *Segment) error { _, err := s.readFrame(&frames, nil, s.tables.Load(), 0); return err }},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := littleMemory(t, func() error {
				s, err := Open(c.src, c.src.size)
				if err != nil {
					return err
				}
				return c.read(s)
			})
			if !isCorrupt(err) {
				t.Errorf("%v; want a *CorruptError", err)
			}
		})
	}
	t.Run("list of a block, scanned", func(t *testing.T) {
		sc := scanner{src: lists, size: lists.size, streams: map[string]*scannedStream{}}
		if err := sc.salt(); err != nil {
			t.Fatal(err)
		}
		f, at, err := sc.nextFrame(t.Context(), headerSize)
		if err != nil || at != headerSize {
			t.Fatal(at, err)
		}
		_, err = littleMemory(t, func() error { return sc.addFrame(f, at) })
		if err != nil || len(sc.blocks) != 0 || len(sc.lost) != 1 || !isCorrupt(sc.lost[0]) {
			t.Errorf("%v, %d blocks, %v; want the block to be lost", err, len(sc.blocks), sc.lost)
		}
	})
}

// littleMemory fails the test if f allocates much memory.
func littleMemory(t *testing.T, f func() error) (bytes uint64, err error) {
	t.Helper()
	if bytes = filetest.Allocated(func() { err = f() }); bytes > 4*maxRead {
		t.Errorf("%d MiB of memory; want %d at most", bytes>>20, 4*maxRead>>20)
	}
	return bytes, err
}

// A read longer than maxRead returns all bytes.
func TestLongReads(t *testing.T) {
	want := make([]byte, 2*maxRead+12345)
	for i := range want {
		want[i] = byte(i * 7 >> 3)
	}
	got, err := readPieces(inMemory(want), []byte("before"), int64(len(want)-100), 100, -1)
	if err != nil || string(got[:6]) != "before" || !bytes.Equal(got[6:], want[100:]) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if got, err := readPieces(inMemory(want), []byte("before"), int64(len(want)), 100, -1); !isCorrupt(err) || string(got) != "before" {
		t.Errorf("beyond the end: %q, %v", got, err)
	}
}

package segment

import (
	"io"
	"testing"

	"github.com/stele-go/stele/internal/filetest"
	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/segment/segmenttest"
	"github.com/stele-go/stele/logstore/internal/segment2"
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
		for at := -off & (segment2.MaxRead - 1); at < int64(n); at += segment2.MaxRead {
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
func crafted(t *testing.T, r segmenttest.BlockEntry, listSize uint32) sparse {
	t.Helper()
	const salt = 7
	e := segmenttest.Footer{Info: segment2.Info{Upto: 3, MinTime: 1, MaxTime: 5, Rows: 3, Raw: 7, Streams: 1}, Salt: salt}
	r.Offset, r.Rows, r.Raw, r.Runs = headerSize, 3, 7, 1
	e.Lists = r.Offset + frameHeaderSize + int64(r.List) + int64(r.Size)
	if r.FilterSize > 0 {
		r.FilterOffset = e.Lists
		e.Lists += frameHeaderSize + int64(r.FilterSize)
	}
	var labels segmenttest.Labels
	stream := segmenttest.StreamEntry{MinTime: 1, MaxTime: 5, Rows: 3, Raw: 7, Seqs: 1, Size: listSize}
	table := stream.Append(labels.Append([]byte{4}, "\x01a\x01b"), 1)
	blocks := r.Append(nil)
	e.Blocks = e.Lists + int64(listSize)
	e.Streams = e.Blocks + int64(len(blocks))
	e.Info.Size = e.Streams + int64(len(table)) + footerSize
	e.BlocksSum, e.StreamsSum = checksum(blocks), checksum(table)
	s := sparse{e.Info.Size, map[int64][]byte{
		0:                        segmenttest.Header(salt),
		r.Offset:                 segmenttest.Frame{Kind: "BLOK", List: r.List, Payload: r.Size}.Append(nil, salt, r.Offset),
		e.Blocks:                 blocks,
		e.Streams:                table,
		e.Info.Size - footerSize: e.Append(nil),
	}, true}
	if r.FilterSize > 0 {
		s.pieces[r.FilterOffset] = segmenttest.Frame{Kind: "FLTR", Payload: r.FilterSize}.Append(nil, salt, r.FilterOffset)
	}
	return s
}

// Files of up to a terabyte, some KiB on the disk, claim that nearly all of it
// is a table, a list, a block or a filter, with a nonzero byte in each piece.
// No memory is allocated for that.
func TestSparseFilesTakeLittleMemory(t *testing.T) {
	const huge, most = 1 << 40, 1<<32 - 1
	const tablesSize = (huge - footerSize - headerSize) / blockEntrySize * blockEntrySize
	whole := segmenttest.Footer{Info: segment2.Info{Size: huge, Upto: 3}, Lists: headerSize, Blocks: headerSize, Streams: headerSize}
	blocks := whole
	blocks.Streams += tablesSize
	for name, src := range map[string]sparse{
		"table of blocks":  {huge, map[int64][]byte{0: segmenttest.Header(0), huge - footerSize: blocks.Append(nil)}, true},
		"table of streams": {huge, map[int64][]byte{0: segmenttest.Header(0), huge - footerSize: whole.Append(nil)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := littleMemory(t, func() error { _, err := Open(src, src.size); return err }); !isCorrupt(err) {
				t.Errorf("Open: %v; want a *segment2.CorruptError", err)
			}
		})
	}
	list := crafted(t, segmenttest.BlockEntry{List: 9, Size: 5}, most)
	payload := crafted(t, segmenttest.BlockEntry{List: 9, Size: most}, 9)
	filtered := crafted(t, segmenttest.BlockEntry{List: 9, Size: 5, FilterSize: most}, 9)
	lists := crafted(t, segmenttest.BlockEntry{List: most, Size: 5}, 9)
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
				t.Errorf("%v; want a *segment2.CorruptError", err)
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
	if bytes = filetest.Allocated(func() { err = f() }); bytes > 4*segment2.MaxRead {
		t.Errorf("%d MiB of memory; want %d at most", bytes>>20, 4*segment2.MaxRead>>20)
	}
	return bytes, err
}

package wal

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/stele-go/stele/internal/sys"
)

// headerSum is the offset of the checksum in the header of a segment. What is
// before it keeps its place in every version, and so does the sum.
const headerSum = 64

// A segment is one file of the log. Its fields do not change once it is used,
// but for those that store.mu guards.
type segment struct {
	path   string
	number uint64
	size   int64  // bytes, all of them written ahead
	salt   uint64 // in the sum of each head, so that nothing of a former life parses
	seed   uint32 // CRC-32C over salt
	was    uint64 // the number of the file's former life; 0: it was made of zeros

	// first is the position of the first data record in it, or the one that it
	// would have.
	first Position

	// file is open, buffered, as long as somebody holds the segment: the store
	// holds its last one, for writing, a reader what store.find gave it until
	// store.release.
	file    *os.File
	refs    int  // store.mu
	dropped bool // store.mu; truncated away: whoever releases it last reclaims it
}

// room is how many bytes of payload a record at off may have; less than 0: not
// even an empty one fits, go on to the next segment.
func (g *segment) room(off int64) int64 { return room(g.size, off) }

// appendRecord appends a record for the offset off of g to dst.
func (g *segment) appendRecord(dst []byte, off int64, typ byte, pos Position, back, sum uint32, payload []byte) []byte {
	return appendRecord(dst, g.seed, off, typ, pos, back, sum, payload)
}

// write writes b at off.
func (g *segment) write(b []byte, off int64) error {
	if _, err := g.file.WriteAt(b, off); err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	return nil
}

// sync makes all that was written durable.
func (g *segment) sync() error {
	if err := sys.SyncData(g.file); err != nil {
		return pathError("fdatasync", g.path, err)
	}
	return nil
}

// open opens the file of a segment whose header has been read.
func (g *segment) open(write bool) error {
	f, err := openFile(g.path, write)
	if err != nil {
		return err
	}
	g.file = f
	return nil
}

// named reports whether the name of an open segment still leads to it.
func (g *segment) named() bool {
	mine, err := g.file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(g.path)
	return err == nil && os.SameFile(there, mine)
}

func (g *segment) close() error {
	if g.file == nil {
		return nil
	}
	f := g.file
	g.file = nil
	if err := f.Close(); err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	return nil
}

// header is the first block of a segment of the log id.
func (g *segment) header(id [16]byte) []byte {
	b := make([]byte, firstOffset)
	copy(b, segmentMagic)
	binary.LittleEndian.PutUint32(b[8:], version)
	copy(b[16:], id[:])
	binary.LittleEndian.PutUint64(b[32:], g.number)
	binary.LittleEndian.PutUint64(b[40:], uint64(g.size))
	binary.LittleEndian.PutUint64(b[48:], g.salt)
	binary.LittleEndian.PutUint64(b[56:], g.was)
	binary.LittleEndian.PutUint32(b[headerSum:], sumOf(b[:headerSum]))
	return b
}

// parseHeader fills g, whose path and number are those of the file's name,
// from the header b of a file of size bytes. The header was durable before
// the file had that name: if it is not right, it was damaged.
func (g *segment) parseHeader(b []byte, id [16]byte, size int64) error {
	corrupt := func(off int64, reason string, args ...any) error {
		return &CorruptError{File: g.path, Offset: off, Reason: fmt.Sprintf(reason, args...)}
	}
	switch {
	case len(b) < headerSum+4:
		return corrupt(int64(len(b)), "the file ends within its header")
	case string(b[:len(segmentMagic)]) != segmentMagic:
		return corrupt(0, "the header does not begin with %s", segmentMagic)
	case binary.LittleEndian.Uint32(b[headerSum:]) != sumOf(b[:headerSum]):
		return corrupt(headerSum, "the checksum of the header is wrong")
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != version {
		return &VersionError{File: g.path, Version: v}
	}
	if id != [16]byte(b[16:32]) {
		return corrupt(16, "the segment is of another log: its id is %x, that of this log %x", b[16:32], id)
	}
	if n := binary.LittleEndian.Uint64(b[32:]); n != g.number {
		return corrupt(32, "the segment is number %d by its header", n)
	}
	g.size = int64(binary.LittleEndian.Uint64(b[40:]))
	if g.size < minSegmentSize || g.size > maxSegmentSize || g.size%firstOffset != 0 {
		return corrupt(40, "a segment cannot have %d bytes", g.size)
	}
	if g.size != size {
		return corrupt(min(g.size, size), "the file has %d bytes, of %d", size, g.size)
	}
	g.salt = binary.LittleEndian.Uint64(b[48:])
	g.seed = seedOf(g.salt)
	g.was = binary.LittleEndian.Uint64(b[56:])
	return nil
}

// openSegment opens a segment and reads its header. Close it.
func openSegment(path string, number uint64, id [16]byte) (*segment, error) {
	g := &segment{path: path, number: number}
	if err := g.open(false); err != nil {
		return nil, err
	}
	if err := g.readHeader(id); err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

func (g *segment) readHeader(id [16]byte) error {
	fi, err := g.file.Stat()
	if err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	b := make([]byte, firstOffset)
	n, err := g.file.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return fmt.Errorf("wal: %w", err)
	}
	return g.parseHeader(b[:n], id, fi.Size())
}

// readID is the id of the log that the segment path is of, by its header.
func readID(path string) (id [16]byte, ok bool) {
	f, err := openFile(path, false)
	if err != nil {
		return id, false
	}
	defer f.Close()
	b := make([]byte, headerSum+4)
	if _, err := f.ReadAt(b, 0); err != nil {
		return id, false
	}
	ok = string(b[:len(segmentMagic)]) == segmentMagic && binary.LittleEndian.Uint32(b[headerSum:]) == sumOf(b[:headerSum])
	return [16]byte(b[16:32]), ok
}

func segmentName(number uint64) string { return fmt.Sprintf("%016d", number) + segmentExt }

// segmentNumber is the number in the name of a segment, 0 if it is none.
func segmentNumber(name string) uint64 {
	digits, ok := strings.CutSuffix(name, segmentExt)
	if !ok {
		return 0
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || segmentName(n) != name {
		return 0
	}
	return n
}

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

// headerSum is the offset of the checksum in the header of a segment. It and the
// fields before it stay at their offsets in every version.
const headerSum = 64

// A segment is one file of the log. Its fields do not change once it has
// records, except those that store.mu guards.
type segment struct {
	path   string
	number uint64
	size   int64  // bytes, all of them written ahead of use
	salt   uint64 // in the checksum of each head; a recycled file gets another
	seed   uint32 // CRC-32C over salt
	// recycledFrom is the number that the file had before; 0 if it was created
	// full of zeros.
	recycledFrom uint64

	// first is the position of its first data record, present or future.
	first Position

	// file is open while refs is above 0. The store holds the last segment, open
	// for writing; a Reader holds those of store.find until store.release.
	file      *os.File
	refs      int  // guarded by store.mu
	truncated bool // guarded by store.mu; the last release reclaims the file
}

// maxPayload returns the longest payload of a record at off; below 0 if not even
// an empty record fits and the log must go on in the next segment.
func (g *segment) maxPayload(off int64) int64 { return maxPayload(g.size, off) }

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

// sync makes all writes to the segment durable.
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

// hasName reports whether the path of an open segment still names its file.
func (g *segment) hasName() bool {
	opened, err := g.file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(g.path)
	return err == nil && os.SameFile(named, opened)
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

// header returns the first block of a segment of the log id.
func (g *segment) header(id [16]byte) []byte {
	b := make([]byte, firstOffset)
	copy(b, segmentMagic)
	binary.LittleEndian.PutUint32(b[8:], version)
	copy(b[16:], id[:])
	binary.LittleEndian.PutUint64(b[32:], g.number)
	binary.LittleEndian.PutUint64(b[40:], uint64(g.size))
	binary.LittleEndian.PutUint64(b[48:], g.salt)
	binary.LittleEndian.PutUint64(b[56:], g.recycledFrom)
	binary.LittleEndian.PutUint32(b[headerSum:], sumOf(b[:headerSum]))
	return b
}

// parseHeader fills g, whose path and number are those of the file's name, from
// the header b of a file of size bytes. The header was durable before the file
// had that name, so a wrong one is damage.
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
		return corrupt(32, "the header is that of segment %d", n)
	}
	g.size = int64(binary.LittleEndian.Uint64(b[40:]))
	g.salt = binary.LittleEndian.Uint64(b[48:])
	g.seed = seedOf(g.salt)
	g.recycledFrom = binary.LittleEndian.Uint64(b[56:])
	if g.size < minSegmentSize || g.size > maxSegmentSize || g.size%firstOffset != 0 {
		return corrupt(40, "the header says %d bytes, which no segment has", g.size)
	}
	if g.size != size {
		return corrupt(min(g.size, size), "the file has %d bytes; want %d", size, g.size)
	}
	return nil
}

// openSegment opens a segment for reading and reads its header.
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
	b, err := g.readAt(make([]byte, firstOffset), 0)
	if err != nil {
		return err
	}
	return g.parseHeader(b, id, fi.Size())
}

// readAt fills b from off on. It returns less at the end of the file.
func (g *segment) readAt(b []byte, off int64) ([]byte, error) {
	n, err := g.file.ReadAt(b, off)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("wal: %w", err)
	}
	return b[:n], nil
}

// readID returns the id of the log in the header of the segment path.
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
	return [16]byte(b[16:32]), validHeader(b)
}

// validHeader reports whether b begins with the header of a segment, of whatever
// log and number.
func validHeader(b []byte) bool {
	return len(b) >= headerSum+4 && string(b[:len(segmentMagic)]) == segmentMagic &&
		binary.LittleEndian.Uint32(b[headerSum:]) == sumOf(b[:headerSum])
}

// segmentName returns the file name of a segment.
func segmentName(number uint64) string { return fmt.Sprintf("%016d", number) + segmentExt }

// segmentNumber returns the number in the file name of a segment, 0 if name is
// no such name.
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

package wal

import (
	"encoding/binary"
	"hash/crc32"
)

// The on-disk layout is drawn in the package comment. All of its numbers and
// names are here. Integers are little endian.
const (
	version = 1

	lockName   = "LOCK"
	metaName   = "META"
	segmentExt = ".wal" // %016d.wal, from 1 on
	tempExt    = ".new" // a segment, or META, that is being created

	segmentMagic = "STELEWAL"
	metaMagic    = "STELEWMT"

	// firstOffset is the offset of the first record of a segment. The header
	// before it has a block of its own.
	firstOffset = 4096
	// headerSize is the size of the head of a record.
	headerSize = 24
	// endSize is the size of the end record of a segment, whose payload is the
	// number of the next one.
	endSize = headerSize + 8
	// reserve is the size of a closed mark and an end record, for which every
	// segment keeps space.
	reserve = headerSize + endSize

	minSegmentSize     = 64 << 10
	maxSegmentSize     = 1 << 30
	defaultSegmentSize = 64 << 20
)

// Types of records. Control records, all but typeData, carry the position of
// the next data record, and use none themselves.
const (
	typeData   = 1
	typeEnd    = 2 // the segment is complete; payload: number of the next segment, 8 bytes
	typeClosed = 3 // the log was closed; no payload
	typePad    = 4 // to be skipped
)

// maxPayload returns the longest payload, in bytes, of a record at off in a
// segment of size bytes; below 0 if not even an empty record fits.
func maxPayload(size, off int64) int64 { return size - off - reserve - headerSize }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns the CRC-32C of a payload. It does not depend on the offset of
// the record, so that appenders compute it before they have one.
func checksum(payload []byte) uint32 { return crc32.Update(0, castagnoli, payload) }

// addUint64 continues the CRC-32C crc over v. It is here because a buffer
// passed to crc32.Update escapes. (Eight tables instead of one, slicing-by-8,
// were slower: they take 8 KiB of the nearest cache.)
func addUint64(crc uint32, v uint64) uint32 {
	crc = ^crc
	for range 8 {
		crc = castagnoli[byte(crc)^byte(v)] ^ crc>>8
		v >>= 8
	}
	return ^crc
}

// appendRecord appends to dst the record at offset off of a segment whose salt
// has the checksum seed (segment.seed). It allocates nothing if dst has the
// capacity. sum is checksum(payload). All bytes of the segment before off-back
// must be durable.
func appendRecord(dst []byte, seed uint32, off int64, typ byte, pos Position, back, sum uint32, payload []byte) []byte {
	at := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	dst = binary.LittleEndian.AppendUint32(dst, sum)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(payload))|uint32(typ)<<24)
	dst = binary.LittleEndian.AppendUint32(dst, back)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(pos))
	binary.LittleEndian.PutUint32(dst[at:], headSum(seed, off, dst[at:at+headerSize]))
	return append(dst, payload...)
}

// headSum returns the checksum of the head of a record: over the salt, the
// offset, and the head without the checksum itself.
func headSum(seed uint32, off int64, head []byte) uint32 {
	return crc32.Update(addUint64(seed, uint64(off)), castagnoli, head[4:headerSize])
}

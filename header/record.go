package header

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
)

// A record describes what this package has put at the head of a file: slots, newest
// first, one after the other from the first byte on.
//
//	file    | slot 1                        | slot 2           | ... | old content
//	slot    | header n | ... | header 1 | padding |
//
// It is an extended attribute of the file, recordName. The value,
// little-endian, lengths and numbers marked v as uvarints:
//
//	0       4         5       13
//	+-------+---------+-------+----------------+------+---------+
//	| magic | version | inode | number of      | slot | CRC-32C |
//	|       |         |       | slots v        | ...  |         |
//	+-------+---------+-------+----------------+------+---------+
//
//	slot    length v, 1 if reserved else 0, CRC-32C of the padding,
//	        number of headers v, for each, newest first: length v, CRC-32C
//
// The last CRC covers everything before it. The inode number reveals a copy of the
// file with its attributes, for which the record is not valid. The checksums reveal
// a head that another program has changed: then the file has no header, and its
// padding must not be overwritten.
type record struct {
	slots []slot
}

type slot struct {
	length   int64
	reserved bool // keeps its length when its last header is removed
	padSum   uint32
	headers  []entry // newest first
}

type entry struct {
	length int64
	sum    uint32
}

const (
	recordMagic   = "StlH"
	recordVersion = 1
	recordHead    = len(recordMagic) + 1 + 8

	// maxReserve is the largest recorded header and the largest reserved slot in
	// bytes, and maxHead the largest head: each change reads it into memory.
	maxReserve = 64 << 20
	maxHead    = 2 * maxReserve

	// maxEntries is the largest number of slots and headers together. Older ones
	// are dropped and become content. It keeps a record below one block, the space
	// that ext4 has for all attributes of a file.
	maxEntries = 64
)

// used returns the length of the slot's headers.
func (s *slot) used() (n int64) {
	for _, e := range s.headers {
		n += e.length
	}
	return n
}

// free returns the length of the slot's padding.
func (s *slot) free() int64 { return s.length - s.used() }

// holds reports whether b matches the slot's record.
func (s *slot) holds(b []byte) bool {
	if int64(len(b)) != s.length {
		return false
	}
	for _, e := range s.headers {
		if sum(b[:e.length]) != e.sum {
			return false
		}
		b = b[e.length:]
	}
	return sum(b) == s.padSum
}

func sum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

func newEntry(header []byte) entry { return entry{int64(len(header)), sum(header)} }

// trim drops the oldest slots beyond the limits.
func (r *record) trim() {
	n, length := 0, int64(0)
	for i := range r.slots {
		n += 1 + len(r.slots[i].headers)
		length += r.slots[i].length
		if n > maxEntries || length > maxHead {
			r.slots = slices.Clip(r.slots[:i])
			return
		}
	}
}

func (r *record) encode(inode uint64) []byte {
	b := append([]byte(recordMagic), recordVersion)
	b = binary.LittleEndian.AppendUint64(b, inode)
	b = binary.AppendUvarint(b, uint64(len(r.slots)))
	for _, s := range r.slots {
		b = binary.AppendUvarint(b, uint64(s.length))
		reserved := byte(0)
		if s.reserved {
			reserved = 1
		}
		b = append(b, reserved)
		b = binary.LittleEndian.AppendUint32(b, s.padSum)
		b = binary.AppendUvarint(b, uint64(len(s.headers)))
		for _, e := range s.headers {
			b = binary.AppendUvarint(b, uint64(e.length))
			b = binary.LittleEndian.AppendUint32(b, e.sum)
		}
	}
	return binary.LittleEndian.AppendUint32(b, sum(b))
}

var errRecord = errors.New("its record is damaged, or of another version")

// decodeRecord returns a record and the number of the inode that it belongs to.
func decodeRecord(b []byte) (*record, uint64, error) {
	if len(b) < recordHead+4 || string(b[:len(recordMagic)]) != recordMagic || b[len(recordMagic)] != recordVersion ||
		sum(b[:len(b)-4]) != binary.LittleEndian.Uint32(b[len(b)-4:]) {
		return nil, 0, errRecord
	}
	inode := binary.LittleEndian.Uint64(b[len(recordMagic)+1:])
	d := decoder{b: b[recordHead : len(b)-4]}
	r := &record{}
	left, bytesLeft := int64(maxEntries), int64(maxHead)
	slots := d.size()
	if slots > left {
		return nil, 0, errRecord
	}
	for range slots {
		s := slot{length: d.size()}
		switch flag := d.bytes(1); {
		case d.bad || flag[0] > 1:
			return nil, 0, errRecord
		default:
			s.reserved = flag[0] == 1
		}
		if bytesLeft -= s.length; bytesLeft < 0 {
			return nil, 0, errRecord
		}
		s.padSum = d.sum()
		headers := d.size()
		if left -= 1 + headers; left < 0 {
			return nil, 0, errRecord
		}
		rest := s.length
		for range headers {
			e := entry{length: d.size(), sum: d.sum()}
			if rest -= e.length; rest < 0 {
				return nil, 0, errRecord
			}
			s.headers = append(s.headers, e)
		}
		if d.bad {
			return nil, 0, errRecord
		}
		r.slots = append(r.slots, s)
	}
	if d.bad || len(d.b) > 0 {
		return nil, 0, errRecord
	}
	return r, inode, nil
}

// sum decodes one checksum.
func (d *decoder) sum() uint32 {
	s := d.sums(1)
	if d.bad {
		return 0
	}
	return s[0]
}

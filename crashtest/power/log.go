package power

import (
	"encoding/binary"
	"fmt"
)

// The log has the requests to the disk in the order of their execution, one
// record after the other, with nothing between them. A record, little-endian:
//
//	0        8         16        24
//	+--------+---------+---------+----------------+
//	| kind   | offset  | length  | data, if write |
//	+--------+-------- +---------+----------------+
//
// Offset and length are in bytes; a flush has neither. The disk answers a
// request after its record is in the log, so that the length of the log is a
// moment in time: the record of an answered request lies before that length.
const headerSize = 24

type kind uint64

const (
	kindWrite kind = 1 + iota
	kindZero       // a discard, or a write of zeros without their data
	kindFlush      // all that was answered before it is durable
)

type record struct {
	kind     kind
	off, len int64
	data     []byte // of a write; points into the log
	end      int64  // length of the log with this record
}

// appendHeader appends the header of a record to b.
func appendHeader(b []byte, k kind, off, length int64) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(k))
	b = binary.LittleEndian.AppendUint64(b, uint64(off))
	return binary.LittleEndian.AppendUint64(b, uint64(length))
}

// parseLog returns the records of b that are whole. The last one may not be:
// the log may have been read while a record was being written. size is the
// device's.
func parseLog(b []byte, size int64) ([]record, error) {
	var records []record
	for at := int64(0); int64(len(b))-at >= headerSize; {
		h := b[at:]
		r := record{
			kind: kind(binary.LittleEndian.Uint64(h)),
			off:  int64(binary.LittleEndian.Uint64(h[8:])),
			len:  int64(binary.LittleEndian.Uint64(h[16:])),
		}
		r.end = at + headerSize
		if r.off < 0 || r.len < 0 || r.off > size || r.len > size-r.off {
			return nil, fmt.Errorf("power: log, record %d at byte %d: range %d+%d is not on a device of %d bytes", len(records), at, r.off, r.len, size)
		}
		switch r.kind {
		case kindWrite:
			if r.len > int64(len(b))-r.end {
				return records, nil
			}
			r.data = b[r.end : r.end+r.len]
			r.end += r.len
		case kindZero, kindFlush:
		default:
			return nil, fmt.Errorf("power: log, record %d at byte %d: kind %d; want 1 to 3", len(records), at, r.kind)
		}
		records = append(records, r)
		at = r.end
	}
	return records, nil
}

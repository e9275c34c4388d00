package wal

import (
	"encoding/binary"
	"fmt"
	"iter"
	"os"
)

// SalvageTail returns an iterator over the whole records from position from on, control
// records included, of a file that has the bytes of a segment from offset off on: a torn
// tail as Options.SaveTorn gets it. As in Salvage, what is not whole is a step with a
// *CorruptError, whose offset is that in the file, and positions only grow. Offsets of
// records are those in the segment; its number is 0.
//
// The salt of the segment is not needed. Where it is not known, a record counts as whole
// if its payload has the right checksum and as many others as possible have the same
// salt; so a record without a payload is found only beside others.
//
// The file is read into memory. Other errors, those of the file, are the last step.
func SalvageTail(file string, off int64, from Position) iter.Seq2[RecordInfo, error] {
	return func(yield func(RecordInfo, error) bool) {
		b, err := os.ReadFile(file)
		if err != nil {
			yield(RecordInfo{}, fmt.Errorf("wal: %w", err))
			return
		}
		t := tailBytes{b: trimZeros(b), all: b, off: off}
		seed, ok := t.seed()
		next, lo := 0, Position(1)
		damage := func(upto int, why string) bool {
			return yield(RecordInfo{}, &CorruptError{File: file, Offset: int64(next), Reason: fmt.Sprintf("%d bytes are no whole record%s", upto-next, why)})
		}
		for i := 0; ok && i < len(t.b); {
			r, whole := t.record(i)
			if !whole || r.pos < lo || binary.LittleEndian.Uint32(t.all[i:]) != headSum(seed, t.off+int64(i), t.all[i:i+headerSize]) {
				i++
				continue
			}
			if next < i && !damage(i, "") {
				return
			}
			if i = int(r.next - off); r.pos >= from && !yield(r.info(&segment{}), nil) {
				return
			}
			next = i
			if lo = r.pos; r.typ == typeData {
				lo++
			}
		}
		if next < len(t.b) {
			damage(len(t.b), ", and none follows")
		}
	}
}

// tailBytes are the bytes of a segment from an offset on.
type tailBytes struct {
	b   []byte // without zeros at the end
	all []byte
	off int64
}

// record decodes what may be a record at b[i:], and reports whether its payload is whole.
func (t *tailBytes) record(i int) (r record, whole bool) {
	if i+headerSize > len(t.all) {
		return r, false
	}
	head := t.all[i : i+headerSize]
	r.decode(head, t.off+int64(i))
	const most = 1 << 48 // no log has more records
	if r.pos == 0 || r.pos > most || !r.fits(t.off+int64(len(t.all))) {
		return r, false
	}
	r.payload = t.all[i+headerSize : r.next-t.off]
	return r, checksum(r.payload) == binary.LittleEndian.Uint32(head[4:])
}

// seed returns the checksum of the salt with which most records are whole; ok is false if
// there is none.
func (t *tailBytes) seed() (seed uint32, ok bool) {
	counts := map[uint32]int{}
	for i := 0; i < len(t.b); {
		r, whole := t.record(i)
		if !whole || len(r.payload) == 0 {
			i++
			continue
		}
		s := seedBefore(binary.LittleEndian.Uint32(t.all[i:]), r.off, t.all[i:i+headerSize])
		if counts[s]++; counts[s] > counts[seed] {
			seed, ok = s, true
		}
		i = int(r.next - t.off)
	}
	return seed, ok
}

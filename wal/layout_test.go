package wal

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"testing"

	"github.com/stele-go/stele/internal/filetest"
)

// The code writes the worked example of the package comment.
func TestWorkedExample(t *testing.T) {
	seed := seedOf(0x0123456789abcdef)
	var got []byte
	off := func() int64 { return firstOffset + int64(len(got)) }
	got = appendRecord(got, seed, off(), typeData, 1, 0, checksum([]byte("stele")), []byte("stele"))
	got = appendRecord(got, seed, off(), typeData, 2, uint32(len(got)), checksum(nil), nil)
	got = appendRecord(got, seed, off(), typeClosed, 3, 0, checksum(nil), nil)
	filetest.CheckExample(t, firstOffset, got)
}

// The checksum of a head is the standard library's CRC-32C over the bytes that
// the package comment names.
func TestHeadSum(t *testing.T) {
	const salt, off = 0xfedcba9876543210, 0x12345678
	rec := appendRecord(nil, seedOf(salt), off, typeData, 77, 5, checksum([]byte("x")), []byte("x"))
	covered := []byte{0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe, 0x78, 0x56, 0x34, 0x12, 0, 0, 0, 0}
	covered = append(covered, rec[4:headerSize]...)
	want := crc32.Checksum(covered, crc32.MakeTable(crc32.Castagnoli))
	var r record
	ok := r.parse(rec, seedOf(salt), off)
	if !ok || rec[0] != byte(want) || rec[3] != byte(want>>24) {
		t.Errorf("the head is %x, its checksum should be %08x", rec[:headerSize], want)
	}
	if r.typ != typeData || r.pos != 77 || r.back != 5 || r.off != off || r.next != off+headerSize+1 {
		t.Errorf("read back as %+v", r)
	}
	if new(record).parse(rec, seedOf(salt), off+1) {
		t.Error("the head is valid at another offset")
	}
	if new(record).parse(rec, seedOf(salt+1), off) {
		t.Error("the head is valid with another salt")
	}
}

// The code writes the header that the package comment draws.
func TestHeaderBytes(t *testing.T) {
	g := &segment{path: "7", number: 7, size: 1 << 20, salt: 0x1122334455667788, recycledFrom: 3}
	id := [16]byte{0: 0xa0, 15: 0xaf}
	want := make([]byte, 4096)
	copy(want, "STELEWAL\x01\x00\x00\x00\x00\x00\x00\x00\xa0")
	want[31] = 0xaf
	want[32] = 7                                            // number
	want[42] = 0x10                                         // size: 1 MiB is 0x100000
	copy(want[48:], "\x88\x77\x66\x55\x44\x33\x22\x11\x03") // salt, recycled from
	binary.LittleEndian.PutUint32(want[64:], crc32.Checksum(want[:64], crc32.MakeTable(crc32.Castagnoli)))
	got := g.header(id)
	if !bytes.Equal(got, want) {
		t.Errorf("written is\n%swant\n%s", hex.Dump(got[:80]), hex.Dump(want[:80]))
	}
	read := &segment{path: "7", number: 7}
	if err := read.parseHeader(got, id, 1<<20); err != nil || read.size != g.size || read.salt != g.salt || read.recycledFrom != 3 {
		t.Errorf("read back as %+v, %v", read, err)
	}
}

// After any append there is space for a closed mark and then an end record.
func TestReserve(t *testing.T) {
	const size = minSegmentSize
	for off := int64(size - 4*reserve); off < size; off++ {
		if maxPayload(size, off) < 0 {
			continue
		}
		after := off + headerSize + maxPayload(size, off) // the longest record there
		if left := size - after; left != headerSize+endSize {
			t.Fatalf("behind a record at %d that fills the segment %d bytes are left", off, left)
		}
	}
	if r := maxPayload(size, size-reserve); r >= 0 {
		t.Errorf("behind the last record there is space for %d bytes", r)
	}
}

func TestAppendRecordAllocatesNothing(t *testing.T) {
	buf := make([]byte, 0, 4096)
	payload := make([]byte, 1000)
	g := &segment{seed: seedOf(9)}
	n := testing.AllocsPerRun(100, func() {
		buf = g.appendRecord(buf[:0], firstOffset, typeData, 1, 0, checksum(payload), payload)
	})
	if n != 0 {
		t.Errorf("%v allocations a record", n)
	}
}

func TestSegmentNames(t *testing.T) {
	for name, want := range map[string]uint64{
		"0000000000000001.wal":  1,
		"9999999999999999.wal":  9999999999999999,
		"10000000000000000.wal": 10000000000000000,
		"0000000000000000.wal":  0,
		"1.wal":                 0,
		"+000000000000001.wal":  0,
		"0000000000000001.new":  0,
		"0000000000000001.wal~": 0,
		"00000000000000001.wal": 0,
	} {
		if got := segmentNumber(name); got != want {
			t.Errorf("%s: number %d, want %d", name, got, want)
		}
	}
}

// putSum sets the checksum at off of a header or a slot of META.
func putSum(b []byte, off int64) { binary.LittleEndian.PutUint32(b[off:], sumOf(b[:off])) }

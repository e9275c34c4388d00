package header

import (
	"bytes"
	"reflect"
	"testing"
)

var someRecord = record{slots: []slot{
	{length: 4096, reserved: true, padSum: 1, headers: []entry{{100, 2}, {3000, 3}}},
	{length: 0, reserved: true},
	{length: 77, padSum: 4, headers: []entry{{77, 5}}},
}}

func TestRecord(t *testing.T) {
	for _, r := range []record{{}, someRecord} {
		got, inode, err := decodeRecord(r.encode(42))
		if err != nil || inode != 42 || !reflect.DeepEqual(*got, r) {
			t.Errorf("%+v became %+v, %d, %v", r, got, inode, err)
		}
	}
	// A single wrong bit anywhere is found.
	b := someRecord.encode(42)
	for i := range len(b) * 8 {
		bad := bytes.Clone(b)
		bad[i/8] ^= 1 << (i % 8)
		if _, _, err := decodeRecord(bad); err == nil {
			t.Errorf("bit %d may be wrong", i)
		}
	}
	for i := range b {
		if _, _, err := decodeRecord(b[:i]); err == nil {
			t.Errorf("%d bytes of %d are enough", i, len(b))
		}
	}
}

// The longest record fits into the space that ext4 has for all attributes of a file.
func TestRecordSize(t *testing.T) {
	r := record{}
	for range maxEntries {
		r.slots = append(r.slots, slot{length: 1 << 40, headers: []entry{{1 << 40, 1}}})
	}
	r.trim()
	if n := len(r.encode(1)); n > 2<<10 {
		t.Errorf("%d bytes", n)
	}
	if _, _, err := decodeRecord(r.encode(1)); err != nil {
		t.Error(err)
	}
}

// Bytes that are not a record are an error, and a record is encoded to the same bytes.
func FuzzRecord(f *testing.F) {
	f.Add(someRecord.encode(7))
	f.Add((&record{}).encode(0))
	f.Add([]byte(recordMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, seal(b)} {
			r, inode, err := decodeRecord(b)
			if err != nil {
				continue
			}
			again, inode2, err := decodeRecord(r.encode(inode))
			if err != nil || inode2 != inode || !reflect.DeepEqual(again, r) {
				t.Errorf("%+v became %+v, %v", r, again, err)
			}
			for i := range r.slots {
				if s := &r.slots[i]; s.free() < 0 || s.free() > s.length {
					t.Errorf("a slot of %d bytes has %d bytes of room", s.length, s.free())
				}
			}
		}
	})
}

// seal gives b a right prefix and checksum, so that the fuzzer reaches the code after
// those checks.
func seal(b []byte) []byte {
	b = append([]byte(recordMagic+string(rune(recordVersion))), b...)
	n := sum(b)
	return append(b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
}

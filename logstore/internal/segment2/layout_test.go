package segment2

import (
	"bytes"
	"hash/crc32"
	"slices"
	"testing"
)

var someInfo = Info{
	Version: version, After: 7, Upto: 90, Generation: 3, Created: 1 << 60, Log: [16]byte{1, 2, 3, 15: 16},
	Term: 0xfedcba9876543210, TermBefore: 5, Applied: 44,
	MinTime: -4, MaxTime: 1 << 61, Rows: 12, Raw: 130, Streams: 1<<31 - 1, Size: 1 << 40,
}

// The header says what of the Info is known when it is written, the footer and
// the origin the rest but the blocks.
func TestInfo(t *testing.T) {
	const salt = 0x0123456789abcdef
	p := appendHeader(nil, salt, someInfo)
	want := Info{
		Version: version, After: 7, Upto: 90, Generation: 3, Created: 1 << 60, Log: someInfo.Log,
		Term: someInfo.Term, TermBefore: 5,
	}
	if s, i, ok := parseHeader(p); len(p) != headerSize || s != salt || i != want || !ok {
		t.Errorf("%d bytes: %x, %+v, %v", len(p), s, i, ok)
	}
	// Version 1 reads only these bytes.
	if v, s, ok := parseVersion(p[:24]); v != version || s != salt || !ok {
		t.Errorf("%d, %x, %v", v, s, ok)
	}
	f := footer{info: someInfo, salt: salt, table: 1 << 39, tableBytes: 480, tableSum: 0x11223344}
	p = f.append(nil)
	got, v, ok := parseFooter(p)
	if len(p) != footerSize || v != version || !ok {
		t.Errorf("%d bytes, version %d, %v", len(p), v, ok)
	}
	if err := parseOrigin(&got.info, appendOrigin(nil, someInfo)); err != nil || got != f {
		t.Errorf("%+v, %v; want %+v", got, err, f)
	}
}

// Each bit of the header and the footer is covered by a checksum or known.
func TestInfoDamage(t *testing.T) {
	for name, p := range map[string][]byte{
		"header": appendHeader(nil, 5, someInfo),
		"footer": footer{info: someInfo, salt: 5}.append(nil),
	} {
		for i := range 8 * len(p) {
			q := bytes.Clone(p)
			q[i/8] ^= 1 << (i % 8)
			ok := false
			if name == "header" {
				_, _, ok = parseHeader(q)
			} else {
				_, _, ok = parseFooter(q)
			}
			if ok {
				t.Errorf("%s: bit %d: the damage is not seen", name, i)
			}
		}
	}
}

// The checksum of a frame is the standard library's CRC-32C over the bytes that
// the package comment names, and a frame is valid at its place only.
func TestFrameHeaders(t *testing.T) {
	const salt, off = 0xfedcba9876543210, 0x12345678
	lf := labelFrame{number: 7, raw: 50, first: 600, streams: 3, stored: 40, sum: 60}
	bf := blockFrame{number: 7, codec: CodecColumns, dictionary: 2, list: 20, positions: 0, size: 30, listSum: 40, positionsSum: 50, sum: 60}
	for name, p := range map[string][]byte{"LABL": lf.append(nil, salt, off), "BLOK": bf.append(nil, salt, off)} {
		covered := append([]byte{0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe, 0x78, 0x56, 0x34, 0x12, 0, 0, 0, 0}, p[4:]...)
		want := crc32.Checksum(covered, crc32.MakeTable(crc32.Castagnoli))
		if p[0] != byte(want) || p[3] != byte(want>>24) || string(p[4:8]) != name {
			t.Errorf("the head is %x, its checksum should be %08x", p, want)
		}
		for i := range 8 * len(p) {
			q := bytes.Clone(p)
			q[i/8] ^= 1 << (i % 8)
			_, l := parseLabelFrame(q, salt, off)
			_, b := parseBlockFrame(q, salt, off)
			if l || b {
				t.Errorf("%s: bit %d: the damage is not seen", name, i)
			}
		}
	}
	p := lf.append(nil, salt, off)
	if f, ok := parseLabelFrame(append(p, 1), salt, off); f != lf || !ok || len(p) != labelHeaderSize {
		t.Errorf("%+v, %v", f, ok)
	}
	p = bf.append(nil, salt, off)
	if f, ok := parseBlockFrame(append(p, 1), salt, off); f != bf || !ok || len(p) != blockHeaderSize {
		t.Errorf("%+v, %v", f, ok)
	}
	if _, ok := parseBlockFrame(p, salt+1, off); ok {
		t.Error("it is taken in another file")
	}
	if _, ok := parseBlockFrame(p, salt, off+1); ok {
		t.Error("it is taken at another place")
	}
}

func FuzzFrames(f *testing.F) {
	f.Add(appendHeader(nil, 5, someInfo))
	f.Add(footer{info: someInfo, salt: 5}.append(nil))
	f.Add(blockFrame{list: 3, size: 4}.append(nil, 1, 2))
	f.Add(appendList(nil, []FrameRun{{Ordinal: 5, Rows: 3, Seq: 7}, {Ordinal: 5, First: 3, Rows: 1, Seq: 8}, {Ordinal: 1<<32 - 1, First: 4, Rows: 9}}))
	f.Fuzz(func(t *testing.T, p []byte) {
		if salt, i, ok := parseHeader(p); ok && !bytes.Equal(appendHeader(nil, salt, i), p[:headerSize]) {
			t.Fatalf("header %+v", i)
		}
		if e, ver, ok := parseFooter(p); ok && ver == version && !bytes.Equal(e.append(nil), p) {
			t.Fatalf("footer %+v", e)
		}
		parseLabelFrame(p, 1, 2)
		parseBlockFrame(p, 1, 2)
		runs, rows, err := parseList(nil, p)
		if err != nil {
			return
		}
		again, same, err := parseList(nil, appendList(nil, runs))
		if err != nil || same != rows || !slices.Equal(again, runs) {
			t.Fatalf("%v: %+v, and was %+v", err, again, runs)
		}
	})
}

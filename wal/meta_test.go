package wal

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestMetaBytes(t *testing.T) {
	m := meta{sequence: 3, first: 1000, segment: 7, next: 2000}
	for i := range m.id {
		m.id[i] = byte(i)
	}
	const want = "5354454c45574d54" + "01000000" + "00000000" + "000102030405060708090a0b0c0d0e0f" +
		"0300000000000000" + "e803000000000000" + "0700000000000000" + "d007000000000000"
	b := m.encode()
	if got := hex.EncodeToString(b[:metaSum]); got != want {
		t.Errorf("a slot begins with\n%s, want\n%s", got, want)
	}
	if len(b) != metaSlotSize || slices.ContainsFunc(b[metaSum+4:], func(b byte) bool { return b != 0 }) {
		t.Errorf("%d bytes, the last of them\n%s", len(b), hex.Dump(b[metaSum+4:]))
	}
	if got, _, reason := decodeMeta(b); got != m || reason != "" {
		t.Errorf("read back as %+v, %s", got, reason)
	}
}

// Wherever a write of META ends, META is the old one or the new one, and the
// slot written first is never the only valid one.
func TestMetaWrites(t *testing.T) {
	was := meta{id: [16]byte{1}, sequence: 5, first: 10, segment: 2, next: 30}
	is := meta{id: [16]byte{1}, sequence: 6, first: 20, segment: 3, next: 30}
	damaged := func(slot int) []byte {
		b := metaFile(was)
		b[slot*metaApart+40] ^= 1
		return b
	}
	for _, c := range []struct {
		name  string
		begin []byte
	}{{"both", metaFile(was)}, {"slot 0 damaged", damaged(0)}, {"slot 1 damaged", damaged(1)}} {
		t.Run(c.name, func(t *testing.T) {
			got, slot, degraded, err := parseMeta(c.begin, metaName)
			if err != nil || got != was || degraded != (c.name != "both") {
				t.Fatalf("%+v, %v, %v", got, degraded, err)
			}
			b := is.encode()
			for step, i := range []int{slot, 1 - slot} {
				for n := 0; n <= metaSlotSize; n += 8 {
					torn := bytes.Clone(c.begin)
					if step == 1 {
						copy(torn[slot*metaApart:], b)
					}
					copy(torn[i*metaApart:], b[:n])
					got, _, _, err := parseMeta(torn, metaName)
					if err != nil || got != was && got != is || step == 1 && got != is {
						t.Fatalf("step %d, %d bytes of slot %d: %+v, %v", step, n, i, got, err)
					}
				}
			}
			f, err := os.Create(filepath.Join(t.TempDir(), metaName))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			f.Write(c.begin)
			if err := writeMeta(f, is, slot); err != nil {
				t.Fatal(err)
			}
			got, _, degraded, err = readMeta(f, metaName)
			if err != nil || got != is || degraded {
				t.Errorf("written, it is %+v, %v, %v", got, degraded, err)
			}
		})
	}
	mixed := metaFile(was)
	is.id[0] = 2
	copy(mixed[metaApart:], is.encode())
	_, _, _, err := parseMeta(mixed, metaName)
	if c, ok := errors.AsType[*CorruptError](err); !ok || c.Offset != metaApart {
		t.Errorf("slots of two logs: %v", err)
	}
}

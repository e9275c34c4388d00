package segment

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The code writes the worked example of the package comment.
func TestWorkedExample(t *testing.T) {
	var out bytes.Buffer
	w := newWriter(&out, 0x0123456789abcdef)
	err := w.AddBlock([]byte("rows"), []byte("words"), []StreamRun{
		{"app", Run{Rows: 2, MinTime: 5, MaxTime: 6, Raw: 10}},
		{"apple", Run{First: 2, Rows: 1, MinTime: 7, MaxTime: 7, Raw: 4}},
	})
	if err != nil {
		t.Fatal(err)
	}
	info, err := w.Finish(Info{Upto: 3, Generation: 1, Created: 9})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	for _, m := range regexp.MustCompile(`(?m)^//\t([0-9a-f]{4})((?: +[0-9a-f]{2})+)$`).FindAllSubmatch(doc, -1) {
		if at := fmt.Sprintf("%04x", len(want)); at != string(m[1]) {
			t.Errorf("the line of offset %s is at %s", m[1], at)
		}
		b, err := hex.DecodeString(strings.ReplaceAll(string(m[2]), " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, b...)
	}
	if !bytes.Equal(out.Bytes(), want) {
		t.Errorf("the package comment has\n%swritten is\n%s", hex.Dump(want), hex.Dump(out.Bytes()))
	}

	s := open(t, want)
	if s.Info() != info || info != (Info{Upto: 3, Generation: 1, Created: 9, MinTime: 5, MaxTime: 7, Rows: 3, Raw: 14, Streams: 2, Blocks: 1, Size: int64(len(want))}) {
		t.Errorf("%+v, written as %+v", s.Info(), info)
	}
	st, err := s.Stream(1)
	runs, err2 := s.Runs(1)
	if err != nil || err2 != nil || st != (Stream{"apple", 7, 7, 1, 4}) || len(runs) != 1 || runs[0] != (Run{0, 2, 1, 7, 7, 4}) {
		t.Errorf("%+v, %+v, %v, %v", st, runs, err, err2)
	}
}

// The checksum of a frame is the standard library's CRC-32C over the bytes that
// the package comment names.
func TestFrameSum(t *testing.T) {
	const salt, off = 0xfedcba9876543210, 0x12345678
	f := frame{kind: kindBlock, number: 7, list: 20, payload: 30, listSum: 40, sum: 50}
	p := f.append(nil, salt, off)
	covered := append([]byte{0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe, 0x78, 0x56, 0x34, 0x12, 0, 0, 0, 0}, p[4:]...)
	want := crc32.Checksum(covered, crc32.MakeTable(crc32.Castagnoli))
	if p[0] != byte(want) || p[3] != byte(want>>24) {
		t.Errorf("the head is %x, its checksum should be %08x", p, want)
	}
	if got, ok := parseFrame(p, salt, off); !ok || got != f {
		t.Errorf("%+v, %v", got, ok)
	}
	if _, ok := parseFrame(p, salt, off+1); ok {
		t.Error("it is taken at another place")
	}
	if _, ok := parseFrame(p, salt+1, off); ok {
		t.Error("it is taken in another file")
	}
}

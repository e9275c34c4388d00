package segment

import (
	"bytes"
	"hash/crc32"
	"testing"

	"github.com/stele-go/stele/internal/filetest"
	"github.com/stele-go/stele/logstore/internal/segment/segmenttest"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// The code writes the worked example of the package comment.
func TestWorkedExample(t *testing.T) {
	var out bytes.Buffer
	w := segmenttest.NewWriterWithSalt(&out, 0x0123456789abcdef)
	err := w.AddBlock([]byte("rows"), []byte("words"), []segmenttest.Run{
		{Labels: "\x03app\x03api", Rows: 2, MinTime: 5, MaxTime: 6, Raw: 10},
		{Labels: "\x03app\x03web", Rows: 1, MinTime: 7, MaxTime: 7, Raw: 4},
	})
	if err != nil {
		t.Fatal(err)
	}
	info, err := w.Finish(segment2.Info{Upto: 3, Generation: 1, Created: 9})
	if err != nil {
		t.Fatal(err)
	}
	filetest.CheckExample(t, 0, out.Bytes())

	s := open(t, out.Bytes())
	if s.Info() != info || info != (segment2.Info{Version: 1, Upto: 3, Generation: 1, Created: 9, MinTime: 5, MaxTime: 7, Rows: 3, Raw: 14, Streams: 2, Blocks: 1, Size: int64(out.Len())}) {
		t.Errorf("%+v, written as %+v", s.Info(), info)
	}
	st, err := s.Stream(1)
	runs, err2 := s.Runs(1)
	if err != nil || err2 != nil || st != (Stream{"\x03app\x03web", 7, 7, 1, 4}) || len(runs) != 1 || runs[0] != (Run{0, 2, 1, 7, 7, 4}) {
		t.Errorf("%+v, %+v, %v, %v", st, runs, err, err2)
	}
}

// The checksum of a frame is the standard library's CRC-32C over the bytes that
// the package comment names.
func TestFrameSum(t *testing.T) {
	const salt, off = 0xfedcba9876543210, 0x12345678
	f := frame{kind: kindBlock, number: 7, list: 20, payload: 30, listSum: 40, sum: 50}
	p := segmenttest.Frame{Kind: "BLOK", Number: 7, List: 20, Payload: 30, ListSum: 40, Sum: 50}.Append(nil, salt, off)
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

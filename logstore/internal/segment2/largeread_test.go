package segment2

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stele-go/stele/internal/filetest"
)

// A read of more than MaxRead returns all bytes.
func TestLongReads(t *testing.T) {
	want := make([]byte, 2*MaxRead+12345)
	for i := range want {
		want[i] = byte(i * 7 >> 3)
	}
	got, err := ReadPieces(memory{p: want}, []byte("before"), int64(len(want)-100), 100, -1)
	if err != nil || string(got[:6]) != "before" || !bytes.Equal(got[6:], want[100:]) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if got, err := ReadPieces(memory{p: want}, []byte("before"), int64(len(want)), 100, -1); !isCorrupt(err) || string(got) != "before" {
		t.Errorf("beyond the end: %q, %v", got, err)
	}
}

// A holes is a file of zeros of any size.
type holes struct{}

func (holes) Name() string { return "a.seg" }

func (holes) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}

// A part that is a hole of a terabyte takes little memory.
func TestHoles(t *testing.T) {
	x := (&Card{}).index(holes{}, nil)
	var err error
	took := filetest.Allocated(func() {
		err = x.view(t.Context(), 5, 1<<40, -1, "a part", func([]byte) error { return nil })
	})
	if !isCorrupt(err) || took > 4*MaxRead {
		t.Errorf("%d bytes of memory, %v", took, err)
	}
}

// Parts of the index may have more than MaxRead: here the tenants.
func TestLargeSection(t *testing.T) {
	const tenants = 36_000
	name := func(i int) string { return fmt.Sprintf("%0*d", MaxTenant, i) }
	var out bytes.Buffer
	w := NewWriter(&out, Info{Upto: 1})
	for i := range tenants {
		w.AddStreams(name(i), slices.Values([]string{"", labelsOf("app", "api")}))
	}
	for i := range tenants {
		w.AddBlock(EncodedBlock{Block: []byte("b"), Codec: 1, Runs: Runs{{Ordinal: uint32(2 * i), Rows: 1}}, IDs: []ID{{1, uint32(i)}}})
	}
	for range tenants {
		w.AddFilter(nil)
	}
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	src := memory{p: out.Bytes()}
	c, err := OpenCard(src, int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if s := c.section(TypeTenants); s.bytes <= MaxRead {
		t.Fatalf("%d bytes of tenants; want more than %d", s.bytes, MaxRead)
	}
	x := c.Index(src, nil)
	if ordinal, ok, err := x.Find(t.Context(), name(tenants/2), labelsOf("app", "api")); ordinal != tenants+1 || !ok || err != nil {
		t.Errorf("stream %d, %v, %v; want stream %d", ordinal, ok, err, tenants+1)
	}
}

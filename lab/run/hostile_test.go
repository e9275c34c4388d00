package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/stele-go/stele/internal/filetest"
)

// zeros is a long file of one byte, and counts what is read of it.
type zeros struct {
	byte byte
	left int64
	read int64
}

func (z *zeros) Read(b []byte) (int, error) {
	if z.left <= 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(b)), z.left))
	for i := range b[:n] {
		b[i] = z.byte
	}
	z.left -= int64(n)
	z.read += int64(n)
	return n, nil
}

// Of a file that is no run no more is read than shows that, however long it is.
func TestReadOfHugeFiles(t *testing.T) {
	for _, c := range []byte{0, ' ', '[', 'x'} {
		z := &zeros{byte: c, left: 10 << 30}
		var err error
		took := filetest.Allocated(func() { _, err = Read(z) })
		if err == nil || !strings.Contains(err.Error(), "not a Stele run") {
			t.Errorf("%q: %v", c, err)
		}
		if z.read > 1<<20 || took > 1<<20 {
			t.Errorf("%q: %d bytes read, %d allocated", c, z.read, took)
		}
	}
	// An object that never ends is read up to the limit.
	z := &zeros{byte: ' ', left: 10 << 30}
	if _, err := readBounded(io.MultiReader(strings.NewReader("{"), z)); err == nil || z.read > maxRun+1<<20 {
		t.Errorf("%v after %d bytes", err, z.read)
	}
}

// A few bytes that ask for counts of another range get no memory.
func TestHistogramOfAnotherRange(t *testing.T) {
	wide, err := hdrhistogram.New(1, 1<<62, 5).Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(histogramJSON{HDR: string(wide)})
	if err != nil {
		t.Fatal(err)
	}
	took := filetest.Allocated(func() { err = new(Histogram).UnmarshalJSON(text) })
	if err == nil || !strings.Contains(err.Error(), "5 digits") {
		t.Error(err)
	}
	if took > 1<<20 {
		t.Errorf("%d bytes of JSON took %d of memory", len(text), took)
	}
}

// Whatever a histogram's text is cut to, or changed in, it is an error or a
// histogram, at a bounded price.
func TestHistogramDamaged(t *testing.T) {
	h := NewHistogram()
	h.Record(12345)
	whole, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var j histogramJSON
	if err := json.Unmarshal(whole, &j); err != nil {
		t.Fatal(err)
	}
	try := func(what, hdr string) {
		text, err := json.Marshal(histogramJSON{HDR: hdr})
		if err != nil {
			t.Fatal(err)
		}
		if took := filetest.Allocated(func() { new(Histogram).UnmarshalJSON(text) }); took > 1<<20 {
			t.Errorf("%s: %d bytes", what, took)
		}
	}
	for i := range j.HDR {
		try(fmt.Sprintf("cut at %d", i), j.HDR[:i])
		b := []byte(j.HDR)
		b[i] ^= 1
		try(fmt.Sprintf("changed at %d", i), string(b))
	}
	if !bytes.Contains(whole, []byte("hdr")) {
		t.Error("no histogram")
	}
}

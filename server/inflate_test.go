package server

import (
	"bytes"
	"compress/zlib"
	"io"
	"testing"
)

// An inflater that waits in the pool has nothing of the body that it has read, and reads
// the next one as a new one does.
func TestInflaterKeepsNoBody(t *testing.T) {
	text := bytes.Repeat([]byte("some text "), 1000)
	var zlibbed bytes.Buffer
	w := zlib.NewWriter(&zlibbed)
	w.Write(text)
	w.Close()
	z := new(inflater)
	for range 2 {
		for _, c := range []struct {
			encoding string
			body     []byte
		}{{"gzip", gzipped(text)}, {"deflate", zlibbed.Bytes()}, {"deflate", deflated(text)}, {"gzip", []byte("no gzip")}, {"deflate", []byte("no deflate")}} {
			r, err := z.reset(c.encoding, c.body)
			var got []byte
			if err == nil {
				got, err = io.ReadAll(r)
			}
			if bad := bytes.HasPrefix(c.body, []byte("no ")); (err != nil) != bad || !bad && !bytes.Equal(got, text) {
				t.Errorf("%s of %.10q: %d bytes, %v", c.encoding, c.body, len(got), err)
			}
			if z.release(); z.src.Size() != 0 {
				t.Errorf("%s: the inflater still has the body", c.encoding)
			}
		}
	}
}

func BenchmarkInflate(b *testing.B) {
	body := gzipped(bytes.Repeat([]byte("some text "), 10_000))
	b.ReportAllocs()
	for b.Loop() {
		z := inflaters.Get().(*inflater)
		r, err := z.reset("gzip", body)
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if z.release(); err != nil {
			b.Fatal(err)
		}
	}
}

package block

import (
	"encoding/binary"
	"errors"
	"testing"
)

// No bytes make a Decoder panic, and it reads the next block after them.
// Checksums are fixed, else nothing would get past them.
func FuzzDecoder(f *testing.F) {
	for _, rows := range shapes() {
		rows = rows[:min(len(rows), 50)]
		if len(rows[0].line) < 1<<10 { // large ones would take all the time
			f.Add(encode(f, rows))
		}
	}
	want := logRows(3, 1)
	good := encode(f, want)
	var e Encoder // for all inputs of this process, which come one by one
	var d Decoder
	f.Fuzz(func(t *testing.T, p []byte) {
		p = append([]byte(nil), p...)
		reseal(p)
		rows, err := decode(&d, p)
		_, later := errors.AsType[*VersionError](err)
		if err != nil && !errors.Is(err, ErrDamaged) && !(later && len(p) > 0 && p[0] > version1) {
			t.Errorf("an error of another kind: %v", err)
		}
		if err == nil {
			got, err := decode(&d, encodeBy(t, &e, rows))
			if err == nil {
				err = same(got, rows)
			}
			if err != nil {
				t.Errorf("encoded once more: %v", err)
			}
		}
		got, err := decode(&d, good)
		if err == nil {
			err = same(got, want)
		}
		if err != nil {
			t.Errorf("the next block: %v", err)
		}
	})
}

// Rows are decoded as they were encoded. Each takes 10 bytes of data for its
// time and the lengths of its line and metadata.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("01234567\x05\x01helloM01234567\x00\x00"))
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x80\x03\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x01\x01ab"))
	var e Encoder // for all inputs of this process, which come one by one
	var d Decoder
	f.Fuzz(func(t *testing.T, data []byte) {
		var want []row
		take := func(n int) string {
			n = min(n, len(data))
			s := data[:n]
			data = data[n:]
			return string(s)
		}
		for len(data) >= 10 {
			at := int64(binary.LittleEndian.Uint64(data))
			line, meta := int(data[8]), int(data[9]>>4)
			data = data[10:]
			want = append(want, row{at, take(line), take(meta)})
		}
		if len(want) == 0 {
			return
		}
		got, err := decode(&d, encodeBy(t, &e, want))
		if err == nil {
			err = same(got, want)
		}
		if err != nil {
			t.Error(err)
		}
	})
}

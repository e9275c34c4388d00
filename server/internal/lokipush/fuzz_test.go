package lokipush

import (
	"errors"
	"testing"

	"github.com/stele-go/stele/logstore"
)

func FuzzProtobuf(f *testing.F) {
	f.Add(protoPush(protoStream(`{a="1"}`, protoEntry(1, "x", "k", "v"))))
	f.Fuzz(func(t *testing.T, body []byte) { checkDecoded(t, body, (*Decoder).Protobuf) })
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"streams":[{"stream":{"app":"\u00e9"},"values":[["1500","a \"line",{"k":"v"}]]}]}`))
	f.Add([]byte(`{"streams":[{"labels":"{app=\"1\"}","entries":[{"ts":"2026-01-05T08:00:00.5Z","line":"x"}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) { checkDecoded(t, body, (*Decoder).JSON) })
}

// checkDecoded decodes a body and checks that the result is within the limits.
func checkDecoded(t *testing.T, body []byte, decode func(d *Decoder, body []byte) error) {
	d := Get(testLimits, NewCache(1<<12, []string{"app"}, true), nil)
	defer d.Release()
	if err := decode(d, body); err != nil {
		if e, ok := errors.AsType[*Error](err); !ok || e.Offset < 0 || e.Offset > len(body) {
			t.Fatalf("%v", err)
		}
		return
	}
	n, refused, size := 0, 0, int64(0)
	for _, s := range d.Batch() {
		if len(s.Entries) == 0 {
			t.Fatal("a stream is empty")
		}
		for _, e := range s.Entries {
			if n, size = n+1, size+int64(len(e.Line)); e.Time == RefusedTime {
				refused++
			} else if s.Labels == (logstore.Labels{}) {
				t.Fatal("a stream without labels")
			}
		}
	}
	if refused != d.Refused().Entries() {
		t.Fatalf("%d entries were refused, and %d told", refused, d.Refused().Entries())
	}
	if n != d.Entries() || size != d.Bytes() || n > testLimits.Entries || len(d.Batch()) > testLimits.Streams || size > int64(len(body)) {
		t.Fatalf("%d entries, %d bytes", n, size)
	}
}

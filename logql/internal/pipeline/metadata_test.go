package pipeline

import (
	"bytes"
	"testing"
	"unsafe"

	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// The store passes metadata in memory of its own, where those of the next line are later.
func TestMetadataAreValidUntilProcessReturns(t *testing.T) {
	p, err := Compile(nil, Options{AllLabels: true})
	if err != nil {
		t.Fatal(err)
	}
	r := p.NewRun()
	r.Stream(logstore.MustLabels("app", "a"))
	metadata := logstore.MustLabels("level", "info")
	text := *(*string)(unsafe.Pointer(&metadata)) // Labels are a string
	bytesOf := unsafe.Slice(unsafe.StringData(text), len(text))
	by := &syntax.Grouping{Labels: []string{"level"}}
	for _, level := range []string{"info", "warn", "fail"} {
		copy(bytesOf[bytes.LastIndex(bytesOf, []byte("level"))+len("level")+1:], level)
		if got := metadata.Get("level"); got != level {
			t.Fatalf("level %q, want %q: the test knows Labels no more", got, level)
		}
		r.Process(1, []byte("line"), metadata)
		if got, _ := r.Get("level"); string(got) != level {
			t.Errorf("level %q, want %q", got, level)
		}
		if key := r.AppendKey(nil, by); !bytes.Contains(key, []byte(level)) {
			t.Errorf("key %q has no %q", key, level)
		}
	}
	r.Process(1, []byte("line"), logstore.Labels{})
	if got, ok := r.Get("level"); ok {
		t.Errorf("level %q of the line before", got)
	}
}

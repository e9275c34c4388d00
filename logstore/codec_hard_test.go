package logstore

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stele-go/stele/internal/hardlines"
)

// hardBytes is how many bytes of each kind of lines are stored.
const hardBytes = 1 << 20

// Lines that fit no template take at most a twentieth more than with CodecLines, and come
// back as they were.
func TestHardLinesTakeLittleMore(t *testing.T) {
	for _, k := range hardlines.Kinds() {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			first, second := storeHardLines(t, k, CodecLines), storeHardLines(t, k, CodecColumns)
			if second*20 > first*21 {
				t.Errorf("%d bytes with CodecColumns, %d with CodecLines: %.3f times", second, first, float64(second)/float64(first))
			}
		})
	}
}

// storeHardLines returns the bytes of the segments that have the lines.
func storeHardLines(t *testing.T, k hardlines.Kind, codec Codec) (size int64) {
	o := small()
	o.Codec = codec
	s := openTest(t, t.TempDir(), o)
	next, labels := k.Lines(1), MustLabels("kind", k.Name)
	batch := Batch{{Labels: labels}}
	start := s.o.Clock.Now().UnixNano()
	for n := 0; n < hardBytes; {
		line := bytes.Clone(next())
		n += len(line)
		batch[0].Entries = append(batch[0].Entries, Entry{Time: start + int64(len(batch[0].Entries))*1e6, Line: line})
	}
	if err := s.Append(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{}
	for _, e := range batch[0].Entries {
		want[string(e.Line)]++
	}
	for e, err := range s.Query(t.Context(), Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		want[string(e.Line)]--
	}
	for line, n := range want {
		if n != 0 {
			t.Fatalf("%d times too few: %s", n, fmt.Sprintf("%.200q", line))
		}
	}
	return s.Stats().SegmentBytes
}

package segment2

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"testing"
)

// A regexp on a name with very many values looks at all labels.
func BenchmarkSelectManyValues(b *testing.B) {
	const streams = 100_000
	labels := make([]string, streams)
	for i := range labels {
		labels[i] = labelsOf("app", fmt.Sprintf("app-%02d", i%20), "pod", fmt.Sprintf("pod-%06d", i*7919%streams))
	}
	slices.Sort(labels)
	var out bytes.Buffer
	w := NewWriter(&out, Info{Upto: 1})
	if err := w.AddStreams("", slices.Values(labels)); err != nil {
		b.Fatal(err)
	}
	for i := range streams / 1000 {
		var runs Runs
		for k := range 1000 {
			runs = append(runs, Run{Ordinal: uint32(1000*i + k), Rows: 1})
		}
		w.AddBlock(EncodedBlock{Block: []byte("b"), Codec: 1, Runs: runs, IDs: make([]ID, 1000)})
	}
	for range streams / 1000 {
		w.AddFilter(nil)
	}
	if _, err := w.Finish(); err != nil {
		b.Fatal(err)
	}
	src := memory{p: out.Bytes()}
	card, err := OpenCard(src, int64(out.Len()))
	if err != nil {
		b.Fatal(err)
	}
	re := regexp.MustCompile(`^(?:pod-.*77)$`)
	for _, kept := range []bool{false, true} {
		b.Run(fmt.Sprintf("kept=%v", kept), func(b *testing.B) {
			b.ReportAllocs()
			var cache Cache
			if kept {
				cache = mapCache{}
			}
			cond := []Condition{{Name: "pod", Match: re.MatchString}}
			if kept {
				cond[0].Key = re.String()
			}
			for b.Loop() {
				set, err := card.Index(src, cache).Select(b.Context(), "", cond)
				if err != nil || set.GetCardinality() != 1000 {
					b.Fatal(set.GetCardinality(), err)
				}
			}
		})
	}
}

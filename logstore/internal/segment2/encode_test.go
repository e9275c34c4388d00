package segment2

import (
	"fmt"
	"testing"

	"github.com/stele-go/stele/logstore/internal/template"
)

// An encoder that has given up its memory encodes as before, and gives up the processor as often.
func TestEncoderAfterRelease(t *testing.T) {
	passed := 0
	for _, e := range []BlockEncoder{NewLinesEncoder(), NewColumnsEncoder(template.NewMiner(), func() { passed++ })} {
		first := 0
		for i := range 3 {
			passed = 0
			e.Reset(true)
			for n := range 2000 {
				e.Add(int64(n), fmt.Appendf(nil, "took %d ms of %d", n%700, n), nil)
			}
			var b EncodedBlock
			if err := e.Encode(&b); err != nil {
				t.Fatal(err)
			}
			if len(b.Block) == 0 || len(e.Filter(nil)) == 0 || (b.Templates != nil) != (e.Codec() == CodecColumns) {
				t.Errorf("codec %d, block %d: %d bytes, a filter of %d, templates %v", e.Codec(), i, len(b.Block), len(e.Filter(nil)), b.Templates)
			}
			if i == 0 {
				first = passed
			}
			if passed < first/2 || e.Codec() == CodecColumns && passed == 0 {
				t.Errorf("codec %d: block %d called pass %d times, the first one %d", e.Codec(), i, passed, first)
			}
			if e.Release(); e.Weight() > 0 {
				t.Errorf("codec %d: %d bytes are kept", e.Codec(), e.Weight())
			}
		}
	}
}

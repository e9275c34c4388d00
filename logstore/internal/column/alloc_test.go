//go:build !race

package column

import (
	"runtime/debug"
	"strings"
	"testing"
)

// (Under the race detector pools drop items on purpose.)
func TestSteadyStateAllocatesNothing(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // nor do pools without a collection
	var e Encoder
	var c Column
	var packed, text, out []byte
	for name, v := range samples() {
		if strings.Contains(name, "time ") && name != "time 2006-01-02 15:04:05.000" {
			continue // they are alike
		}
		times := rowTimes(len(v))
		values := make([][]byte, len(v))
		for i, s := range v {
			values[i] = []byte(s)
		}
		hits := make([]uint64, (len(v)+63)/64)
		n := testing.AllocsPerRun(50, func() {
			e.Reset()
			for i, p := range values {
				e.Add(p, times[i])
			}
			packed, text = e.Append(packed[:0], text[:0])
			if err := c.Open(packed, text, len(v), times); err != nil {
				t.Fatal(err)
			}
			for i := range v {
				out = c.AppendValue(out[:0], i)
			}
			for i := 0; i < len(v); {
				_, spans := c.Draw(i)
				i += len(spans)
			}
			for op := Contains; op <= Equal; op++ {
				c.Match(hits, Test{Op: op, Text: values[0]})
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations a column", name, n)
		}
	}
}

//go:build !race

package block

import (
	"bytes"
	"runtime/debug"
	"testing"
)

// (Under the race detector the compressor's pools drop items on purpose.)
func TestSteadyStateAllocatesNothing(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // nor do pools without a collection
	rows := logRows(1_500, 3)
	rows[7].line = "with \xff in it, so that lengths are needed"
	rows[9].meta = "trace=1"
	lines := make([][]byte, len(rows))
	for i, r := range rows {
		lines[i] = []byte(r.line)
	}
	meta := []byte("trace=1")
	var e Encoder
	var d Decoder
	var p []byte
	n := testing.AllocsPerRun(20, func() {
		e.Reset()
		for i, l := range lines {
			e.Add(rows[i].time, l, meta[:i%2*len(meta)])
		}
		var err error
		if p, err = e.Append(p[:0]); err != nil {
			t.Fatal(err)
		}
		if err = d.Open(p, nil); err != nil {
			t.Fatal(err)
		}
		if _, err = d.Times(); err != nil {
			t.Fatal(err)
		}
		if err = d.Lines(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(d.Line(len(rows)-1), lines[len(rows)-1]) {
			t.Fatal("another line")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations a block", n)
	}
}

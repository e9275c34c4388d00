package logstore

import (
	"fmt"
	"testing"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A batch has the rows of several results in the order in which they were added,
// and takes no more than it may hold.
func TestResultBatch(t *testing.T) {
	for _, size := range []int{1, 100, 1000, batchBytes + 1} {
		f := &results{data: []byte("ab"), streams: []resultStream{{off: 0, size: 1, left: 100}, {off: 1, size: 1, left: 100}}, leaf: &blockLeaf{in: &searched{}, number: size}}
		names := newLabelTable(1 << 20)
		for i := range 200 {
			line, meta := fmt.Sprintf("%*d", size, i), fmt.Sprint(i)
			f.rows = append(f.rows, resultRow{time: int64(i), stream: uint32(i % 2), off: uint32(len(f.data)), line: uint32(len(line)), meta: uint32(len(meta))})
			f.data = append(append(f.data, line...), meta...)
			f.ids = append(f.ids, segment2.ID{Position: uint64(i)})
		}
		var b resultBatch
		for f.next < len(f.rows) {
			b.reset()
			first := f.next
			for !b.isFull() && f.next < len(f.rows) {
				n := b.add(names, f, min(30, b.room(), len(f.rows)-f.next))
				if n == 0 {
					t.Fatal("nothing was added to a batch that is not full")
				}
				f.next += n
			}
			if last := &b.rows[b.n-1]; last.off >= batchBytes {
				t.Fatalf("size %d: %d rows, the last at byte %d", size, b.n, last.off)
			}
			for i := range b.n {
				r, want := &b.rows[i], first+i
				line, meta := b.text(r)
				if string(line) != fmt.Sprintf("%*d", size, want) || string(meta) != fmt.Sprint(want) || r.time != int64(want) ||
					r.labels.enc != string("ab"[want%2]) || b.parts[r.part].block != size || b.id(i).Position != uint64(want) {
					t.Fatalf("size %d: row %d is not that of the results", size, want)
				}
			}
		}
	}
}

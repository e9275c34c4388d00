package logstore

import (
	"testing"

	"github.com/stele-go/stele/internal/semaphore"
)

// A contentTable takes no more than its share of the memory, and none that the
// search has not.
func TestContentTable(t *testing.T) {
	memory := &allowance{}
	memory.begin(&readPool{minBytes: 1 << 20, sumBytes: 1 << 20})
	table := contentTable[int]{memory: memory}
	for i := range 1000 {
		table.put(uint64(i), i, 1<<10)
	}
	if n := memory.used.Load(); n != table.bytes || n > 1<<17 || n < 1<<17-2<<10 {
		t.Errorf("%d bytes are charged for %d", n, table.bytes)
	}
	if _, ok := table.get(0); ok {
		t.Error("a chunk that is not known is in the table")
	}
	if v, ok := table.get(1); !ok || v != 1 {
		t.Errorf("chunk 1 has %d, %t", v, ok)
	}
	if _, ok := table.get(999); ok {
		t.Error("the table has all chunks; want as many as fit")
	}
	small := &allowance{}
	small.begin(&readPool{minBytes: 100, sumBytes: 1 << 20, memory: semaphore.New(0)})
	if err := small.charge(90); err != nil {
		t.Fatal(err)
	}
	few := contentTable[int]{memory: small}
	few.put(7, 7, 8)
	if _, ok := few.get(7); ok || small.used.Load() != 90 {
		t.Errorf("in the table: %t; %d bytes are charged", ok, small.used.Load())
	}
}

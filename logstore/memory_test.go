package logstore

import "testing"

// The shares add up to Options.Memory, whatever it is.
func TestShares(t *testing.T) {
	parts := int64(0)
	for _, s := range shares {
		parts += s.parts
	}
	if parts != wholeMemory {
		t.Fatalf("the shares have %d parts of %d", parts, wholeMemory)
	}
	for _, memory := range []int64{minMemory, minMemory + 1, 100<<20 - 7, 256 << 20, maxMemory} {
		all := int64(0)
		for k := range numShares {
			n := k.of(memory)
			if n < memory/wholeMemory*shares[k].parts {
				t.Errorf("%s: %d bytes of %d", shares[k].name, n, memory)
			}
			all += n
		}
		if all != memory {
			t.Errorf("the shares have %d bytes of %d", all, memory)
		}
	}
	s := openTest(t, t.TempDir(), small())
	all := int64(0)
	for _, share := range s.Stats().Memory {
		if share.Name == "" || share.Used > share.Limit {
			t.Errorf("a new store: %+v", share)
		}
		all += share.Limit
	}
	if all != s.o.Memory {
		t.Errorf("Stats tells shares of %d bytes; want %d", all, s.o.Memory)
	}
}

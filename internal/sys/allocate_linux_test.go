package sys

import "testing"

func TestPreallocateKeepsSize(t *testing.T) {
	f := writable(t)
	if err := Preallocate(f, 0, 1<<20); err != nil {
		t.Skip(err)
	}
	info, err := f.Stat()
	if err != nil || info.Size() != 0 || AllocatedBytes(info) < 1<<20 {
		t.Errorf("%d bytes, %d allocated, %v", info.Size(), AllocatedBytes(info), err)
	}
	if err := SyncRange(f, 0, 1<<20); err != nil {
		t.Error(err)
	}
}

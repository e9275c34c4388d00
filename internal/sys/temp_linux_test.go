package sys

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// A copy begins where the last write ended, and counts its bytes.
func TestCopyFrom(t *testing.T) {
	d, name := openDir(t, ForPath)
	path := filepath.Join(name, "source")
	if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	src, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	raw, err := src.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.CreateTemp("t", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write([]byte("<")); err != nil {
		t.Fatal(err)
	}
	if n := f.CopyFrom(raw, 4); n == 0 {
		t.Skip("no copy_file_range(2) here")
	} else if n != 4 {
		t.Errorf("%d of 4 bytes", n)
	}
	if n := f.CopyFrom(raw, math.MaxInt64); n != 6 {
		t.Errorf("%d of the 6 that are left", n)
	}
	if n := f.CopyFrom(raw, 1); n != 0 {
		t.Errorf("%d after the end", n)
	}
	if b, err := os.ReadFile(filepath.Join(name, "t")); string(b) != "<0123456789" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

func TestTempAllocatesNothing(t *testing.T) {
	d, _ := openDir(t, ForPath)
	if n := leastAllocs(20, func() {
		f, err := d.CreateTemp("t", 0o600)
		if err != nil {
			t.Fatal(err)
		}
		f.Write([]byte("x"))
		f.Writeback()
		f.Close()
		d.Remove("t")
	}); n > 1 { // package unix copies the name in unlinkat(2)
		t.Errorf("%v allocations", n)
	}
}

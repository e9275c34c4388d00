package header

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/filetest"
)

// memoryMost is the most memory that a hostile file may make this package allocate, in
// bytes, whatever lengths it claims.
const memoryMost = 1 << 20

// hostile creates a sparse file with the attributes that attrs returns for its inode.
func hostile(t *testing.T, size int64, attrs func(inode uint64) map[string][]byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, size); err != nil {
		t.Skipf("no file of %d bytes here: %v", size, err)
	}
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		t.Fatal(err)
	}
	for attr, value := range attrs(st.Ino) {
		if err := unix.Setxattr(name, attr, value, 0); err != nil {
			t.Skipf("no user attributes here: %v", err)
		}
	}
	return name
}

// A record claims the length of the head, and a sparse file can be as long. Only a part
// of bounded size is in memory before the checksum is right.
func TestHostileRecord(t *testing.T) {
	for _, size := range []int64{math.MaxInt64 >> 20, 1 << 43, 1 << 40, maxHead, maxHead - 1, 16 << 20} {
		name := hostile(t, size, func(inode uint64) map[string][]byte {
			r := record{slots: []slot{{length: size, headers: []entry{{length: size}}}}}
			b := r.encode(inode)
			if len(b) > 45 {
				t.Fatalf("%d bytes", len(b))
			}
			return map[string][]byte{recordName: b}
		})
		var err error
		if n := filetest.Allocated(func() { _, err = Read(t.Context(), name, Options{}) }); n > memoryMost {
			t.Errorf("a record of %d bytes takes %d bytes of memory", size, n)
		}
		if !errors.Is(err, ErrNoHeader) {
			t.Errorf("%d bytes: %v", size, err)
		}
		if n := filetest.Allocated(func() { _, err = Replace(t.Context(), name, []byte("x"), Options{}) }); n > memoryMost || !errors.Is(err, ErrNoHeader) {
			t.Errorf("replace: a record of %d bytes takes %d bytes of memory, %v", size, n, err)
		}
	}
}

// An intent claims the size and the number of blocks.
func TestHostileIntent(t *testing.T) {
	const size = 1 << 40
	sums := make([]uint32, 10_000)
	for name, in := range map[string]*intent{
		"large blocks": {kind: insertShift, shift: shiftPlan{block: maxBlock, base: size / 2, head: sums, data: []span{{0, 1}}}},
		"many blocks":  {kind: insertShift, shift: shiftPlan{block: 4096, base: size / 2, head: sums, data: []span{{0, 1}}}},
		"collapse":     {kind: collapseShift, shift: shiftPlan{block: 4096, base: size, head: sums, data: []span{{0, 1}}}},
		"far slot":     {kind: slotRedo, off: maxSize - 1, data: []byte("x"), old: sums[:1]},
	} {
		t.Run(name, func(t *testing.T) {
			file := hostile(t, size, func(inode uint64) map[string][]byte {
				in.inode = inode
				b := in.encode()
				if in.kind != slotRedo && len(b) > 4000 { // the most that ext4 stores
					in.shift.head = in.shift.head[:900]
					b = in.encode()
				}
				return map[string][]byte{intentName: b}
			})
			var err error
			n := filetest.Allocated(func() { _, err = Recover(t.Context(), file, Options{}) })
			if n > memoryMost {
				t.Errorf("takes %d bytes of memory, %v", n, err)
			}
			if fi, serr := os.Stat(file); serr != nil || fi.Size() != size {
				t.Errorf("%v, %v", fi, serr)
			}
		})
	}
}

// Lengths whose sum overflows an int64 are refused.
func TestOverflow(t *testing.T) {
	for _, r := range []record{
		{slots: []slot{{length: maxSize - 1}, {length: maxSize - 1}, {length: maxSize - 1}}},
		{slots: []slot{{length: 1, headers: []entry{{length: maxSize - 1}, {length: maxSize - 1}}}}},
		{slots: []slot{{length: maxHead}, {length: 1}}},
	} {
		if got, _, err := decodeRecord(r.encode(1)); err == nil {
			t.Errorf("%+v is read as %+v", r, got)
		}
	}
	huge := binary.AppendUvarint(nil, math.MaxUint64)
	for _, b := range [][]byte{huge, append(huge, huge...)} {
		if r, _, err := decodeRecord(seal(append(make([]byte, 8), b...))); err == nil {
			t.Errorf("%x is read as %+v", b, r)
		}
	}
}

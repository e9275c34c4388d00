package aio

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Reads in flight together each bring their own page.
func TestQueueReadsWhatIsThere(t *testing.T) {
	const pages, depth = 64, 8
	q, err := NewQueue(depth)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		t.Skipf("no native asynchronous I/O here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "f")
	data := make([]byte, pages*4096)
	for i := range pages {
		binary.LittleEndian.PutUint64(data[i*4096:], uint64(i+1))
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	bufs := make([][]byte, pages)
	done := make([]Completion, depth)
	next, ended := 0, 0
	for ended < pages {
		for ; next < pages && next-ended < depth; next++ {
			bufs[next] = make([]byte, 4096)
			if err := q.Push(f, bufs[next], int64(next)*4096, uint64(next)); err != nil {
				t.Fatal(err)
			}
		}
		if next-ended == depth {
			if err := q.Push(f, make([]byte, 1), 0, 0); !errors.Is(err, errFull) {
				t.Fatalf("one more than the queue is deep: %v", err)
			}
		}
		n, err := q.Wait(done, 1)
		if err != nil || n == 0 {
			t.Fatalf("%d reads, %v", n, err)
		}
		for _, c := range done[:n] {
			if got := binary.LittleEndian.Uint64(bufs[c.Tag]); c.Err != nil || c.N != 4096 || got != c.Tag+1 {
				t.Fatalf("page %d: %d bytes, %v, the page of %d", c.Tag, c.N, c.Err, got)
			}
			ended++
		}
	}
	if n, err := q.Wait(done, 1); n != 0 || err != nil {
		t.Errorf("nothing in flight: %d, %v", n, err)
	}
	if err := q.Push(f, make([]byte, 8), -1, 3); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Wait(done, 1); !errors.Is(err, unix.EINVAL) {
		t.Errorf("at offset -1: %v, want EINVAL", err)
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
}

package sys

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMmap(t *testing.T) {
	page := os.Getpagesize()
	want := bytes.Repeat([]byte("stele"), 2*page)
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, want, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenRead(name, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, populate := range []bool{false, true} {
		mem, err := Mmap(f, len(want), populate)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(mem, want) {
			t.Error("other bytes")
		}
		for _, part := range [][]byte{mem, mem[100 : page+200], mem[:0]} {
			for _, a := range []int{MemNormal, MemRandom, MemSequential, MemWillNeed, MemDontNeed, MemPopulate} {
				if err := Madvise(part, a); err != nil {
					t.Errorf("advice %d on %d bytes: %v", a, len(part), err)
				}
			}
		}
		if err := Madvise(mem, 9999); err != unix.EINVAL {
			t.Error(err)
		}
		if err := Munmap(mem); err != nil {
			t.Error(err)
		}
	}
	if _, err := Mmap(f, 0, false); !errors.Is(err, unix.EINVAL) {
		t.Error(err)
	}
}

package power

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// bytesOf is all of m.
func bytesOf(m *image) []byte {
	b := make([]byte, m.size())
	for i, p := range m.pages {
		if p != nil {
			copy(b[i*pageSize:], p[:])
		}
	}
	return b
}

// An image is held to a plain slice, its clones each to one of their own.
func TestImage(t *testing.T) {
	const size = 16 * pageSize
	rng := rand.New(rand.NewPCG(1, 2))
	images, want := []*image{newImage(size)}, [][]byte{make([]byte, size)}
	for range 2000 {
		i := rng.IntN(len(images))
		off := rng.Int64N(size)
		n := rng.Int64N(min(3*pageSize, size-off) + 1)
		switch rng.IntN(8) {
		case 0:
			if len(images) < 5 {
				images = append(images, images[i].clone())
				want = append(want, bytes.Clone(want[i]))
			}
		case 1, 2:
			images[i].write(off, n, nil)
			clear(want[i][off : off+n])
		default:
			data := bytes.Repeat([]byte{byte(1 + rng.IntN(255))}, int(n))
			images[i].write(off, n, data)
			copy(want[i][off:], data)
		}
	}
	for i, m := range images {
		if !bytes.Equal(bytesOf(m), want[i]) {
			t.Errorf("image %d differs from its slice", i)
		}
		f, err := os.Create(filepath.Join(t.TempDir(), "image"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := m.writeTo(f); err != nil {
			t.Fatal(err)
		}
		again, err := readImage(f)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(bytesOf(again), want[i]) {
			t.Errorf("image %d comes back from a file as another", i)
		}
	}
}

func TestReadImageRefuses(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "image"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(pageSize + 1); err != nil {
		t.Fatal(err)
	}
	if _, err := readImage(f); err == nil {
		t.Error("an image of 4097 bytes is read")
	}
}

package datafile

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
)

// Fill writes a file of size bytes that are not zero, and syncs it.
func Fill(name string, size int) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	chunk := make([]byte, 1<<20)
	for i := range chunk {
		chunk[i] = byte(i%251 + 1)
	}
	for range size / len(chunk) {
		if _, err := f.Write(chunk); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return errors.Join(f.Sync(), f.Close())
}

// Noise fills with bytes that no file system can compress.
func Noise() func(p []byte) {
	rng := rand.NewChaCha8([32]byte{1})
	return func(p []byte) { rng.Read(p) } // never fails
}

// SumWords looks at every byte of p, of which there are a multiple of eight.
func SumWords(p []byte) (sum uint64) {
	for ; len(p) >= 8; p = p[8:] {
		sum += binary.LittleEndian.Uint64(p)
	}
	return sum
}

func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Touched writes to memory for direct I/O, so that it is there when the timer
// starts. On btrfs a direct read into memory that is not goes through the page
// cache instead (fs/btrfs/direct-io.c, btrfs_direct_read).
func Touched(p []byte) []byte {
	for i := range p {
		p[i] = 1
	}
	return p
}

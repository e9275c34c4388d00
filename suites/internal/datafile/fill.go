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

// Noise returns a function that fills memory with bytes that do not compress.
func Noise() func(p []byte) {
	rng := rand.NewChaCha8([32]byte{1})
	return func(p []byte) { rng.Read(p) } // never fails
}

// SumWords reads every byte of p, whose length is a multiple of eight.
func SumWords(p []byte) (sum uint64) {
	for ; len(p) >= 8; p = p[8:] {
		sum += binary.LittleEndian.Uint64(p)
	}
	return sum
}

// SyncDir syncs a directory.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Touched writes to p, memory for direct I/O, so that its pages are resident when the
// timer starts. On btrfs a direct read into pages that are not resident goes through
// the page cache (fs/btrfs/direct-io.c, btrfs_direct_read).
func Touched(p []byte) []byte {
	for i := range p {
		p[i] = 1
	}
	return p
}

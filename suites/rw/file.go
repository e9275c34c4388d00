package rw

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/stele-go/stele/internal/measure/pagecache"
	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// numberPages returns a source of pages that begin with their number, so that a wrong
// page is noticed, and go on with bytes that no file system can compress.
func numberPages() func(p []byte) {
	rng, page := rand.NewChaCha8([32]byte{2}), uint64(0)
	return func(p []byte) {
		rng.Read(p) // never fails
		for ; len(p) >= datafile.PageSize; p = p[datafile.PageSize:] {
			binary.LittleEndian.PutUint64(p, page)
			page++
		}
	}
}

// A looker reads every byte of a block. Only then does a mapping, whose pages come when
// they are touched, do the work that the other ways do.
type looker struct {
	off int64 // where the next block should come from
	sum uint64
}

func (l *looker) look(p []byte) error {
	if len(p) < 8 {
		return fmt.Errorf("read %d bytes at offset %d; want 8 or more", len(p), l.off)
	}
	if got, want := binary.LittleEndian.Uint64(p), uint64(l.off/datafile.PageSize); got != want {
		return fmt.Errorf("page %d was read at offset %d, where page %d is", got, l.off, want)
	}
	l.sum += datafile.SumWords(p)
	return nil
}

// openState opens the file of pages that blocks share, with its pages in the state.
func openState(b *lab.B, want int64, state string) (*datafile.File, error) {
	f, err := datafile.Open(b, "pages", want, numberPages())
	if err != nil {
		return nil, err
	}
	if err := bringAbout(f, state); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func bringAbout(f *datafile.File, state string) error {
	switch state {
	case datafile.Warm:
		return f.Warm()
	case datafile.Cold, datafile.Direct:
		return f.Chill()
	}
	return setting.Wrong("suites: parameter cache", state, "%s, %s or %s", datafile.Warm, datafile.Cold, datafile.Direct)
}

// warmShare is the share of a warm file that must still be in the page cache after a
// block. The kernel may drop a page or two meanwhile, as it does on btrfs.
const warmShare = 0.999

// stillIs checks, after the timed part, that the file was in the state of the block all
// the time. It reports how much is in the page cache: for a file that was cold, what
// was read and read ahead.
func stillIs(b *lab.B, f *datafile.File, state string) error {
	cached, err := pagecache.Resident(f.File)
	if err != nil {
		return err
	}
	switch {
	case state == datafile.Direct && cached > 0:
		// btrfs takes direct writes through it where there are checksums (since
		// Linux 6.14), lest the memory change between checksum and write.
		return job.Unsupported("%d bytes of the file were in the page cache after it was read or written past it: direct I/O is not direct here", cached)
	case state == datafile.Warm && float64(cached) < warmShare*float64(f.Size):
		return fmt.Errorf("%d of the file's %d bytes were in the page cache after the block: it was not warm", cached, f.Size)
	}
	b.Report("cached_after_bytes", float64(cached))
	return nil
}

// An order returns the offset of each operation of a block.
type order func(i int64) int64

// randomOrder returns random blocks of the file, distinct ones if the file is cold,
// because a page that was read is no longer cold.
func randomOrder(rng *rand.Rand, size, block, n int64, distinct bool) (order, error) {
	blocks := size / block
	if !distinct {
		table := make([]int64, min(n, 1<<16))
		for i := range table {
			table[i] = rng.Int64N(blocks) * block
		}
		return func(i int64) int64 { return table[i%int64(len(table))] }, nil
	}
	if n > blocks {
		return nil, job.Unsupported("the file has %d blocks of %d bytes and cannot be read cold %d times", blocks, block, n)
	}
	table := rng.Perm(int(blocks))
	return func(i int64) int64 { return int64(table[i]) * block }, nil
}

// sequentialOrder returns the blocks from the first to the last, again and again.
func sequentialOrder(size, block int64) order {
	blocks := size / block
	return func(i int64) int64 { return i % blocks * block }
}

// shareOf returns how many of n operations the worker id does, as lab.B.Parallel shares
// them out.
func shareOf(n int64, workers, id int) int64 {
	share := n / int64(workers)
	if int64(id) < n%int64(workers) {
		share++
	}
	return share
}

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

// numberPages returns a source of pages that begin with their number, so that
// a page that is not the one asked for is noticed, and go on with bytes that no
// file system can compress.
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

// A looker looks at every byte that was read. That is what reading is for, and
// only so a mapping, whose pages come when they are touched, does the work that
// the others do.
type looker struct {
	off int64 // where the next block should come from
	sum uint64
}

func (l *looker) look(p []byte) error {
	if len(p) < 8 {
		return fmt.Errorf("read %d bytes at offset %d", len(p), l.off)
	}
	if got, want := binary.LittleEndian.Uint64(p), uint64(l.off/datafile.PageSize); got != want {
		return fmt.Errorf("page %d was read at offset %d, where page %d is", got, l.off, want)
	}
	l.sum += datafile.SumWords(p)
	return nil
}

// openState opens the file of pages that blocks share and brings its pages into
// a state.
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

// warmShare is how much of a warm file must be in the page cache still after a
// block. All of it was at the start; a page or two the kernel may take meanwhile,
// as is seen on btrfs.
const warmShare = 0.999

// stillIs makes sure, after the timed part, that a file was all the time in the
// state that its block is booked under. How much is in the page cache is
// reported; of a file that was cold at the start that is what was read, and
// read ahead.
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

// An order says at which offset each operation of a block is.
type order func(i int64) int64

// randomOrder goes to random blocks of the file; distinct ones where the file
// is cold, for a page that was read is not cold any more.
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

// sequentialOrder goes from the first block to the last, and again.
func sequentialOrder(size, block int64) order {
	blocks := size / block
	return func(i int64) int64 { return i % blocks * block }
}

// shareOf is how many of a block's operations worker id of so many does, as
// lab.B.Parallel deals them out.
func shareOf(n int64, workers, id int) int64 {
	share := n / int64(workers)
	if int64(id) < n%int64(workers) {
		share++
	}
	return share
}

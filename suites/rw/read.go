package rw

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"

	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/internal/measure/uring"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// ringDepth is how many requests the ways with io_uring keep in flight where
// the experiment is not about the depth.
const ringDepth = 32

// A Reader reads blocks of a file.
type Reader struct {
	// Open opens the file. It is not used where depth is not 0.
	Open func(path string, block int, p fileio.Pattern) (BlockReader, error)
	// depth, unless 0, is the number of requests that an io_uring has in flight.
	depth int
}

// ReadWay returns a way of reading.
func ReadWay(name, doc string, r Reader) job.Way[Reader] {
	return job.Way[Reader]{Name: name, Doc: doc, Promise: job.NothingWritten(), Open: job.Fixed(r)}
}

// A BlockReader passes the block at an offset to look.
type BlockReader struct {
	At    func(off int64, look func(p []byte) error) error // p is valid during the call of look
	Close func() error
}

// ReadAtInto returns a BlockReader.At that reads into buf.
func ReadAtInto(f io.ReaderAt, buf []byte) func(off int64, look func([]byte) error) error {
	return func(off int64, look func([]byte) error) error {
		if n, err := f.ReadAt(buf, off); n < len(buf) {
			return fmt.Errorf("read %d of %d bytes at offset %d: %w", n, len(buf), off, err)
		}
		return look(buf)
	}
}

// osReadAt is os.File.
func osReadAt(name, doc string, open func(path string, flags int) (*os.File, error)) job.Way[Reader] {
	return ReadWay(name, doc, Reader{Open: func(path string, block int, _ fileio.Pattern) (BlockReader, error) {
		f, err := open(path, os.O_RDONLY)
		if err != nil {
			return BlockReader{}, err
		}
		return BlockReader{ReadAtInto(f, datafile.Touched(sys.AlignedBuffer(block, datafile.PageSize))), f.Close}, nil
	}})
}

// openPastCache opens a file past the page cache. The error is an
// errors.ErrUnsupported where there is no direct I/O.
func openPastCache(path string, flags int) (*os.File, error) {
	if fileop.DirectFlag == 0 {
		return nil, errors.ErrUnsupported
	}
	f, err := os.OpenFile(path, flags|fileop.DirectFlag, 0)
	if err != nil && sys.Absent(err) {
		return nil, job.Unsupported("no O_DIRECT here: %v", errors.Unwrap(err))
	}
	return f, err
}

func openThroughCache(path string, flags int) (*os.File, error) { return os.OpenFile(path, flags, 0) }

// openerOf returns the function that opens a file for I/O through the page cache or
// past it.
func openerOf(state string) func(path string, flags int) (*os.File, error) {
	if state == datafile.Direct {
		return openPastCache
	}
	return openThroughCache
}

// bufioWay reads a page at a time from a buffer of a block's size.
func bufioWay() job.Way[Reader] {
	return ReadWay("bufio", "bufio.Reader with a buffer of the block's size, taken out 4 KiB at a time, as a parser does", Reader{
		Open: func(path string, block int, _ fileio.Pattern) (BlockReader, error) {
			f, err := os.Open(path)
			if err != nil {
				return BlockReader{}, err
			}
			r, next, buf := bufio.NewReaderSize(f, block), int64(0), make([]byte, block)
			return BlockReader{
				At: func(off int64, look func([]byte) error) error {
					if off != next { // round again
						if _, err := f.Seek(off, io.SeekStart); err != nil {
							return err
						}
						r.Reset(f)
					}
					next = off + int64(block)
					for at := 0; at < block; at += datafile.PageSize {
						if _, err := io.ReadFull(r, buf[at:at+datafile.PageSize]); err != nil {
							return err
						}
					}
					return look(buf)
				},
				Close: f.Close,
			}, nil
		},
	})
}

// steleReader is a fileio.Reader. It is unsupported if the Reader takes another way.
func steleReader(way fileio.Way, doc string) job.Way[Reader] {
	return ReadWay("fileio "+way.String(), doc, Reader{Open: func(path string, block int, p fileio.Pattern) (BlockReader, error) {
		r, err := openStele(path, way, p)
		if err != nil {
			return BlockReader{}, err
		}
		return BlockReader{ReadAtInto(r, datafile.Touched(fileio.AlignedBuffer(block))), r.Close}, nil
	}})
}

func openStele(path string, way fileio.Way, p fileio.Pattern) (*fileio.Reader, error) {
	r, err := fileio.Open(path, fileio.Options{Way: way, Pattern: p})
	if err != nil {
		return nil, err
	}
	if r.Way() != way {
		return nil, errors.Join(job.Unsupported("fileio takes the way %v here, not %v", r.Way(), way), r.Close())
	}
	return r, nil
}

func steleView() job.Way[Reader] {
	return ReadWay("fileio mapped, View", "fileio.Reader.View: the bytes where they are mapped, without a copy", Reader{Open: func(path string, block int, p fileio.Pattern) (BlockReader, error) {
		r, err := openStele(path, fileio.Mapped, p)
		if err != nil {
			return BlockReader{}, err
		}
		return BlockReader{
			At:    func(off int64, look func([]byte) error) error { return r.View(off, block, look) },
			Close: r.Close,
		}, nil
	}})
}

func ringReads() job.Way[Reader] {
	return ReadWay(fmt.Sprintf("io_uring, %d in flight", ringDepth),
		"reads through one io_uring by one goroutine; percentiles are of one request, from when it is handed in", Reader{depth: ringDepth})
}

// readWays returns the ways for a state of the page cache, the baseline first.
func readWays(state string, random bool) []job.Way[Reader] {
	if state == datafile.Direct {
		return []job.Way[Reader]{
			osReadAt("os.File O_DIRECT", "os.File.ReadAt of a file opened with O_DIRECT, into aligned memory", openPastCache),
			steleReader(fileio.Direct, "fileio.Reader.ReadAt past the page cache, into aligned memory"),
			ringReads(),
		}
	}
	ways := []job.Way[Reader]{osReadAt("os.File", "os.File.ReadAt: pread(2) through the page cache", openThroughCache)}
	if !random {
		ways = append(ways, bufioWay())
	}
	ways = append(ways,
		steleReader(fileio.Buffered, "fileio.Reader.ReadAt through the page cache"),
		steleReader(fileio.Mapped, "fileio.Reader.ReadAt: a copy out of a mapping"),
		steleView(),
		ringReads(),
	)
	if state == datafile.Cold { // a warm page is read from where it is
		ways = append(ways, steleReader(fileio.Uncached, "fileio.Reader.ReadAt through the page cache, dropped behind (RWF_DONTCACHE)"))
	}
	return ways
}

// Reads are the reads of an experiment, all of one file.
type Reads struct {
	Size   int64  // of the file, in bytes
	Block  int    // bytes of one read
	State  string // of the page cache: a state of package datafile
	Random bool   // at random offsets; otherwise from the start to the end
}

func (j Reads) pattern() fileio.Pattern {
	if j.Random {
		return fileio.Random
	}
	return fileio.Sequential
}

func (j Reads) order(rng *rand.Rand, size, n int64) (order, error) {
	if j.Random {
		return randomOrder(rng, size, int64(j.Block), n, j.State == datafile.Cold)
	}
	if j.State == datafile.Cold && n > size/int64(j.Block) {
		return nil, job.Unsupported("the file is shorter than the %d bytes that a block reads cold", n*int64(j.Block))
	}
	return sequentialOrder(size, int64(j.Block)), nil
}

// Job returns the job of doing the reads.
func (j Reads) Job(e lab.Experiment) job.Job[Reader] {
	return job.Job[Reader]{Experiment: e, Run: j.run}
}

func (j Reads) run(b *lab.B, _ job.Site, r Reader) (err error) {
	f, err := openState(b, j.Size, j.State)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	where, err := j.order(b.Rand, f.Size, b.N)
	if err != nil {
		return err
	}
	if r.depth > 0 {
		err = j.ring(b, f, r.depth, where)
	} else {
		err = j.blocks(b, f, r, where)
	}
	if err == nil {
		err = stillIs(b, f, j.State)
	}
	return err
}

func (j Reads) blocks(b *lab.B, f *datafile.File, way Reader, where order) error {
	r, err := way.Open(f.Name(), j.Block, j.pattern())
	if err != nil {
		return err
	}
	// Open may have read some of it: fileio tries a page if the file system does not
	// report the alignment of direct reads.
	if err := bringAbout(f, j.State); err != nil {
		return errors.Join(err, r.Close())
	}
	var l looker
	look := l.look
	b.SetBytes(int64(j.Block))
	for b.Loop() {
		l.off = where(b.I())
		if err := r.At(l.off, look); err != nil {
			return errors.Join(err, r.Close())
		}
	}
	return r.Close()
}

func (j Reads) ring(b *lab.B, f *datafile.File, depth int, where order) error {
	in, err := openerOf(j.State)(f.Name(), os.O_RDONLY)
	if err != nil {
		return err
	}
	err = runRings(b, in, interrupted, 1, depth, j.Block, func(int) (order, error) { return where, nil }, uring.Request{Op: uring.Read}, true)
	return errors.Join(err, in.Close())
}

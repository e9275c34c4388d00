package suites

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
)

// ringDepth is how many requests the ways with io_uring keep in flight where
// the depth is not what is asked about.
const ringDepth = 32

// A readWay is a way of reading blocks of a file.
type readWay struct {
	name, doc string
	// sequential: it can only go from the start to the end.
	sequential bool
	// depth, where it is not 0, makes it an io_uring with so many requests in
	// flight; open is not used then.
	depth int
	open  func(path string, block int, p fileio.Pattern) (blockReader, error)
}

// A blockReader hands block after block to look.
type blockReader struct {
	at    func(off int64, look func(p []byte) error) error
	close func() error
}

func readAtInto(f io.ReaderAt, buf []byte) func(off int64, look func([]byte) error) error {
	return func(off int64, look func([]byte) error) error {
		if n, err := f.ReadAt(buf, off); n < len(buf) {
			return fmt.Errorf("read %d of %d bytes at offset %d: %w", n, len(buf), off, err)
		}
		return look(buf)
	}
}

// osReadAt is os.File.
func osReadAt(name, doc string, open func(path string, flags int) (*os.File, error)) readWay {
	return readWay{name: name, doc: doc, open: func(path string, block int, _ fileio.Pattern) (blockReader, error) {
		f, err := open(path, os.O_RDONLY)
		if err != nil {
			return blockReader{}, err
		}
		return blockReader{readAtInto(f, touched(sys.AlignedBuffer(block, pageBytes))), f.Close}, nil
	}}
}

// openPastCache opens a file past the page cache. A place without direct I/O is
// told apart from a failure.
func openPastCache(path string, flags int) (*os.File, error) {
	if fileop.DirectFlag == 0 {
		return nil, errors.ErrUnsupported
	}
	f, err := os.OpenFile(path, flags|fileop.DirectFlag, 0)
	if err != nil && sys.Absent(err) {
		return nil, &notHere{fmt.Sprintf("no O_DIRECT here: %v", errors.Unwrap(err))}
	}
	return f, err
}

func openThroughCache(path string, flags int) (*os.File, error) { return os.OpenFile(path, flags, 0) }

// openerOf is how a file is opened for I/O through the page cache or past it.
func openerOf(state string) func(path string, flags int) (*os.File, error) {
	if state == cacheDirect {
		return openPastCache
	}
	return openThroughCache
}

// bufioWay takes a page at a time out of a buffer of a block's size.
func bufioWay() readWay {
	return readWay{
		name: "bufio", doc: "bufio.Reader with a buffer of the block's size, taken out 4 KiB at a time, as a parser does", sequential: true,
		open: func(path string, block int, _ fileio.Pattern) (blockReader, error) {
			f, err := os.Open(path)
			if err != nil {
				return blockReader{}, err
			}
			r, next, buf := bufio.NewReaderSize(f, block), int64(0), make([]byte, block)
			return blockReader{
				at: func(off int64, look func([]byte) error) error {
					if off != next { // round again
						if _, err := f.Seek(off, io.SeekStart); err != nil {
							return err
						}
						r.Reset(f)
					}
					next = off + int64(block)
					for at := 0; at < block; at += pageBytes {
						if _, err := io.ReadFull(r, buf[at:at+pageBytes]); err != nil {
							return err
						}
					}
					return look(buf)
				},
				close: f.Close,
			}, nil
		},
	}
}

// steleReader is a fileio.Reader. One that answers by another way than the one
// asked for is not measured as if it did.
func steleReader(way fileio.Way, doc string) readWay {
	return readWay{name: "fileio " + way.String(), doc: doc, open: func(path string, block int, p fileio.Pattern) (blockReader, error) {
		r, err := openStele(path, way, p)
		if err != nil {
			return blockReader{}, err
		}
		return blockReader{readAtInto(r, touched(fileio.AlignedBuffer(block))), r.Close}, nil
	}}
}

func openStele(path string, way fileio.Way, p fileio.Pattern) (*fileio.Reader, error) {
	r, err := fileio.Open(path, fileio.Options{Way: way, Pattern: p})
	if err != nil {
		return nil, err
	}
	if r.Way() != way {
		return nil, errors.Join(&notHere{fmt.Sprintf("fileio takes the way %v here, not %v", r.Way(), way)}, r.Close())
	}
	return r, nil
}

func steleView() readWay {
	return readWay{name: "fileio mapped, View", doc: "fileio.Reader.View: the bytes where they are mapped, without a copy", open: func(path string, block int, p fileio.Pattern) (blockReader, error) {
		r, err := openStele(path, fileio.Mapped, p)
		if err != nil {
			return blockReader{}, err
		}
		return blockReader{
			at:    func(off int64, look func([]byte) error) error { return r.View(off, block, look) },
			close: r.Close,
		}, nil
	}}
}

func ringReads() readWay {
	return readWay{name: fmt.Sprintf("io_uring, %d in flight", ringDepth), depth: ringDepth,
		doc: "reads through one io_uring by one goroutine; percentiles are of one request, from when it is handed in"}
}

// readWays are the ways for a state of the page cache, the baseline first.
func readWays(state string) []readWay {
	if state == cacheDirect {
		return []readWay{
			osReadAt("os.File O_DIRECT", "os.File.ReadAt of a file opened with O_DIRECT, into aligned memory", openPastCache),
			steleReader(fileio.Direct, "fileio.Reader.ReadAt past the page cache, into aligned memory"),
			ringReads(),
		}
	}
	ways := []readWay{
		osReadAt("os.File", "os.File.ReadAt: pread(2) through the page cache", openThroughCache),
		bufioWay(),
		steleReader(fileio.Buffered, "fileio.Reader.ReadAt through the page cache"),
		steleReader(fileio.Mapped, "fileio.Reader.ReadAt: a copy out of a mapping"),
		steleView(),
		ringReads(),
	}
	if state == cacheCold { // a warm page is read from where it is
		ways = append(ways, steleReader(fileio.Uncached, "fileio.Reader.ReadAt through the page cache, dropped behind (RWF_DONTCACHE)"))
	}
	return ways
}

// A readJob is an experiment that reads one file.
type readJob struct {
	size   int64
	block  int
	state  string
	random bool
}

func (j readJob) pattern() fileio.Pattern {
	if j.random {
		return fileio.Random
	}
	return fileio.Sequential
}

func (j readJob) order(rng *rand.Rand, size, n int64) (order, error) {
	if j.random {
		return randomOrder(rng, size, int64(j.block), n, j.state == cacheCold)
	}
	if j.state == cacheCold && n > size/int64(j.block) {
		return nil, &notHere{fmt.Sprintf("the file is shorter than the %d bytes that a block reads cold", n*int64(j.block))}
	}
	return sequentialOrder(size, int64(j.block)), nil
}

func (j readJob) variant(w readWay) lab.Variant {
	return lab.Variant{Name: w.name, Doc: w.doc, Promise: none, Run: func(b *lab.B) (err error) {
		f, err := openState(b, j.size, j.state)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		where, err := j.order(b.Rand, f.size, b.N)
		if err != nil {
			return err
		}
		if w.depth > 0 {
			err = j.ring(b, f, w.depth, where)
		} else {
			err = j.blocks(b, f, w, where)
		}
		if err == nil {
			err = stillIs(b, f, j.state)
		}
		return err
	}}
}

func (j readJob) blocks(b *lab.B, f *bigFile, w readWay, where order) error {
	r, err := w.open(f.Name(), j.block, j.pattern())
	if err != nil {
		return err
	}
	// Opening may have read some of it: fileio tries a page where the file system
	// does not tell how direct reads are aligned.
	if err := bringAbout(f, j.state); err != nil {
		return errors.Join(err, r.close())
	}
	var l looker
	look := l.look
	b.SetBytes(int64(j.block))
	for b.Loop() {
		l.off = where(b.I())
		if err := r.at(l.off, look); err != nil {
			return errors.Join(err, r.close())
		}
	}
	return r.close()
}

func (j readJob) ring(b *lab.B, f *bigFile, depth int, where order) error {
	in, err := openerOf(j.state)(f.Name(), os.O_RDONLY)
	if err != nil {
		return err
	}
	err = runRings(b, in, 1, depth, j.block, func(int) (order, error) { return where, nil }, uring.Request{Op: uring.Read}, true)
	return errors.Join(err, in.Close())
}

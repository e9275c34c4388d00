package rw

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/internal/measure/uring"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

var killTorn = job.Promise(durability.Kill, durability.Torn)

// A pageWriter overwrites pages of a file.
type pageWriter struct {
	depth   int  // of an io_uring; 0 uses none
	flags   int  // of the file
	sync    bool // after each write
	durable bool // each request of the ring
}

// pageWriteWays returns the ways through the page cache, or past it.
func pageWriteWays(state string) []job.Way[pageWriter] {
	file, how := "os.File", "os.File.WriteAt: pwrite(2) into the page cache"
	if state == datafile.Direct {
		file, how = "os.File O_DIRECT", "os.File.WriteAt of a file opened with O_DIRECT, from aligned memory"
	}
	ring := fmt.Sprintf("io_uring, %d in flight", ringDepth)
	power := job.Promise(durability.Power, durability.Torn)
	way := func(name, doc string, p run.Promise, baseline bool, w pageWriter) job.Way[pageWriter] {
		return job.Way[pageWriter]{Name: name, Doc: doc, Promise: p, Baseline: baseline, Open: job.Fixed(w)}
	}
	return []job.Way[pageWriter]{
		way(file, how, killTorn, true, pageWriter{}),
		way(ring, "the same through one io_uring by one goroutine", killTorn, false, pageWriter{depth: ringDepth}),
		way(file+" + fdatasync", how+", and fdatasync(2) after each", power, true, pageWriter{sync: true}),
		way(file+" O_DSYNC", how+"; O_DSYNC makes each durable", power, false, pageWriter{flags: fileop.DataSync}),
		way(ring+", RWF_DSYNC", "through one io_uring by one goroutine; RWF_DSYNC makes each durable", power, false, pageWriter{depth: ringDepth, durable: true}),
	}
}

func (w pageWriter) run(b *lab.B, size int64, state string) error {
	f, err := newRewritten(b, size, state)
	if err != nil {
		return err
	}
	if err = w.write(b, f, state); err == nil {
		err = stillIs(b, f, state)
	}
	return errors.Join(err, f.Close())
}

// newRewritten makes a file of pages that is written already, for one block.
func newRewritten(b *lab.B, size int64, state string) (*datafile.File, error) {
	name := filepath.Join(b.Dir, "data")
	if err := datafile.Write(name, size, numberPages()); err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	big := &datafile.File{File: f, Size: size}
	if err := bringAbout(big, state); err != nil {
		return nil, errors.Join(err, big.Close())
	}
	return big, nil
}

func (w pageWriter) write(b *lab.B, f *datafile.File, state string) error {
	out, err := openerOf(state)(f.Name(), os.O_WRONLY|w.flags)
	if err != nil {
		return err
	}
	where, err := randomOrder(b.Rand, f.Size, datafile.PageSize, b.N, false)
	if err != nil {
		return errors.Join(err, out.Close())
	}
	if w.depth > 0 {
		err = runRings(b, out, interrupted, 1, w.depth, datafile.PageSize, func(int) (order, error) { return where, nil },
			uring.Request{Op: uring.Write, Durable: w.durable}, false)
		return errors.Join(err, out.Close())
	}
	page := datafile.Touched(sys.AlignedBuffer(datafile.PageSize, datafile.PageSize))
	b.SetBytes(datafile.PageSize)
	for b.Loop() {
		page[0]++
		if _, err = out.WriteAt(page, where(b.I())); err == nil && w.sync {
			err = fileop.Fdatasync(out)
		}
		if err != nil {
			break
		}
	}
	return errors.Join(err, out.Close())
}

// A streamWriter writes size bytes into an empty file, block after block.
type streamWriter func(f *os.File, size int64, block []byte) error

// atLevel returns the way write at level Kill, and at level Power, where it syncs.
func atLevel(name, doc, sync string, write func(f *os.File, size int64, block []byte, power bool) error) []job.Way[streamWriter] {
	way := func(level durability.Level, name, doc string) job.Way[streamWriter] {
		return job.Way[streamWriter]{
			Name: name, Doc: doc, Promise: job.Promise(level, durability.Torn),
			Open: job.Fixed(streamWriter(func(f *os.File, size int64, block []byte) error {
				return write(f, size, block, level == durability.Power)
			})),
		}
	}
	return []job.Way[streamWriter]{
		way(durability.Kill, name, doc),
		way(durability.Power, name+" + "+sync, doc+"; "+sync+" at the end"),
	}
}

// streamWriteWays returns all ways of writing a stream, those of level Kill first.
func streamWriteWays() []job.Way[streamWriter] {
	var kills, powers []job.Way[streamWriter]
	add := func(pair []job.Way[streamWriter]) {
		kills, powers = append(kills, pair[0]), append(powers, pair[1])
	}
	add(atLevel("os.File", "os.File.Write of each block", "fdatasync",
		func(f *os.File, size int64, block []byte, power bool) error {
			return synced(f, power, writeBlocks(f, size, block))
		}))
	add(atLevel("bufio", "bufio.Writer with a buffer of the block's size, filled 4 KiB at a time", "fdatasync",
		func(f *os.File, size int64, block []byte, power bool) error {
			w := bufio.NewWriterSize(f, len(block))
			err := writeBlocks(w, size, block[:datafile.PageSize])
			return synced(f, power, errors.Join(err, w.Flush()))
		}))
	add(atLevel("os.File O_DIRECT", "os.File.Write of each block past the page cache, from aligned memory", "fdatasync",
		func(f *os.File, size int64, block []byte, power bool) error {
			return pastCache(f, func(f *os.File) error { return synced(f, power, writeBlocks(f, size, block)) })
		}))
	for _, way := range []fileio.Way{fileio.Buffered, fileio.Direct, fileio.Uncached} {
		add(atLevel("fileio "+way.String(), "fileio.Writer, "+way.String()+", with a buffer of the block's size, filled 4 KiB at a time", "Commit",
			func(f *os.File, size int64, block []byte, power bool) error {
				return writeStele(f, size, block, way, power)
			}))
	}
	add(atLevel(fmt.Sprintf("io_uring, %d in flight", streamDepth), "writes past the page cache through one io_uring, from aligned memory", "fdatasync",
		func(f *os.File, size int64, block []byte, power bool) error {
			return pastCache(f, func(f *os.File) error { return synced(f, power, ringStream(f, size, block)) })
		}))
	kills[0].Baseline, powers[0].Baseline = true, true
	return append(kills, powers...)
}

func runStream(b *lab.B, at job.Site, write streamWriter, size int64, block int) error {
	// The file is there and its name is durable, so that a stream is durable once it
	// is synced.
	f, err := os.OpenFile(filepath.Join(at.Dir, "stream"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer f.Close() // the content was checked before
	if err := errors.Join(f.Sync(), datafile.SyncDir(at.Dir)); err != nil {
		return err
	}
	p := StreamBlock(block)
	b.SetBytes(size)
	for b.Loop() {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if err := write(f, size, p); err != nil {
			return err
		}
	}
	info, err := f.Stat()
	if err == nil && info.Size() != size {
		err = fmt.Errorf("the stream has %d bytes, want %d", info.Size(), size)
	}
	return err
}

// streamByte is every byte of a stream.
const streamByte = 's'

// StreamBlock returns a block of a stream, aligned for direct I/O.
func StreamBlock(block int) []byte {
	p := sys.AlignedBuffer(block, datafile.PageSize)
	for i := range p {
		p[i] = streamByte
	}
	return p
}

// WriteStream writes a stream of size bytes in blocks.
func WriteStream(w io.Writer, size int64, block int) error {
	return writeBlocks(w, size, StreamBlock(block))
}

// writeBlocks writes the same block again and again. The caller makes the block before
// the timer starts.
func writeBlocks(w io.Writer, size int64, block []byte) error {
	for left := size; left > 0; left -= int64(len(block)) {
		block = block[:min(left, int64(len(block)))]
		if _, err := w.Write(block); err != nil {
			return err
		}
	}
	return nil
}

func synced(f *os.File, power bool, err error) error {
	if err == nil && power {
		err = fileop.Fdatasync(f)
	}
	return err
}

// pastCache opens the file once more, past the page cache.
func pastCache(f *os.File, use func(f *os.File) error) error {
	d, err := openPastCache(f.Name(), os.O_WRONLY)
	if err != nil {
		return err
	}
	return errors.Join(use(d), d.Close())
}

// writeStele writes through a fileio.Writer. It is unsupported if the Writer falls back
// to another way.
func writeStele(f *os.File, size int64, block []byte, way fileio.Way, power bool) error {
	o := fileio.WriterOptions{Way: way, BufferSize: len(block), Policy: fileio.Never()}
	if power {
		o.Policy = fileio.OnCommit()
	}
	w, err := fileio.NewWriter(f, o)
	if err != nil {
		return err
	}
	if err = writeBlocks(w, size, block[:datafile.PageSize]); err == nil {
		if power {
			err = w.Commit()
		} else {
			err = w.Flush()
		}
	}
	if why := w.Stats().Fallback; err == nil && why != nil {
		err = job.Unsupported("%s", why.Error())
	}
	return errors.Join(err, w.Close())
}

// streamDepth is how many blocks of a stream are in flight.
const streamDepth = 8

func ringStream(f *os.File, size int64, block []byte) (err error) {
	if size%int64(len(block)) != 0 {
		return fmt.Errorf("suites: stream: %d bytes; want a multiple of the block of %d bytes", size, len(block))
	}
	bufs := make([][]byte, streamDepth)
	for i := range bufs {
		bufs[i] = block // requests only read it
	}
	r, err := openRing(interrupted, bufs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	n, done := size/int64(len(block)), int64(0)
	loop := func() bool { done++; return done <= n }
	return r.run(loop, n, sequentialOrder(size, int64(len(block))), uring.Request{Op: uring.Write, File: f}, nil)
}

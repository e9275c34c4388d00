package claims

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/internal/measure/pagecache"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// The variants of L8.
const (
	l8Kernel = "kernel, read_ahead_kb"
	l8Coded  = "window as coded"
	l8Meant  = "window as meant"
)

const (
	l8File   = 256 * datafile.MiB
	l8Ahead  = 128       // KiB, of the kernel's readahead in the claim
	l8Write  = 128 << 10 // bytes of a write
	l8Every  = 8         // reads for each write
	l8Writes = 64 * datafile.MiB
	l8Reads  = 2_000 // of a block, at most
)

// The loads of L8. The claim is about the first.
var l8Loads = []l8Load{
	{"random", "a random read of 4 KiB", randomReads},
	{l8Runs, "a read of 4 KiB, 32 in a row forward or backward from a random place", readsInRuns},
	{"strides", "a read of 4 KiB, 64 KiB after the one before", readsInStrides},
	{"mix", "a read of 4 KiB, half of them at random, half in runs", mixedReads},
}

const (
	l8Random = "random"
	l8Runs   = "runs"
	l8Run    = 32
	l8Stride = 64 << 10
)

func readsInStrides(b *lab.B, size int64) func(i int64) int64 {
	start := b.Rand.Int64N(size/datafile.PageSize) * datafile.PageSize
	return func(i int64) int64 { return (start + i*l8Stride) % size }
}

func mixedReads(b *lab.B, size int64) func(i int64) int64 {
	random, runs := randomReads(b, size), readsInRuns(b, size)
	return func(i int64) int64 {
		if i%2 == 0 {
			return random(i)
		}
		return runs(i / 2)
	}
}

// An l8Load has a function that returns the offset of read i of a block.
type l8Load struct {
	name, op string
	offsets  func(b *lab.B, size int64) func(i int64) int64
}

func randomReads(b *lab.B, size int64) func(i int64) int64 {
	pages := size / datafile.PageSize
	return func(int64) int64 { return b.Rand.Int64N(pages) * datafile.PageSize }
}

func readsInRuns(b *lab.B, size int64) func(i int64) int64 {
	pages, start := size/datafile.PageSize, int64(0)
	return func(i int64) int64 {
		step := i % l8Run
		if step == 0 {
			start = b.Rand.Int64N(pages - l8Run + 1)
		}
		if i/l8Run%2 == 1 {
			step = l8Run - 1 - step
		}
		return (start + step) * datafile.PageSize
	}
}

// A sequentialWriter writes a piece for each receive from due.
type sequentialWriter struct {
	f     *os.File
	due   chan struct{}
	ended sync.WaitGroup
	err   error
}

func startWriter(name string) (*sequentialWriter, error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	w := &sequentialWriter{f: f, due: make(chan struct{}, 4)}
	w.ended.Go(func() {
		piece, off := headers.Head(l8Write), int64(0)
		for range w.due {
			if _, err := f.WriteAt(piece, off); err != nil && w.err == nil {
				w.err = err
			}
			off = (off + l8Write) % l8Writes
		}
	})
	return w, nil
}

func (w *sequentialWriter) close() error {
	close(w.due)
	w.ended.Wait()
	return errors.Join(w.err, w.f.Close())
}

// l8 reads cold pages beside sequential writes.
func l8(s job.Scale, load l8Load) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "L8", Params: run.Params{"load": load.name},
		Question: "Is a readahead window that follows the pattern faster than a fixed one?",
		Op:       load.op + ", of a file that is not in the page cache at first; for every 8 a sequential write of 128 KiB to another",
		MaxOps:   l8Reads, MaxRounds: 10,
	}
	variant := func(name, doc string, open func(f *datafile.File) (io.ReaderAt, func() error, error)) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: inDir(func(b *lab.B) error {
			return withNoise(b, s.Of(l8File), (*datafile.File).Chill, func(f *datafile.File) error {
				r, closeReader, err := open(f)
				if err != nil {
					return err
				}
				return errors.Join(runL8(b, f, r, load.offsets(b, f.Size)), closeReader())
			})
		})}
	}
	e.Variants = firstIsBaseline(
		variant(l8Kernel, "A: no hint of ours: the kernel's readahead of the device",
			func(f *datafile.File) (io.ReaderAt, func() error, error) { return f, noClose, nil }),
		variant(l8Coded, "B as coded: before each read the window that the published function returns, read ahead from the offset; the kernel's readahead is off",
			func(f *datafile.File) (io.ReaderAt, func() error, error) {
				return &codedAhead{f: f}, noClose, sys.Fadvise(f.File, 0, 0, sys.AdviseRandom)
			}),
		variant(l8Meant, "B as meant: fileio.Reader, whose readahead is small where reads are random and large in runs", func(f *datafile.File) (io.ReaderAt, func() error, error) {
			r, err := fileio.Open(f.Name(), fileio.Options{Way: fileio.Buffered})
			if err != nil {
				return nil, nil, err
			}
			return r, r.Close, nil
		}))
	return e
}

func noClose() error { return nil }

// codedAhead reads ahead by the published function. The text calls it an LSTM; the code takes
// the mean of the differences of the last offsets for the stride.
type codedAhead struct {
	f       *datafile.File
	offsets []int64 // KiB, of the last 8 reads
	times   []time.Time
}

func (r *codedAhead) ReadAt(p []byte, off int64) (int, error) {
	r.offsets, r.times = append(r.offsets, off>>10), append(r.times, time.Now())
	if len(r.offsets) > 8 {
		r.offsets, r.times = r.offsets[1:], r.times[1:]
	}
	speed := float64(len(p)) * float64(len(r.times)-1) / max(1e-9, r.times[len(r.times)-1].Sub(r.times[0]).Seconds())
	if window := codedWindow(r.offsets, speed); window > 0 {
		if err := sys.Fadvise(r.f.File, off, min(window<<10, r.f.Size-off), sys.AdviseWillNeed); err != nil {
			return 0, err
		}
	}
	return r.f.ReadAt(p, off)
}

// codedWindow is the published function: the window in KiB after reads at offsets in KiB, at
// so many bytes a second. It has no upper bound where the stride is large.
func codedWindow(offsets []int64, speed float64) int64 {
	if len(offsets) < 8 {
		return 32
	}
	stride := float64(offsets[len(offsets)-1]-offsets[0]) / float64(len(offsets)-1) // the mean of the differences
	switch {
	case stride > -4 && stride < 4:
		return 32
	case stride > 0 && speed > 50_000_000:
		return min(int64(4*stride), 2048)
	}
	return max(int64(2*stride), 64)
}

// deviceReadahead returns the kernel's readahead of the device under a file in KiB, or why it
// is not known.
func deviceReadahead(f *os.File) (kib float64, why string) {
	major, minor, err := sys.DeviceOf(f)
	if err != nil {
		return 0, err.Error()
	}
	block := fmt.Sprintf("/sys/dev/block/%d:%d/", major, minor)
	names := []string{block + "queue/read_ahead_kb", block + "../queue/read_ahead_kb", fmt.Sprintf("/sys/class/bdi/%d:%d/read_ahead_kb", major, minor)}
	if pools, _ := filepath.Glob("/sys/fs/btrfs/*/bdi/read_ahead_kb"); len(pools) == 1 { // btrfs has devices of its own
		names = append(names, pools[0])
	}
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil {
			if kib, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64); err == nil {
				return kib, ""
			}
		}
	}
	return 0, fmt.Sprintf("no read_ahead_kb of device %d:%d", major, minor)
}

// runL8 checks before each read whether its page is in the page cache, and at the end how
// many of the cached pages were never read.
func runL8(b *lab.B, f *datafile.File, r io.ReaderAt, offset func(int64) int64) (err error) {
	w, err := startWriter("out")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	if kib, why := deviceReadahead(f.File); why == "" {
		b.Report("read_ahead_kb", kib)
	} else {
		b.ReportMissing("read_ahead_kb", why)
	}
	asked := make([]bool, f.Size/datafile.PageSize)
	page, hits := make([]byte, datafile.PageSize), 0
	b.SetBytes(datafile.PageSize)
	for b.Loop() {
		if b.I()%l8Every == 0 {
			w.due <- struct{}{}
		}
		off := offset(b.I())
		cached, err := sys.CachedBytes(f.File, off, datafile.PageSize)
		if err != nil {
			return err
		}
		if cached > 0 {
			hits++
		}
		if _, err := r.ReadAt(page, off); err != nil {
			return err
		}
		asked[off/datafile.PageSize] = true
	}
	// Some of the prefetched pages may still be on their way.
	fetched, err := pagecache.Cached(f.File)
	if err != nil {
		return err
	}
	wanted := int64(0)
	for _, was := range asked {
		if was {
			wanted += datafile.PageSize
		}
	}
	b.Report("hit_share", float64(hits)/float64(b.N))
	b.Report("wasted_share", max(0, float64(fetched-wanted)/float64(max(1, fetched))))
	return nil
}

func claimL8(s job.Scale) Claim {
	return Claim{
		ID: "L8",
		Source: reportL.source("4.3",
			"Readahead that follows the pattern lowers random reads beside sequential writes from 8.7 to 3.2 ms and wasted pages from 41 to 9 %."),
		Statement:   "4 KiB random reads beside 128 KiB sequential writes: the kernel's readahead of 128 KiB (A), window following the pattern (B)",
		Claimed:     "8.7 and 3.2 ms; hits 63 and 89 %; wasted 41 and 9 %",
		Promise:     "none for the reads; the writes beside them are not synced",
		Experiments: experiments(func(load l8Load) lab.Experiment { return l8(s, load) }, l8Loads...),
		Needs:       onDisk,
		judge:       func(ev *evidence) judgement { return judgeL8(ev, s.Of(l8File)) },
	}
}

func judgeL8(ev *evidence, size int64) judgement {
	const faster = 8.7 / 3.2
	var parts []part
	small := ""
	for _, load := range l8Loads {
		id := idOf(l8(1, load))
		lack := ""
		if kib, why := ev.known(id, l8Kernel, "read_ahead_kb"); why != "" {
			lack = "the readahead of the device is not known: " + why
		} else if kib.Median != l8Ahead {
			lack = fmt.Sprintf("read_ahead_kb of the device is %.0f, the claim is about %d; set it to %d and run again", kib.Median, l8Ahead, l8Ahead)
		}
		for _, b := range []struct{ how, name string }{{"as coded", l8Coded}, {"as meant", l8Meant}} {
			condition := load.name + ", " + b.how
			of := func(p part) part {
				if p = p.under(condition).needs(lack); load.name != l8Random {
					p = p.onlyShown()
				}
				return p
			}
			parts = append(parts,
				of(claimed("mean, A against B", ev.speedup(id, b.name), faster)),
				of(direction("hits, B against A", ev.ratioOf(id, "hit_share", b.name, l8Kernel))),
				of(direction("wasted pages, A against B", ev.ratioOf(id, "wasted_share", l8Kernel, b.name))))
		}
		text := ""
		for _, v := range []string{l8Kernel, l8Coded, l8Meant} {
			text += fmt.Sprintf("; %s %s, %.0f %% hits, %.0f %% wasted", v, nanos(ev.time(id, v)),
				100*ev.metric(id, v, "hit_share").Median, 100*ev.metric(id, v, "wasted_share").Median)
		}
		parts = append(parts, figureOf("reads, "+load.name, strings.TrimPrefix(text, "; ")))
		small = ev.smaller(id, l8Kernel, size)
	}
	return ruling("The claim is about random reads; the other loads are shown. The mean had to be 2.7x lower; of hits and wasted pages the direction counts. A hit is a read whose page was in the page cache just before; a page is wasted if it was fetched but not read before the end of the block."+small, parts...)
}

package claims

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

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
	l8Kernel  = "kernel's default"
	l8Fixed   = "fixed, 128 KiB"
	l8Follows = "following the pattern"
)

const (
	l8File   = 256 * datafile.MiB
	l8Ahead  = 128 << 10 // of the fixed readahead
	l8Write  = 128 << 10 // bytes of a write
	l8Every  = 8         // reads for each write
	l8Writes = 64 * datafile.MiB
	l8Reads  = 4_000 // of a block, at most
)

// The loads of L8. Random reads have no pattern to follow, so there is also a load of runs:
// l8Run pages in a row from a random place, every other run backward.
var l8Loads = []l8Load{
	{"random", "At random", "a random read of 4 KiB", randomReads},
	{l8Runs, "Runs of 32 pages", "a read of 4 KiB, 32 in a row forward or backward from a random place", readsInRuns},
}

const (
	l8Runs = "runs"
	l8Run  = 32
)

// An l8Load has a function that returns the offset of read i of a block.
type l8Load struct {
	name, what, op string
	offsets        func(b *lab.B, size int64) func(i int64) int64
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
		variant(l8Fixed, "A: prefetches 128 KiB from the offset of each read (POSIX_FADV_WILLNEED)",
			func(f *datafile.File) (io.ReaderAt, func() error, error) { return fixedAhead{f}, noClose, nil }),
		variant(l8Follows, "B: fileio.Reader, whose readahead follows the pattern", func(f *datafile.File) (io.ReaderAt, func() error, error) {
			r, err := fileio.Open(f.Name(), fileio.Options{Way: fileio.Buffered})
			if err != nil {
				return nil, nil, err
			}
			return r, r.Close, nil
		}),
		variant(l8Kernel, "no prefetch: the kernel's own readahead",
			func(f *datafile.File) (io.ReaderAt, func() error, error) { return f, noClose, nil }))
	return e
}

func noClose() error { return nil }

// fixedAhead prefetches l8Ahead bytes at each read.
type fixedAhead struct{ f *datafile.File }

func (r fixedAhead) ReadAt(p []byte, off int64) (int, error) {
	if err := sys.Fadvise(r.f.File, off, l8Ahead, sys.AdviseWillNeed); err != nil {
		return 0, err
	}
	return r.f.ReadAt(p, off)
}

// runL8 checks before each read whether its page is in the page cache, and at the end how
// many of the cached pages were never read.
func runL8(b *lab.B, f *datafile.File, r io.ReaderAt, offset func(int64) int64) (err error) {
	w, err := startWriter("out")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	asked := make([]bool, f.Size/datafile.PageSize)
	page, hits := make([]byte, datafile.PageSize), 0
	b.SetBytes(datafile.PageSize)
	for b.Loop() {
		if b.I()%l8Every == 0 {
			w.due <- struct{}{}
		}
		off := offset(b.I())
		cached, err := pagecache.CachedRange(f.File, off, datafile.PageSize)
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
		Statement:   "4 KiB random reads beside 128 KiB sequential writes: readahead fixed at 128 KiB (A), window following the pattern (B)",
		Claimed:     "8.7 and 3.2 ms; hits 63 and 89 %; wasted 41 and 9 %",
		Promise:     "none for the reads; the writes beside them are not synced",
		Experiments: experiments(func(load l8Load) lab.Experiment { return l8(s, load) }, l8Loads...),
		Needs:       onDisk,
		judge:       func(ev *evidence) judgement { return judgeL8(ev, s.Of(l8File)) },
	}
}

func judgeL8(ev *evidence, size int64) judgement {
	const faster, hits, waste = 8.7 / 3.2, 0.89 / 0.63, 0.41 / 0.09
	var answers []answer
	text, small := "", ""
	for _, load := range l8Loads {
		id := idOf(l8(1, load))
		hit := func(v string) run.Estimate { return ev.metric(id, v, "hit_share") }
		wasted := func(v string) run.Estimate { return ev.metric(id, v, "wasted_share") }
		text += load.what + ":"
		for _, v := range []string{l8Fixed, l8Follows, l8Kernel} {
			text += fmt.Sprintf(" %s %s, %.0f %% hits, %.0f %% wasted;", v, nanos(ev.time(id, v)), 100*hit(v).Median, 100*wasted(v).Median)
		}
		s := ev.speedup(id, l8Follows)
		overKernel := ev.times(id, l8Kernel, l8Follows)
		text += fmt.Sprintf(" B is %s as fast as A (claimed %.2fx) and %s as fast as the kernel's default. ", factor(s), faster, factor(overKernel))
		answers = append(answers, claimedFactor(s, faster), claimedFactor(quotient(hit(l8Follows), hit(l8Fixed)), hits),
			claimedFactor(quotient(wasted(l8Fixed), wasted(l8Follows)), waste))
		small = ev.smaller(id, l8Fixed, size)
	}
	why := fmt.Sprintf("B had to be at least %.2fx as fast, to hit %.2fx as often and to waste %.1fx less (the claim less %.0f %%). Random reads have no pattern, so hits come only from pages read before; runs have one. A hit is a read whose page was in the page cache just before; a page is wasted if it was fetched but not read before the end of the block.",
		faster*(1-slack), hits*(1-slack), waste*(1-slack), 100*slack) + small
	return decide(text, why, "whether the reads have a pattern, and on time, hits or waste", answers...)
}

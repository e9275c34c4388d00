package claims

import (
	"errors"
	"fmt"
	"math"
	"os"
	"syscall"

	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/internal/measure/pagecache"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

const (
	r8Direct = "O_DIRECT"
	r8File   = datafile.MiB
)

// r8Tries are transfers that are off a page in one way: the address of the buffer, the
// length, or the offset in the file, by some bytes. Those off by a page are aligned. The file
// system and the device decide about alignment (open(2), O_DIRECT; statx(2), STATX_DIOALIGN).
var r8Tries = func() (tries []r8Try) {
	for _, what := range []string{"buffer", "length", "offset"} {
		for _, by := range []int{1, 512, datafile.PageSize} {
			tries = append(tries, r8Try{what, by})
		}
	}
	return tries
}()

type r8Try struct {
	what string
	by   int
}

// r8Misaligned returns the buffer and the offset of a transfer that is misaligned by some
// bytes in one way.
var r8Misaligned = map[string]func(memory []byte, by int) (buf []byte, off int64){
	"buffer": func(m []byte, by int) ([]byte, int64) { return m[by : by+datafile.PageSize], 0 },
	"length": func(m []byte, by int) ([]byte, int64) { return m[:datafile.PageSize+by], 0 },
	"offset": func(m []byte, by int) ([]byte, int64) { return m[:datafile.PageSize], int64(by) },
}

func (t r8Try) metric(write bool) string {
	return fmt.Sprintf("%s_%s_off_by_%d", map[bool]string{false: "read", true: "write"}[write], t.what, t.by)
}

// The answers to a try.
const (
	r8Accepted = 0
	r8EINVAL   = 1
	r8Other    = 2 // another error
)

func (t r8Try) run(f *os.File, write bool) (answer float64) {
	memory := sys.AlignedBuffer(4*datafile.PageSize, datafile.PageSize)
	buf, off := r8Misaligned[t.what](memory, t.by)
	var err error
	if write {
		_, err = f.WriteAt(buf, off)
	} else {
		_, err = f.ReadAt(buf, off)
	}
	switch {
	case err == nil:
		return r8Accepted
	case errors.Is(err, syscall.EINVAL):
		return r8EINVAL
	}
	return r8Other
}

// How aligned direct I/O of a whole file changes the bytes of it in the page cache, from a
// cold cache and from a warm one.
const (
	r8ColdRead  = "cached_by_read"
	r8ColdWrite = "cached_by_write"
	r8WarmRead  = "uncached_by_read"
	r8WarmWrite = "uncached_by_write"
)

func runR8(b *lab.B) error {
	err := datafile.Fill("data", r8File)
	if err != nil {
		return err
	}
	f, err := fileop.OpenDirect("data")
	if errors.Is(err, syscall.EINVAL) {
		return job.Unsupported("the file system has no O_DIRECT")
	}
	if err != nil {
		return err
	}
	defer func() { f.Close() }() // its data is of no use
	for b.Loop() {
		for _, t := range r8Tries {
			b.Report(t.metric(false), t.run(f, false))
			b.Report(t.metric(true), t.run(f, true))
		}
	}
	st, err := sys.StatFile(f)
	switch {
	case err != nil:
		return err
	case st.DirectKnown:
		b.Report("dio_mem_align", float64(st.DirectMem))
		b.Report("dio_offset_align", float64(st.DirectOffset))
	default:
		const why = "is unknown: this file system has no STATX_DIOALIGN, or the kernel is older than 6.1"
		b.ReportMissing("dio_mem_align", why)
		b.ReportMissing("dio_offset_align", why)
	}
	return reportCacheOf(b, f)
}

// reportCacheOf does aligned I/O from a cold and from a warm cache.
func reportCacheOf(b *lab.B, direct *os.File) error {
	buffered, err := os.Open(direct.Name())
	if err != nil {
		return err
	}
	defer buffered.Close() // nothing is written
	all := sys.AlignedBuffer(r8File, datafile.PageSize)
	read := func() error { _, err := direct.ReadAt(all, 0); return err }
	write := func() error { _, err := direct.WriteAt(all, 0); return err }
	for _, c := range []struct {
		metric string
		warm   bool
		do     func() error
	}{{r8ColdRead, false, read}, {r8ColdWrite, false, write}, {r8WarmRead, true, read}, {r8WarmWrite, true, write}} {
		if err := errors.Join(direct.Sync(), pagecache.Drop(direct)); err != nil {
			return err
		}
		if c.warm {
			if _, err := buffered.ReadAt(make([]byte, r8File), 0); err != nil {
				return err
			}
		}
		before, err := pagecache.Cached(direct)
		if errors.Is(err, errors.ErrUnsupported) {
			b.ReportMissing(c.metric, "the kernel has no cachestat (Linux 6.5)")
			continue
		}
		if err != nil {
			return err
		}
		if c.warm != (before >= r8File) || !c.warm && before > 0 {
			b.ReportMissing(c.metric, fmt.Sprintf("cannot prepare the page cache: %d bytes of the file are in it", before))
			continue
		}
		if err := c.do(); err != nil {
			return err
		}
		after, err := pagecache.Cached(direct)
		if err != nil {
			return err
		}
		b.Report(c.metric, math.Abs(float64(after-before)))
	}
	return nil
}

func claimR8() Claim {
	e := lab.Experiment{
		Suite: "claims", Name: "R8", Question: "What does O_DIRECT refuse, and does it leave the page cache alone?",
		Op:  "direct reads and writes of 4 KiB, off a page in one way by 1, 512 and 4,096 bytes",
		Ops: 1, MaxRounds: lab.MinRounds,
		Variants: []lab.Variant{{
			Name: r8Direct, Doc: "one call each, and the state of the page cache by cachestat(2)", Promise: keptTorn, Baseline: true,
			Run: inDir(runR8),
		}},
	}
	return Claim{
		ID: "R8",
		Source: reportR.source("3.3",
			"With O_DIRECT the address and length of a read must be multiples of 4,096 bytes, else EINVAL, and the page cache is passed by."),
		Statement:   "O_DIRECT: buffers and lengths that are not aligned; page cache left alone",
		Claimed:     "EINVAL; yes",
		Promise:     "none: direct I/O by itself makes nothing durable, since the disk's cache is not flushed",
		Experiments: []lab.Experiment{e},
		Needs: func(e run.Environment) string {
			if onDisk(e) != "" {
				return "a directory on a disk; files in memory are the page cache itself"
			}
			return ""
		},
		judge: func(ev *evidence) judgement { return judgeR8(ev, e.ID()) },
	}
}

// judgeR8 asks of the reads whether each that is off a page fails with EINVAL, and whether
// the page cache has nothing of the file after an aligned one. Writes and offsets, of which
// the claim says nothing, are shown.
func judgeR8(ev *evidence, id string) judgement {
	if why := ev.failed(id); why != "" {
		return ruling("", lacking("direct reads", why))
	}
	var parts []part
	for _, what := range []string{"buffer", "length", "offset"} {
		for _, write := range []bool{false, true} {
			found, all := ev.r8Found(id, what, write)
			question := fmt.Sprintf("EINVAL for a read whose %s is no multiple of 4,096", what)
			switch {
			case write || what == "offset":
				kind := map[bool]string{false: "a read", true: "a write"}[write]
				parts = append(parts, figureOf(kind+", "+what, found))
			case found == "":
				parts = append(parts, part{what: question}.untestable())
			default:
				parts = append(parts, fact(question, all, found))
			}
		}
	}
	const cache = "the page cache has nothing of the file after a direct read"
	switch cached, why := ev.known(id, r8Direct, r8ColdRead); {
	case why != "":
		parts = append(parts, lacking(cache, why))
	case math.IsNaN(cached.Median): // there was no round
		parts = append(parts, part{what: cache}.untestable())
	default:
		parts = append(parts, fact(cache, always(cached, 0), fmt.Sprintf("%s of %d KiB", units.Decimal(cached.Median), r8File>>10)))
	}
	for _, m := range []struct{ metric, what string }{
		{r8ColdWrite, "the page cache gets by a direct write"}, {r8WarmRead, "where it had all of the file it loses by a direct read"}, {r8WarmWrite, "where it had all of the file it loses by a direct write"},
	} {
		if x, why := ev.known(id, r8Direct, m.metric); why == "" {
			parts = append(parts, figureOf(m.what, units.Decimal(x.Median)))
		}
	}
	parts = append(parts, ev.r8Required(id))
	return ruling("The file system and the device decide about alignment: ask statx (STATX_DIOALIGN) instead of guessing. A file system that accepts a transfer that is not aligned does it through the page cache.", parts...)
}

// r8Found lists the answers to the tries of one way, and reports whether all that are off a
// page failed with EINVAL.
func (ev *evidence) r8Found(id, what string, write bool) (found string, all bool) {
	all = true
	for _, t := range r8Tries {
		if t.what != what {
			continue
		}
		got := ev.metric(id, r8Direct, t.metric(write))
		word, ok := map[float64]string{r8EINVAL: "EINVAL", r8Accepted: "taken", r8Other: "another error"}[got.Median]
		if !ok {
			return "", false
		}
		if t.by%datafile.PageSize != 0 {
			all = all && always(got, r8EINVAL)
		}
		if found != "" {
			found += ", "
		}
		found += fmt.Sprintf("off by %d: %s", t.by, word)
	}
	return found, all
}

// always reports whether a figure was x in every round. A fact needs no interval: with few
// rounds it has no interval, and Lo and Hi are NaN.
func always(e run.Estimate, x float64) bool { return e.Median == x && !(e.Lo < x) && !(e.Hi > x) }

// r8Required shows what statx says of alignment.
func (ev *evidence) r8Required(id string) part {
	const what = "the alignment that statx requires"
	memory, missing := ev.known(id, r8Direct, "dio_mem_align")
	if missing != "" {
		return figureOf(what, missing)
	}
	offset, _ := ev.known(id, r8Direct, "dio_offset_align")
	return figureOf(what, fmt.Sprintf("buffers at multiples of %.0f bytes, offsets and lengths of %.0f (0: no direct I/O)", memory.Median, offset.Median))
}

package claims

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// The variants of R2.
const (
	r2None  = "no buffer"
	r2Small = "bufio.Reader, 4 KiB"
	r2Large = "bufio.Reader, 64 KiB"
)

const kindNetwork = "network"

// A medium is one of the claim: how many times as fast as none the buffers of 4 and 64 KiB
// are there. 1 is faster by any factor, 0 slower by any.
type medium struct {
	kind, name    string
	gain4, gain64 float64
}

var r2Media = []medium{
	{kindNVMe, "an NVMe SSD", 0, 0},
	{kindDisk, "a SATA disk", 180. / 110, 192. / 110},
	{kindNetwork, "a network file system", 1, 1},
}

const (
	r2File  = 64 * datafile.MiB
	r2Chunk = datafile.MiB // read in one operation
)

// r2Reads are the sizes of the caller's reads, which the claim does not give. They matter: a
// read as large as the buffer passes it by.
var r2Reads = []int{512, 4 << 10, 64 << 10}

// r2 reads a file from its start to its end, once or, where its pages are warm, several
// times.
func r2(s job.Scale, read int, state string) lab.Experiment {
	variant := func(name, doc string, buffer int) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) error {
			prepare := (*datafile.File).Warm
			if state == datafile.Cold {
				prepare = (*datafile.File).Chill
			}
			return withNoise(b, s.Of(r2File), prepare, func(f *datafile.File) error {
				return readChunks(b, f.File, buffered(f.File, buffer), make([]byte, read))
			})
		}}
	}
	return lab.Experiment{
		Suite: "claims", Name: "R2", Params: run.Params{"pages": state, "read": strconv.Itoa(read)},
		Question: "Which buffer reads a file fastest on this medium?",
		Op:       fmt.Sprintf("the next MiB of a file %s, in reads of %s", datafile.StateText(state), units.Size(int64(read))),
		MaxOps:   s.Of(r2File) / r2Chunk, MaxRounds: 8, Stateless: true,
		Variants: firstIsBaseline(
			variant(r2None, "A: each read is a read(2)", 0),
			variant(r2Small, "B: the default of bufio", 4<<10),
			variant(r2Large, "C: a larger buffer", 64<<10)),
	}
}

// r2Delay is the latency that the report's wrapper is given.
const r2Delay = 100 * time.Microsecond

// r2Sleeping reads through the report's wrapper, which stands for a slow medium.
func r2Sleeping(s job.Scale) lab.Experiment {
	variant := func(name, doc string, buffer int) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) error {
			return withNoise(b, s.Of(r2File), (*datafile.File).Warm, func(f *datafile.File) error {
				return readChunks(b, f.File, buffered(sleepingReader{f.File, r2Delay}, buffer), make([]byte, 4<<10))
			})
		}}
	}
	return lab.Experiment{
		Suite: "claims", Name: "R2-sleeping", Question: "What does a buffer gain where each read of the file first sleeps?",
		Op:     fmt.Sprintf("the next MiB of a file in the page cache, in reads of 4 KiB, of which each that reaches the file first sleeps half of %v", r2Delay),
		MaxOps: 4, MaxRounds: lab.MinRounds, Stateless: true,
		Variants: firstIsBaseline(
			variant(r2None, "each read sleeps", 0),
			variant(r2Small, "a read of 4 KiB passes this buffer by", 4<<10),
			variant(r2Large, "one read of 16 sleeps", 64<<10)),
	}
}

// A sleepingReader is the report's: it sleeps for half of its latency before each Read. The
// text calls that random, the code has a constant.
type sleepingReader struct {
	r       io.Reader
	latency time.Duration
}

func (s sleepingReader) Read(p []byte) (int, error) {
	time.Sleep(s.latency / 2)
	return s.r.Read(p)
}

func buffered(r io.Reader, size int) io.Reader {
	if size == 0 {
		return r
	}
	return bufio.NewReaderSize(r, size)
}

// readChunks reads a chunk in each operation, and starts anew at the end of the file.
func readChunks(b *lab.B, f io.Seeker, r io.Reader, p []byte) error {
	b.SetBytes(r2Chunk)
	for b.Loop() {
		for left := r2Chunk; left > 0; {
			n, err := r.Read(p[:min(len(p), left)])
			left -= n
			if errors.Is(err, io.EOF) { // a bufio.Reader reads on after it
				_, err = f.Seek(0, io.SeekStart)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// overNetwork are file systems of another machine.
var overNetwork = []string{"nfs", "nfs4", "cifs", "smb3", "smb2", "ceph", "9p"}

// mediumOf returns the medium of a place, or why it is unknown.
func mediumOf(e run.Environment) (kind, why string) {
	if slices.Contains(overNetwork, e.FS) {
		return kindNetwork, ""
	}
	return deviceKind(e)
}

func claimR2(s job.Scale) Claim {
	sleeping := r2Sleeping(s)
	c := Claim{
		ID: "R2",
		Source: reportR.source("2.2",
			"A bufio.Reader of 4 KB slows NVMe from 1,350 to 1,220 MB/s and speeds a SATA disk up from 110 to 180 and NFSv4 from 85 to 92."),
		Statement:   "a file read without a buffer (A), through a bufio.Reader of 4 KiB (B) and of 64 KiB (C), on different media, in reads of 512 B, 4 KiB and 64 KiB, warm and cold",
		Claimed:     "NVMe 1,350/1,220/1,245; SATA disk 110/180/192; NFSv4 85/92/96 MB/s",
		Promise:     noneText,
		Experiments: []lab.Experiment{sleeping},
	}
	for _, state := range []string{datafile.Cold, datafile.Warm} {
		for _, read := range r2Reads {
			c.Experiments = append(c.Experiments, r2(s, read, state))
		}
	}
	c.judge = func(ev *evidence) judgement { return judgeR2(ev, s, sleeping.ID()) }
	return c
}

// judgeR2 asks the questions of the place's medium. Those of the others need a place on them.
func judgeR2(ev *evidence, s job.Scale, sleeping string) judgement {
	kind, unknown := mediumOf(ev.place.Environment)
	var parts []part
	for _, m := range r2Media {
		if m.kind == kind {
			continue
		}
		lack := "a directory on " + m.name
		if unknown != "" {
			lack += " (this one: " + unknown + ")"
		}
		parts = append(parts, lacking("bufio on "+m.name, lack))
	}
	for _, state := range []string{datafile.Cold, datafile.Warm} {
		for _, read := range r2Reads {
			id, cond := idOf(r2(s, read, state)), fmt.Sprintf("%s, reads of %s", state, units.Size(int64(read)))
			if why := ev.failed(id); why != "" {
				parts = append(parts, lacking("bufio against none", why).under(cond).onlyShown())
				continue
			}
			parts = append(parts, r2Parts(ev, id, kind, cond)...)
		}
	}
	if why := ev.failed(sleeping); why == "" {
		parts = append(parts, figureOf("with the report's sleeping wrapper, reads of 4 KiB",
			fmt.Sprintf("without a buffer %s, 4 KiB %s as fast, 64 KiB %s", megabytes(r2Chunk, ev.time(sleeping, r2None)), factor(ev.speedup(sleeping, r2Small)), factor(ev.speedup(sleeping, r2Large)))))
	}
	return ruling("Each medium is tested on itself only: a loop device or a virtual disk of unknown kind is none of them. The report's wrapper sleeps before each read and stands for no medium.", parts...)
}

// r2Parts returns the questions about one state and one size of reads on a medium of a
// kind. On another medium the same figures are only shown.
func r2Parts(ev *evidence, id, kind, cond string) []part {
	small, large := ev.speedup(id, r2Small), ev.speedup(id, r2Large)
	i := slices.IndexFunc(r2Media, func(m medium) bool { return m.kind == kind })
	rate := megabytes(r2Chunk, ev.time(id, r2None)) + " without"
	if i < 0 {
		return []part{
			figureOf("bufio of 4 KiB against none", factor(small)).under(cond).note(rate),
			figureOf("bufio of 64 KiB against none", factor(large)).under(cond),
		}
	}
	m := r2Media[i]
	ask := func(what string, e run.Estimate, gain float64) part {
		switch {
		case gain == 0:
			return direction("none against "+what+" on "+m.name, inverse(e))
		case gain == 1:
			return direction(what+" against none on "+m.name, e)
		}
		return claimed(what+" against none on "+m.name, e, gain)
	}
	return []part{
		ask("bufio of 4 KiB", small, m.gain4).under(cond).note(rate),
		ask("bufio of 64 KiB", large, m.gain64).under(cond),
	}
}

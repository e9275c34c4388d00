package claims

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// The variants of R1.
const (
	r1Whole  = "os.WriteFile, 4 KiB files"
	r1Bufio  = "bufio.Writer, 64 KiB"
	r1Large  = "bufio.Writer, 1 MiB"
	r1Touch4 = "mapping, 4 bytes of each page"
	r1Touch  = "mapping, every byte"
)

// r1Mapping is the size of a "large" mapping.
const r1Mapping = 1 << 30

// r1Write writes one MiB in each operation: as 256 files, or to one that stays open.
func r1Write() lab.Experiment {
	blocks := func(name string, size int) lab.Variant {
		return lab.Variant{Name: name, Doc: "4 KiB pieces through a buffer to one file, flushed at the end", Promise: keptTorn,
			Run: inDir(func(b *lab.B) error {
				f, err := os.Create("data")
				if err != nil {
					return err
				}
				w, piece := bufio.NewWriterSize(f, size), headers.Head(datafile.PageSize)
				b.SetBytes(datafile.MiB)
				for err == nil && b.Loop() {
					for i := 0; i < datafile.MiB/datafile.PageSize && err == nil; i++ {
						_, err = w.Write(piece)
					}
					if err == nil {
						err = w.Flush()
					}
				}
				return errors.Join(err, f.Close())
			})}
	}
	return lab.Experiment{
		Suite: "claims", Name: "R1-write", Question: "Is one large file written faster than many small ones?",
		Op: "1 MiB written, none of it synced", MaxOps: 40,
		Variants: []lab.Variant{
			{Name: r1Whole, Doc: "256 new files, each written whole", Promise: keptTorn, Baseline: true,
				Run: inDir(func(b *lab.B) error {
					piece := headers.Head(datafile.PageSize)
					names := allPaths(b.N*datafile.MiB/datafile.PageSize, func(i int) string { return "f" + strconv.Itoa(i) })
					b.SetBytes(datafile.MiB)
					for b.Loop() {
						for range datafile.MiB / datafile.PageSize {
							if err := os.WriteFile(names[0], piece, 0o644); err != nil {
								return err
							}
							names = names[1:]
						}
					}
					return nil
				})},
			blocks(r1Bufio, 64<<10), blocks(r1Large, datafile.MiB),
		},
	}
}

// r1Read reads one MiB of a mapping in each operation. As coded it looks at four bytes of a
// page and counts all of it.
func r1Read(s job.Scale) lab.Experiment {
	variant := func(name, doc string, look func(page []byte) uint64) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) error {
			return warmMapping(b, s.Of(r1Mapping), func(data []byte) error {
				at, sum := randomOffsets(b, int64(len(data)), datafile.PageSize), uint64(0)
				b.SetBytes(datafile.MiB)
				for b.Loop() {
					for i := range int64(datafile.MiB / datafile.PageSize) {
						off := at.at(b.I()*datafile.MiB/datafile.PageSize + i)
						sum += look(data[off : off+datafile.PageSize])
					}
				}
				runtime.KeepAlive(sum)
				return nil
			})
		}}
	}
	return lab.Experiment{
		Suite: "claims", Name: "R1-read", Question: "How fast can a mapping be read at random?",
		Op: "256 random pages of 4 KiB of a mapped file in the page cache", Stateless: true,
		Variants: firstIsBaseline(
			variant(r1Touch, "as meant: all 4 KiB are looked at", datafile.SumWords),
			variant(r1Touch4, "as coded: 4 bytes are looked at, 4 KiB are counted", firstWord)),
	}
}

func claimR1(s job.Scale) Claim {
	write, read := r1Write(), r1Read(s)
	return Claim{
		ID: "R1",
		Source: reportR.source("ch. 1, Toolchain; table at the end",
			"os.WriteFile of small files reaches about 200 MB/s, bufio.Writer in blocks of 64 KB to 1 MB about 850, and random reads of a mapping at least 1,200."),
		Statement:   "os.WriteFile of small whole files; bufio.Writer in 64 KiB-1 MiB blocks; random reads of a large read-only mapping",
		Claimed:     "200, 850, at least 1,200 MB/s",
		Promise:     "kill, torn for both ways of writing: they survive kill -9, not a power cut; none for the mapping, which writes nothing",
		Experiments: []lab.Experiment{write, read},
		judge:       func(ev *evidence) judgement { return judgeR1(ev, write.ID(), read.ID(), s.Of(r1Mapping)) },
	}
}

// judgeR1 compares the ratio of each way to the one before with the claimed one.
func judgeR1(ev *evidence, write, read string, size int64) judgement {
	const buffered, mapping = 850. / 200, 1200. / 850
	var answers []answer
	text := fmt.Sprintf("os.WriteFile of 4 KiB: %s. ", megabytes(datafile.MiB, ev.time(write, r1Whole)))
	for _, w := range []string{r1Bufio, r1Large} {
		faster := ev.speedup(write, w)
		answers = append(answers, claimedFactor(faster, buffered))
		text += fmt.Sprintf("%s: %s, %s as fast (claimed %.2fx). ", w, megabytes(datafile.MiB, ev.time(write, w)), factor(faster), buffered)
	}
	for _, r := range []string{r1Touch4, r1Touch} {
		faster := ev.timesAcross(write, r1Bufio, read, r)
		answers = append(answers, claimedFactor(faster, mapping))
		text += fmt.Sprintf("%s: %s, %s as fast as %s (claimed %.2fx). ", r, megabytes(datafile.MiB, ev.time(read, r)), factor(faster), r1Bufio, mapping)
	}
	why := fmt.Sprintf("These are three different jobs: small files pay for their creation, the buffer does not, and a warm mapping moves no data from or to a disk and makes none durable. They can be ranked, but one cannot replace another. Each had to be as many times as fast as the one before as claimed, less %.0f %%.",
		100*slack) + ev.smaller(read, r1Touch, size)
	return decide(text, why, "the size of the buffer, and on whether every counted byte is looked at", answers...)
}

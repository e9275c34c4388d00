package claims

import (
	"bufio"
	"errors"
	"os"
	"runtime"
	"strconv"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// The ways of writing in R1.
const (
	r1Whole = "os.WriteFile, 4 KiB files"
	r1Coded = "bufio, as coded: a temporary file"
	r1Bufio = "bufio, blocks of 64 KiB"
	r1Large = "bufio, blocks of 1 MiB"
)

// The ways of reading in R1.
const (
	r1Touch4 = "mapping, 4 bytes of each page"
	r1Copied = "mapping, all 4 KiB copied"
)

// r1Mapping is the size of a "large" mapping.
const r1Mapping = 1 << 30

// r1Write writes one MiB in each operation: as 256 files, as one temporary file that is
// removed again, or to a file that stays open.
func r1Write() lab.Experiment {
	blocks := func(name string, size int) lab.Variant {
		return lab.Variant{Name: name, Doc: "B as meant: 4 KiB pieces, gathered in a buffer of that size, to one file", Promise: keptTorn,
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
		Op: "1 MiB written, none of it synced", MaxOps: 40, MaxRounds: 12,
		Variants: firstIsBaseline(
			lab.Variant{Name: r1Whole, Doc: "A: 256 new files, each written whole", Promise: keptTorn,
				Run: inDir(writeSmallFiles)},
			blocks(r1Bufio, 64<<10), blocks(r1Large, datafile.MiB),
			lab.Variant{Name: r1Coded, Doc: "B as coded: a new temporary file, 1 MiB in one Write, which passes bufio's 4 KiB by, Flush, Close and Remove; Flush puts nothing on the disk, whatever its comment says", Promise: lost,
				Run: inDir(func(b *lab.B) error {
					data := headers.Head(datafile.MiB)
					b.SetBytes(datafile.MiB)
					for b.Loop() {
						if err := writeTemporary(data); err != nil {
							return err
						}
					}
					return nil
				})},
		),
	}
}

func writeSmallFiles(b *lab.B) error {
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
}

func writeTemporary(data []byte) error {
	f, err := os.CreateTemp(".", "bench")
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	_, err = w.Write(data)
	return errors.Join(err, w.Flush(), f.Close(), os.Remove(f.Name()))
}

// r1Read reads one MiB of a mapping in each operation, from a warm or from a cold page
// cache.
func r1Read(s job.Scale, cold bool) lab.Experiment {
	variant := func(name, doc string, look func(page []byte) uint64) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) error {
			prepare := (*datafile.File).Warm
			if cold {
				prepare = (*datafile.File).Chill
			}
			return withNoise(b, s.Of(r1Mapping), prepare, func(f *datafile.File) error {
				read := func(data []byte) error {
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
				}
				if cold {
					return f.MappedBare(read)
				}
				return f.Mapped(read)
			})
		}}
	}
	e := lab.Experiment{
		Suite: "claims", Name: "R1-read", Params: run.Params{"pages": datafile.Warm}, Question: "How fast can a mapping be read at random?",
		Op: "256 random pages of 4 KiB of a mapped file " + datafile.StateText(datafile.Warm), Stateless: true, MaxRounds: 12,
		Variants: firstIsBaseline(
			variant(r1Copied, "C: all 4 KiB are copied out", copied()),
			variant(r1Touch4, "4 bytes are looked at, 4 KiB are counted", firstWord)),
	}
	if cold {
		e.Params = run.Params{"pages": datafile.Cold}
		e.Op = "256 random pages of 4 KiB of a mapped file " + datafile.StateText(datafile.Cold)
		e.MaxOps = 20 // of 1,024: with more of them the file would soon be warm
	}
	return e
}

// copied returns a function that copies a page into a buffer.
func copied() func(page []byte) uint64 {
	buf := make([]byte, datafile.PageSize)
	return func(page []byte) uint64 {
		copy(buf, page)
		return uint64(buf[0])
	}
}

func claimR1(s job.Scale) Claim {
	write, warm, cold := r1Write(), r1Read(s, false), r1Read(s, true)
	return Claim{
		ID: "R1",
		Source: reportR.source("ch. 1, Toolchain; table at the end",
			"os.WriteFile of small files reaches about 200 MB/s, bufio.Writer in blocks of 64 KB to 1 MB about 850, and random reads of a mapping at least 1,200."),
		Statement:   "os.WriteFile of small whole files (A); bufio.Writer in blocks of 64 KiB to 1 MiB, as coded and as meant (B); random reads of 4 KiB of a large read-only mapping (C)",
		Claimed:     "200, 850, at least 1,200 MB/s",
		Promise:     "kill, torn for A and for B as meant: they survive kill -9, not a power cut; none for B as coded, which removes its file, and for C, which writes nothing",
		Experiments: []lab.Experiment{write, warm, cold},
		judge:       func(ev *evidence) judgement { return judgeR1(ev, write.ID(), warm.ID(), cold.ID(), s.Of(r1Mapping)) },
	}
}

// judgeR1 compares the ratio of each way to the one before with the claimed one.
func judgeR1(ev *evidence, write, warm, cold string, size int64) judgement {
	const buffered, mapping = 850. / 200, 1200. / 850
	rate := func(id, v string) string { return megabytes(datafile.MiB, ev.time(id, v)) }
	parts := []part{figureOf("A, os.WriteFile of 4 KiB files", rate(write, r1Whole))}
	for _, w := range []struct{ variant, cond string }{
		{r1Coded, "as coded, the file is removed"}, {r1Bufio, "as meant, blocks of 64 KiB"}, {r1Large, "as meant, blocks of 1 MiB"},
	} {
		parts = append(parts, claimed("B against A, bytes a second", ev.ratio(write, r1Whole, w.variant), buffered).
			under(w.cond).note(rate(write, w.variant)).note(notSameJob))
	}
	const mapped = "C against B, bytes a second"
	for _, c := range []struct{ id, cond string }{{warm, "warm"}, {cold, "cold"}} {
		if why := ev.failed(c.id); why != "" && c.id == cold {
			parts = append(parts, lacking(mapped, "a cold page cache: "+why).under(c.cond))
			continue
		}
		for _, w := range []struct{ variant, cond string }{
			{r1Coded, "B as coded"}, {r1Bufio, "B as meant, blocks of 64 KiB"}, {r1Large, "B as meant, blocks of 1 MiB"},
		} {
			parts = append(parts, claimed(mapped, ev.timesAcross(write, w.variant, c.id, r1Copied), mapping).
				under(c.cond+", "+w.cond).note(rate(c.id, r1Copied)).note(notSameJob))
		}
		parts = append(parts, figureOf("C if only 4 bytes of each page are looked at", rate(c.id, r1Touch4)).under(c.cond))
	}
	return ruling("These are three different jobs: small files pay for their creation, and a mapping writes nothing. They can be ranked, but one cannot replace another. C and B ran in blocks of two experiments: their intervals are the widest that both allow."+ev.smaller(warm, r1Copied, size), parts...)
}

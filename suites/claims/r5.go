package claims

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/headers"
)

// The variants of R5.
const (
	r5Older = "io.CopyN to a plain io.Writer"
	r5Newer = "io.CopyN to *os.File"
	r5Write = "one Write"
)

const r5Bytes = 32 << 10

// r5 copies from memory. Up to Go 1.14 *os.File had no ReadFrom, and io.CopyN used a buffer of
// its own and Write. Since then it calls ReadFrom, which for a reader that is not a file
// does the same.
func r5(fresh bool) lab.Experiment {
	variant := func(name, doc string, copy func(dst *os.File, src *bytes.Reader) error) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: keptTorn, Run: inDir(func(b *lab.B) error {
			src := bytes.NewReader(headers.Head(r5Bytes))
			b.SetBytes(r5Bytes)
			f, err := os.Create("data")
			for err == nil && b.Loop() {
				if _, err = src.Seek(0, io.SeekStart); err != nil {
					break
				}
				if !fresh {
					err = copy(f, src)
					continue
				}
				var g *os.File
				if g, err = os.Create("f" + strconv.FormatInt(b.I(), 10)); err == nil {
					err = errors.Join(copy(g, src), g.Close())
				}
			}
			return errors.Join(err, f.Close())
		})}
	}
	e := lab.Experiment{
		Suite: "claims", Name: "R5-open", Question: "Did io.CopyN from memory to a file become faster?",
		Op: "32 KiB at the end of a file that stays open", MaxOps: 2_000,
		Variants: firstIsBaseline(
			variant(r5Older, "as an older Go did: its own buffer, and Write", func(dst *os.File, src *bytes.Reader) error {
				_, err := io.CopyN(struct{ io.Writer }{dst}, src, r5Bytes)
				return err
			}),
			variant(r5Newer, "as this Go does: ReadFrom of the file", func(dst *os.File, src *bytes.Reader) error {
				_, err := io.CopyN(dst, src, r5Bytes)
				return err
			}),
			variant(r5Write, "no copy in between: bytes.Reader.WriteTo, the least that any Go can do", func(dst *os.File, src *bytes.Reader) error {
				_, err := src.WriteTo(dst)
				return err
			})),
	}
	if fresh {
		e.Name = "R5-fresh"
		e.Op = "32 KiB to a new file, which is made and closed"
	}
	return e
}

func claimR5() Claim {
	open, fresh := r5(false), r5(true)
	return Claim{
		ID: "R5",
		Source: reportR.source("2.5",
			"io.CopyN of 32 KB from memory to a file takes 285 us in Go 1.22 and 420 us in Go 1.21."),
		Statement:   "32 KiB from memory to a file with io.CopyN, older and newer Go (the report's helper io.ToReader does not exist: bytes.Reader)",
		Claimed:     "420 to 285 us",
		Promise:     "kill, torn, all variants: survives kill -9, not a power cut",
		Experiments: []lab.Experiment{open, fresh},
		judge:       func(ev *evidence) judgement { return judgeR5(ev, open.ID(), fresh.ID()) },
	}
}

// judgeR5 compares the gain of the newer Go's path with the claimed one. If even one bare
// write gains less, no change to io.CopyN can have caused the claimed gain.
func judgeR5(ev *evidence, open, fresh string) judgement {
	const claimed = 420. / 285
	var answers []answer
	text := ""
	for _, c := range []struct{ what, id string }{{"File that stays open", open}, {"New file", fresh}} {
		newer, least := ev.speedup(c.id, r5Newer), ev.speedup(c.id, r5Write)
		answers = append(answers, claimedFactor(newer, claimed))
		text += fmt.Sprintf("%s: as an older Go %s, as this one %s, %s as fast (claimed %.2fx); one Write %s, %s as fast. ", c.what,
			nanos(ev.time(c.id, r5Older)), nanos(ev.time(c.id, r5Newer)), factor(newer), claimed, nanos(ev.time(c.id, r5Write)), factor(least))
	}
	why := "The path through *os.File.ReadFrom had to be at least " + asked(claimed) + " as fast as the one through a buffer, the only one of io.CopyN before Go 1.15. An older Go was not tested: only the change of this call was, with the compiler and runtime of " + goOf(ev) + "."
	return decide(text, why, "whether the file is new", answers...)
}

func goOf(ev *evidence) string {
	if v := ev.place.Environment.Go; v != "" {
		return v
	}
	return "the Go at hand"
}

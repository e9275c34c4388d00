package claims

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// The variants of R2.
const (
	r2None  = "no buffer"
	r2Small = "bufio.Writer, 4 KiB"
	r2Large = "bufio.Writer, 64 KiB"
)

const kindNetwork = "network"

// A medium is a row of the claim: how many times as fast as none each buffer is.
type medium struct {
	kind         string
	small, large float64
}

var r2Media = []medium{
	{kindNVMe, 1220. / 1350, 1245. / 1350},
	{kindDisk, 180. / 110, 192. / 110},
	{kindNetwork, 92. / 85, 96. / 85},
}

// r2Bytes is the size of the file.
const r2Bytes = 8 * datafile.MiB

// r2Pieces are the sizes of a write, which the claim does not give. They matter: a piece as
// large as the buffer goes past it.
var r2Pieces = []struct {
	name  string
	bytes int
}{{"1KiB", 1 << 10}, {"64KiB", 64 << 10}}

// r2 writes a file in pieces. synced: the data reaches the medium.
func r2(s job.Scale, piece string, bytes int, synced bool) lab.Experiment {
	total := s.Of(r2Bytes)
	p := keptTorn
	name, end := "R2-cache", "and closed"
	if synced {
		p, name, end = powerTorn, "R2-medium", "synced and closed"
	}
	variant := func(name, doc string, size int) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: p, Baseline: size == 0, Run: inDir(func(b *lab.B) error {
			chunk := headers.Head(bytes)
			b.SetBytes(total)
			for b.Loop() {
				if err := writeInPieces("data", chunk, total, size, synced); err != nil {
					return err
				}
			}
			return nil
		})}
	}
	return lab.Experiment{
		Suite: "claims", Name: name, Params: run.Params{"piece": piece},
		Question: "Which buffer writes a file fastest on this medium?",
		Op:       fmt.Sprintf("a new file of 8 MiB written in pieces of %s %s", piece, end), MaxOps: 50, MaxRounds: 10,
		Variants: []lab.Variant{
			variant(r2None, "each piece is a write(2)", 0),
			variant(r2Small, "the default of bufio", 4<<10),
			variant(r2Large, "a larger buffer", 64<<10),
		},
	}
}

func writeInPieces(name string, piece []byte, total int64, buffer int, synced bool) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var w io.Writer = f
	flush := func() error { return nil }
	if buffer > 0 {
		buf := bufio.NewWriterSize(f, buffer)
		w, flush = buf, buf.Flush
	}
	for done := int64(0); done < total; done += int64(len(piece)) {
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	if err := flush(); err != nil || !synced {
		return err
	}
	return f.Sync()
}

// overNetwork are file systems of another machine.
var overNetwork = []string{"nfs", "nfs4", "cifs", "smb3", "smb2", "ceph", "9p"}

// mediumOf returns the row of the claim that a place belongs to, or why it is unknown.
func mediumOf(e run.Environment) (m medium, why string) {
	kind, why := deviceKind(e)
	if slices.Contains(overNetwork, e.FS) {
		kind, why = kindNetwork, ""
	}
	i := slices.IndexFunc(r2Media, func(m medium) bool { return m.kind == kind })
	switch {
	case i >= 0:
		return r2Media[i], ""
	case why == "":
		why = "the claim has no row for a " + kind
	}
	return medium{}, why
}

func claimR2(s job.Scale) Claim {
	c := Claim{
		ID: "R2",
		Source: reportR.source("2.2",
			"A bufio.Reader of 4 KB slows NVMe from 1,350 to 1,220 MB/s and speeds a SATA disk up from 110 to 180 and NFSv4 from 85 to 92."),
		Statement: "bufio with none, 4 KiB, 64 KiB on different media",
		Claimed:   "NVMe 1,350/1,220/1,245; disk 110/180/192; network 85/92/96 MB/s",
		Promise:   "kill, torn without a sync; power, torn with one at the end: all variants of an experiment promise the same",
		Needs:     onDisk,
		judge:     judgeR2,
	}
	for _, synced := range []bool{false, true} {
		for _, p := range r2Pieces {
			c.Experiments = append(c.Experiments, r2(s, p.name, p.bytes, synced))
		}
	}
	return c
}

// judgeR2 compares the medium with its row, or with each row if its kind is unknown.
func judgeR2(ev *evidence) judgement {
	type gain struct{ small, large run.Estimate }
	var gains []gain
	text := ""
	for _, synced := range []bool{false, true} {
		for _, p := range r2Pieces {
			id := idOf(r2(1, p.name, p.bytes, synced))
			g := gain{ev.speedup(id, r2Small), ev.speedup(id, r2Large)}
			gains = append(gains, g)
			text += fmt.Sprintf("Pieces of %s, %s: without a buffer %s, with 4 KiB %s as fast, with 64 KiB %s. ", p.name,
				map[bool]string{false: "not synced", true: "synced"}[synced], megabytes(r2Bytes, ev.time(id, r2None)), factor(g.small), factor(g.large))
		}
	}
	row := func(m medium) (answers []answer) {
		for _, g := range gains {
			a, mixed := together(near(g.small, m.small), near(g.large, m.large))
			if mixed {
				a = no // half a row does not count
			}
			answers = append(answers, a)
		}
		return answers
	}
	const how = "A buffer had to have its claimed gain to within 25 %, for pieces smaller than both buffers and as large as the larger, with and without a sync; the claim names neither. Without a sync the page cache takes all data, and the medium is not measured. "
	on := "the size of the pieces, and whether the file is synced"
	m, unknown := mediumOf(ev.place.Environment)
	if unknown == "" {
		return decide(text, how+fmt.Sprintf("The row of %s was tested, the other media were not.", m.kind), on, row(m)...)
	}
	why := how + "The row of this medium is unknown (" + unknown + "), so each was tried; the others need a directory on such a medium."
	fits, unsure := "", false
	for _, m := range r2Media {
		answers := row(m)
		if slices.Contains(answers, yes) {
			fits += fmt.Sprintf(", %s in %d of %d experiments", m.kind, count(answers, yes), len(answers))
		}
		unsure = unsure || slices.Contains(answers, cannotTell)
	}
	switch {
	case fits != "":
		return ruled(strings.TrimSpace(text), Depends, "on the medium, "+on+". It fits the row"+fits[1:]+". "+why)
	case unsure:
		return ruled(strings.TrimSpace(text), CannotTest, tooWide+why)
	}
	return ruled(strings.TrimSpace(text), DoesNotHold, "No experiment fits any row. "+why)
}

func count(answers []answer, of answer) (n int) {
	for _, a := range answers {
		if a == of {
			n++
		}
	}
	return n
}

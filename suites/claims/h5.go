package claims

import (
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/syncs"
)

// The variants of H5.
const (
	h5OSync   = "O_SYNC"
	h5ODSync  = "O_DSYNC"
	h5Batched = "one fsync at 64 KiB"
)

const (
	h5Piece = 4 << 10  // of a write
	h5Batch = 64 << 10 // made durable in one operation
	h5File  = 16 << 20 // the file that is overwritten
)

// h5 writes 64 KiB durably in pieces of 4 KiB: all three ways promise the same at the end of
// an operation. overwrite: into a file that has its size and its blocks already, so that
// only O_SYNC has metadata to write: the times (open(2), NOTES on synchronized I/O).
func h5(overwrite bool) lab.Experiment {
	variant := func(name, doc string, flags int, fsync bool) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: powerTorn, Run: inDir(func(b *lab.B) error {
			if flags == 0 && !fsync { // this system has no such flag
				return fmt.Errorf("%s: %w", name, errors.ErrUnsupported)
			}
			if overwrite {
				if err := datafile.Fill("data", h5File); err != nil {
					return err
				}
			}
			f, err := os.OpenFile("data", os.O_CREATE|os.O_WRONLY|flags, 0o644)
			if err != nil {
				return err
			}
			piece := headers.Head(h5Piece)
			err = datafile.SyncDir(".")
			b.SetBytes(h5Batch)
			for err == nil && b.Loop() {
				err = writePieces(f, piece, b.I()*h5Batch, overwrite)
				if err == nil && fsync {
					err = f.Sync()
				}
			}
			return errors.Join(err, f.Close())
		})}
	}
	e := lab.Experiment{
		Suite: "claims", Name: "H5-append", Question: "Which way of making many small writes durable is fastest?",
		Op: "64 KiB in pieces of 4 KiB at the end of a file, then durable", MaxOps: 2_000, MaxRounds: 12,
		// The middle of the claimed order is the baseline: both of its steps are paired comparisons.
		Variants: firstIsBaseline(
			variant(h5ODSync, "each write returns when the data, and the metadata needed to read it, are durable", fileop.DataSync, false),
			variant(h5OSync, "each write returns when data and all metadata are durable", os.O_SYNC, false),
			variant(h5Batched, "plain writes, and one fsync for all 16", 0, true)),
	}
	if overwrite {
		e.Name = "H5-overwrite"
		e.Op = "64 KiB in pieces of 4 KiB over old data, then durable"
	}
	return e
}

func writePieces(f *os.File, piece []byte, off int64, wrap bool) error {
	if wrap {
		off %= h5File
	}
	for end := off + h5Batch; off < end; off += int64(len(piece)) {
		if _, err := f.WriteAt(piece, off); err != nil {
			return err
		}
	}
	return nil
}

func claimH5() Claim {
	grow, over := h5(false), h5(true)
	return Claim{
		ID: "H5",
		Source: reportH.source("4.2",
			"O_DSYNC costs less than O_SYNC but does not keep the file size at once, and writes of 4 KB with an fsync at 64 KB suit high throughput."),
		Statement:   "O_SYNC each write (A); O_DSYNC each write (B); pieces of 4 KiB with one fsync at 64 KiB (C); the size of a file after an append with O_DSYNC and a power cut",
		Claimed:     "B costs less than A, C has the best throughput; B does not keep the size at once",
		Promise:     "power, torn, all variants: 64 KiB survive a power cut at the end of an operation; with one fsync, none of it before",
		Experiments: append([]lab.Experiment{grow, over}, experiments(r11Local, r11Systems...)...),
		Needs:       onDisk,
		judge:       func(ev *evidence) judgement { return judgeH5(ev, grow.ID(), over.ID()) },
	}
}

func judgeH5(ev *evidence, grow, over string) judgement {
	var parts []part
	for _, c := range []struct{ cond, id string }{{"appending", grow}, {"overwriting", over}} {
		osync, dsync, batched := ev.time(c.id, h5OSync), ev.time(c.id, h5ODSync), ev.time(c.id, h5Batched)
		piece := func(e run.Estimate) string { return nanos(scaled(e, float64(h5Piece)/h5Batch)) }
		rate := func(e run.Estimate) string { return units.Decimal(h5Batch/e.Median*1e9) + "/s" }
		parts = append(parts,
			direction("B against A, the time of a write", ev.ratio(c.id, h5OSync, h5ODSync)).under(c.cond).
				note(fmt.Sprintf("%s against %s", piece(dsync), piece(osync))),
			direction("C against B, throughput", ev.ratio(c.id, h5ODSync, h5Batched)).under(c.cond).
				note(fmt.Sprintf("%s against %s", rate(batched), rate(dsync))).note(notSameJob+": C acknowledges a piece before it is durable"))
	}
	for _, fs := range r11Systems {
		parts = append(parts, ev.h5Size(fs))
	}
	return ruling("Latency is the time to make 64 KiB durable, divided by its pieces. The size was tested by power cuts: an append under O_DSYNC that was acknowledged, and every write since the last flush dropped or kept at will. open(2) says that O_DSYNC keeps the size where it is needed to read the data.", parts...)
}

// h5Size asks whether an acknowledged append under O_DSYNC is lost with its size, as claimed.
func (ev *evidence) h5Size(fs string) part {
	const what = "an acknowledged append under O_DSYNC loses its size at a power cut"
	id := idOf(r11Local(fs))
	if why := ev.failed(id); why != "" {
		return lacking(what, fs+": "+why).under(fs)
	}
	lost, cuts := ev.metric(id, syncs.WayODsync, lostMetric(power.Appended)).Median, ev.metric(id, syncs.WayODsync, cutsMetric(power.Appended)).Median
	switch {
	case math.IsNaN(cuts): // there was no round
		return part{what: what}.untestable().under(fs)
	case cuts == 0:
		return lacking(what, "a power cut after an append on "+fs).under(fs)
	}
	return fact(what, lost > 0, fmt.Sprintf("lost in %.0f of %.0f cuts", lost, cuts)).under(fs)
}

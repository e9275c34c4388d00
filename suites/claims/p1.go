package claims

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// The variants of P1.
const (
	p1Close = "write, Close"
	p1Sync  = "write, Sync, Close, sync of the directory"
)

const (
	pCuts  = 30      // power cuts of a variant
	pSteps = 12      // files, or versions of the one file
	pBytes = 8 << 10 // of a file
)

// cutVariant is a variant that does work on a fresh file system, cuts the power pCuts times,
// and counts the cuts after which check finds a loss.
func cutVariant(name, doc, system string, level durability.Level, after durability.After, prepare func(dir string) error,
	work func(dir string, ack func(int)) error, check func(dir string, acked []int) (map[string]bool, error)) lab.Variant {
	return lab.Variant{Name: name, Doc: doc, Promise: job.Promise(level, after), Run: func(b *lab.B) error {
		for b.Loop() {
			rec, err := power.Record(power.Options{FS: system, Seed: b.Rand.Uint64() | 1, Prepare: prepare}, work)
			if errors.Is(err, crashtest.ErrUnavailable) {
				return fmt.Errorf("cut the power: %w: %w", errors.ErrUnsupported, err)
			}
			if err != nil {
				return err
			}
			lost := map[string]int{}
			res, err := rec.Check(pCuts, func(dir string, acked []int) error {
				found, err := check(dir, acked)
				for what, is := range found {
					if is {
						lost[what]++
					} else {
						lost[what] += 0
					}
				}
				return err
			})
			if err = errors.Join(err, rec.Close()); err != nil {
				return err
			}
			if len(res.Lost) > 0 {
				return res.Lost[0].Err
			}
			b.Report(cutsMade, float64(res.Cuts))
			for what, n := range lost {
				b.Report(what, float64(n))
			}
		}
		return nil
	}}
}

func p1(system string) lab.Experiment {
	name := func(i int) string { return fmt.Sprintf("file%d", i) }
	work := func(sync bool) func(dir string, ack func(int)) error {
		return func(dir string, ack func(int)) error {
			for i := range pSteps {
				f, err := os.Create(filepath.Join(dir, name(i)))
				if err != nil {
					return err
				}
				_, err = f.Write(headers.Head(pBytes))
				if sync {
					err = errors.Join(err, f.Sync())
				}
				if err = errors.Join(err, f.Close()); err == nil && sync {
					err = datafile.SyncDir(dir)
				}
				if err != nil {
					return err
				}
				ack(i)
			}
			return nil
		}
	}
	check := func(dir string, acked []int) (map[string]bool, error) {
		lost := false
		for _, i := range acked {
			text, err := os.ReadFile(filepath.Join(dir, name(i)))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, err
			}
			lost = lost || !bytes.Equal(text, headers.Head(pBytes))
		}
		return map[string]bool{cutsLost: lost}, nil
	}
	return lab.Experiment{
		Suite: "claims", Name: "P1", Params: run.Params{"fs": system}, Question: "Does Close put data on the disk?",
		Op:  fmt.Sprintf("%d files written and closed on a fresh %s, and %d power cuts", pSteps, system, pCuts),
		Ops: 1, MaxRounds: 1,
		Variants: firstIsBaseline(
			cutVariant(p1Close, "Close and no sync", system, durability.Kill, durability.Torn, nil, work(false), check),
			cutVariant(p1Sync, "the file and its directory are synced", system, durability.Power, durability.Torn, nil, work(true), check)),
	}
}

func claimP1() Claim {
	return Claim{
		ID:          "P1",
		Source:      reportP.source("", "Close puts the data of a file on the disk."),
		Statement:   "files written and closed, then a power cut",
		Claimed:     "on the disk",
		Promise:     "kill, torn with Close alone; power, torn with a sync of file and directory",
		Experiments: experiments(p1, cutSystems...),
		judge:       judgeP1,
	}
}

func judgeP1(ev *evidence) judgement {
	var parts []part
	for _, fs := range cutSystems {
		id := idOf(p1(fs))
		const kept = "closed files are whole after a power cut"
		if why := ev.failed(id); why != "" {
			parts = append(parts, lacking(kept, why).under(fs))
			continue
		}
		parts = append(parts, ev.keptAfterCuts(kept, id, p1Close).under(fs),
			ev.keptAfterCuts("the same, with a sync of file and directory", id, p1Sync).under(fs).onlyShown())
	}
	return ruling("Shown by dropped writes: the file system is on a device that logs every write and flush. close(2) flushes nothing.", parts...)
}

package claims

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
)

// The variants of P2.
const (
	p2None = "without a sync"
	p2One  = "a sync of the temporary file"
	p2Two  = "a sync of the temporary file, one of the directory"
)

var p2Ways = []string{p2None, p2One, p2Two}

// p2Torn counts the cuts that left neither the old nor the new content.
const p2Torn = "cuts_with_neither"

// p2Version is the content of version i: pBytes bytes that tell it.
func p2Version(i int) []byte { return bytes.Repeat([]byte{byte('a' + i)}, pBytes) }

func p2(system string) lab.Experiment {
	prepare := func(dir string) error { return os.WriteFile(filepath.Join(dir, "file"), p2Version(0), 0o644) }
	work := func(way string) func(dir string, ack func(int)) error {
		return func(dir string, ack func(int)) error {
			for i := 1; i <= pSteps; i++ {
				temp := filepath.Join(dir, "temp")
				f, err := os.Create(temp)
				if err != nil {
					return err
				}
				_, err = f.Write(p2Version(i))
				if way != p2None {
					err = errors.Join(err, f.Sync())
				}
				if err = errors.Join(err, f.Close()); err == nil {
					err = os.Rename(temp, filepath.Join(dir, "file"))
				}
				if err == nil && way == p2Two {
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
		text, err := os.ReadFile(filepath.Join(dir, "file"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		version := -1
		for i := range pSteps + 1 {
			if bytes.Equal(text, p2Version(i)) {
				version = i
			}
		}
		return map[string]bool{p2Torn: version < 0, cutsLost: version < len(acked)}, nil
	}
	e := lab.Experiment{
		Suite: "claims", Name: "P2", Params: run.Params{"fs": system}, Question: "Does a temporary file renamed over the old one survive a power cut?",
		Op:  fmt.Sprintf("a file replaced %d times on a fresh %s, and %d power cuts", pSteps, system, pCuts),
		Ops: 1, MaxRounds: 1,
	}
	levels := map[string]durability.Level{p2None: durability.Kill, p2One: durability.Kill, p2Two: durability.Power}
	for _, way := range p2Ways {
		e.Variants = append(e.Variants, cutVariant(way, "write to a temporary file, rename, "+way, system, levels[way], durability.OldOrNew, prepare, work(way), check))
	}
	e.Variants = firstIsBaseline(e.Variants...)
	return e
}

func claimP2() Claim {
	return Claim{
		ID:          "P2",
		Source:      reportP.source("", "A temporary file renamed over the old one survives a power cut."),
		Statement:   "a file replaced by writing a temporary file and renaming it over the old one: without syncs, with one, with two; then a power cut",
		Claimed:     "the old or the new content is there, whole; the new one once rename has returned",
		Promise:     "kill, old or new without a sync and with one; power, old or new with two",
		Experiments: experiments(p2, cutSystems...),
		judge:       judgeP2,
	}
}

func judgeP2(ev *evidence) judgement {
	var parts []part
	for _, fs := range cutSystems {
		id := idOf(p2(fs))
		const whole, newest = "the file is whole, old or new", "the new content is there"
		for _, way := range p2Ways {
			condition := way + ", " + fs
			if why := ev.failed(id); why != "" {
				parts = append(parts, lacking(whole, why).under(condition), lacking(newest, why).under(condition))
				continue
			}
			torn := ev.keptAfterCuts(whole, id, way)
			if n := ev.metric(id, way, p2Torn).Median; torn.answer != untested {
				torn = fact(whole, n == 0, fmt.Sprintf("%.0f of %.0f power cuts left neither", n, ev.metric(id, way, cutsMade).Median))
			}
			parts = append(parts, torn.under(condition), ev.keptAfterCuts(newest, id, way).under(condition))
		}
	}
	return ruling("Shown by dropped writes: the file system is on a device that logs every write and flush. A rename that returned is acknowledged.", parts...)
}

package claims

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/suites/wals"
)

// cutSystems are the file systems on which claims cut the power. Each block makes its own, on
// any place.
var cutSystems = []string{"ext4", "xfs", "btrfs"}

// Metrics of blocks that cut the power: how many cuts there were, and how many of them lost
// something that was acknowledged.
const (
	cutsMade = "cuts"
	cutsLost = "cuts_with_loss"
)

// l10Cuts is how often the power is cut, and l10Records how many records are appended.
const (
	l10Cuts    = 30
	l10Records = 200
)

// l10Cut appends records from eight goroutines and cuts the power: each answered record must
// be in the log.
func l10Cut(system string) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "L10-cut", Params: run.Params{"fs": system},
		Question: "Are answered records there after a power cut?",
		Op:       fmt.Sprintf("%d records of 1 KiB by 8 appenders on a fresh %s, and %d power cuts", l10Records, system, l10Cuts),
		Ops:      1, MaxRounds: 1,
	}
	for _, w := range l10Ways() {
		e.Variants = append(e.Variants, lab.Variant{
			Name: w.Name, Doc: w.Doc, Promise: w.Promise, Baseline: w.Baseline,
			Run: func(b *lab.B) error {
				for b.Loop() {
					res, err := l10CutWay(b, system, w)
					if errors.Is(err, crashtest.ErrUnavailable) {
						return fmt.Errorf("cut the power: %w: %w", errors.ErrUnsupported, err)
					}
					if err != nil {
						return err
					}
					b.Report(cutsMade, float64(res.Cuts))
					b.Report(cutsLost, float64(len(res.Lost)))
				}
				return nil
			},
		})
	}
	return e
}

func l10CutWay(b *lab.B, system string, w wals.Way) (res power.Result, err error) {
	const appenders = 8
	rec, err := power.Record(power.Options{FS: system, Seed: b.Rand.Uint64() | 1}, func(dir string, ack func(string)) error {
		l, err := w.Open(job.Site{Dir: dir, Ops: l10Records, Size: 1 << 10})
		if err != nil {
			return err
		}
		var all sync.WaitGroup
		errs := make([]error, appenders)
		for i := range appenders {
			all.Go(func() {
				for n := 0; n < l10Records/appenders && errs[i] == nil; n++ {
					name := l10Name(i, n)
					if errs[i] = l.Append(l10Record(name)); errs[i] == nil {
						ack(name)
					}
				}
			})
		}
		all.Wait()
		return errors.Join(errors.Join(errs...), l.Close())
	})
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, rec.Close()) }()
	return rec.Check(l10Cuts, func(dir string, acked []string) error {
		for _, name := range acked {
			if err := l10Has(dir, name); err != nil {
				return err
			}
		}
		return nil
	})
}

func l10Name(appender, n int) string { return fmt.Sprintf("<record %d of appender %d>", n, appender) }

// l10Record is a record of 1 KiB that begins with its name.
func l10Record(name string) []byte {
	rec := headers.Head(1 << 10)
	copy(rec, name)
	return rec
}

// l10Has looks for a whole record in the files below dir.
func l10Has(dir, name string) error {
	want := string(l10Record(name))
	found := false
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || found || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		found = found || strings.Contains(string(text), want)
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("%s was answered and is lost", name)
	}
	return err
}

package suites

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/wal"
)

// walBytes bounds what a block appends.
const walBytes = 256 << 20

// walFull is the suite wal. The logs that are opened have their published size
// divided by s.
func walFull(s scale) []lab.Experiment {
	var list []lab.Experiment
	for _, size := range []int{64, 1 << 10, 16 << 10} {
		for _, appenders := range []int{1, 16, 64, 1024} {
			list = append(list, walAppend(appenders, size))
		}
	}
	list = append(list, walScale())
	for _, appenders := range []int{1, 16, 64, 1024} {
		list = append(list, walDelay(appenders))
	}
	for _, state := range []string{cacheWarm, cacheCold} {
		list = append(list, walOpen(s, state))
	}
	return list
}

// walQuick is what best shows what the suite is about: a lone appender, and
// many that share syncs.
func walQuick() []lab.Experiment {
	e := walScale()
	keep := []string{by(wayLone, 1), by(wayAppend, 1), by(wayGroup, 64), by(wayAppend, 64)}
	e.Variants = slices.DeleteFunc(e.Variants, func(v lab.Variant) bool { return !slices.Contains(keep, v.Name) })
	return []lab.Experiment{e}
}

// walExperiment is what the experiments have in common that append.
func walExperiment(name string, size int) lab.Experiment {
	return lab.Experiment{
		Suite: "wal", Name: name, Params: lab.Params{"size": strconv.Itoa(size)},
		Op:     fmt.Sprintf("one record of %s, until it is acknowledged", bytesText(size)),
		MaxOps: min(1_000_000, walBytes/int64(size)),
		// An append takes as long at the end of a log as at its beginning. If a
		// way that syncs each record decided how many there are, one that
		// shares syncs would be done after one.
		Stateless: true,
	}
}

// walAppend is records that appenders add as fast as they can, by every way.
func walAppend(appenders, size int) lab.Experiment {
	e := walExperiment("append", size)
	e.Params["appenders"] = strconv.Itoa(appenders)
	e.Question = fmt.Sprintf("Which log takes records of %s from %s fastest?", bytesText(size), appendersText(appenders))
	for _, w := range walWays() {
		e.Variants = append(e.Variants, w.Variant(&e))
	}
	return e
}

// walScale is few ways from more and more appenders.
func walScale() lab.Experiment {
	e := walExperiment("scale", 1<<10)
	e.Question = "What does a log gain from more appenders?"
	for _, w := range walWays() {
		if w.Level != durability.Power || w.Name != wayLone && w.Name != wayGroup && w.Name != wayAppend {
			continue
		}
		for _, appenders := range []int{1, 16, 64, 1024} {
			v := w.by(appenders)
			v.Name = by(w.Name, appenders)
			v.Baseline = w.Baseline && appenders == 1
			e.Variants = append(e.Variants, v)
		}
	}
	return e
}

// by names a variant of experiment scale.
func by(way string, appenders int) string { return way + ", " + appendersText(appenders) }

// walDelay is flushes that wait for more records.
func walDelay(appenders int) lab.Experiment {
	e := walExperiment("delay", 1<<10)
	e.Params["appenders"] = strconv.Itoa(appenders)
	e.Question = fmt.Sprintf("What does it cost or gain %s if a flush waits for more?", appendersText(appenders))
	for _, delay := range []time.Duration{0, 50 * time.Microsecond, 200 * time.Microsecond, time.Millisecond, 5 * time.Millisecond} {
		w := stele("MaxDelay "+delay.String(), "a flush waits so long for more", wal.Options{MaxDelay: delay})
		w.Baseline = delay == 0
		e.Variants = append(e.Variants, w.Variant(&e))
	}
	return e
}

// bytesText is a size in the largest unit that has no fraction.
func bytesText(n int) string {
	if n < 1<<10 {
		return strconv.Itoa(n) + " bytes"
	}
	return sizeName(n)
}

func appendersText(n int) string {
	return strings.Replace(goroutinesText(n), "goroutine", "appender", 1)
}

// Variant makes a variant of an experiment of suite wal that has the parameter
// appenders.
func (w WALWay) Variant(e *lab.Experiment) lab.Variant {
	n, err := strconv.Atoi(e.Params["appenders"])
	if err != nil || n < 1 || n > 1<<16 {
		v := w.by(1)
		v.Run = func(*lab.B) error {
			return fmt.Errorf("parameter appenders=%q: want a number from 1 to %d", e.Params["appenders"], 1<<16)
		}
		return v
	}
	return w.by(n)
}

// by is a variant with so many appenders.
func (w WALWay) by(appenders int) lab.Variant {
	return lab.Variant{
		Name: w.Name, Doc: w.Doc, Promise: promise(w.Level, w.After), Baseline: w.Baseline,
		Run: func(b *lab.B) (err error) {
			size, err := sizeParam(b)
			if err != nil {
				return err
			}
			l, err := w.Open(b.Dir, b.N, size)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, l.close()) }()
			data := make([]byte, size+1<<10) // records begin anywhere in the first KiB
			for i := range data {
				data[i] = byte(b.Rand.Uint32())
			}
			b.SetBytes(int64(size))
			return b.Parallel(appenders, func(w *lab.Worker) error {
				for w.Loop() {
					from := (w.I()*7 + int64(w.ID)) & (1<<10 - 1)
					if err := l.Append(data[from : from+int64(size)]); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

// Package wals asks which write-ahead log takes records fastest, and how long it takes
// to open one again: suite wal.
package wals

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/wal"
)

// walBytes bounds what a block appends.
const walBytes = 256 << 20

// Full is the suite wal. The logs that are opened have their published size
// divided by s.
func Full(s job.Scale) []lab.Experiment {
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
	for _, state := range []string{datafile.Warm, datafile.Cold} {
		list = append(list, walOpen(s, state))
	}
	return list
}

// Quick is what best shows what the suite is about: a lone appender, and
// many that share syncs.
func Quick() []lab.Experiment {
	e := walScale()
	keep := []string{by(wayLone, 1), by(WayAppend, 1), by(WayGroup, 64), by(WayAppend, 64)}
	e.Variants = slices.DeleteFunc(e.Variants, func(v lab.Variant) bool { return !slices.Contains(keep, v.Name) })
	return []lab.Experiment{e}
}

// Experiment is what the experiments have in common that append.
func Experiment(name string, size int) lab.Experiment {
	return lab.Experiment{
		Suite: "wal", Name: name, Params: run.Params{"size": strconv.Itoa(size)},
		Op:     fmt.Sprintf("one record of %s, until it is acknowledged", job.BytesText(size)),
		MaxOps: min(1_000_000, walBytes/int64(size)),
		// An append takes as long at the end of a log as at its beginning. If a
		// way that syncs each record decided how many there are, one that
		// shares syncs would be done after one.
		Stateless: true,
	}
}

// walAppend is records that appenders add as fast as they can, by every way.
func walAppend(appenders, size int) lab.Experiment {
	e := Experiment("append", size)
	e.Params["appenders"] = strconv.Itoa(appenders)
	e.Question = fmt.Sprintf("Which log takes records of %s from %s fastest?", job.BytesText(size), job.Appenders(appenders))
	for _, w := range walWays() {
		e.Variants = append(e.Variants, w.Variant(&e))
	}
	return e
}

// walScale is few ways from more and more appenders.
func walScale() lab.Experiment {
	e := Experiment("scale", 1<<10)
	e.Question = "What does a log gain from more appenders?"
	for _, w := range walWays() {
		if w.Level != durability.Power || w.Name != wayLone && w.Name != WayGroup && w.Name != WayAppend {
			continue
		}
		for _, appenders := range []int{1, 16, 64, 1024} {
			v := w.By(appenders)
			v.Name = by(w.Name, appenders)
			v.Baseline = w.Baseline && appenders == 1
			e.Variants = append(e.Variants, v)
		}
	}
	return e
}

// by names a variant of experiment scale.
func by(way string, appenders int) string { return way + ", " + job.Appenders(appenders) }

// walDelay is flushes that wait for more records.
func walDelay(appenders int) lab.Experiment {
	e := Experiment("delay", 1<<10)
	e.Params["appenders"] = strconv.Itoa(appenders)
	e.Question = fmt.Sprintf("What does it cost or gain %s if a flush waits for more?", job.Appenders(appenders))
	for _, delay := range []time.Duration{0, 50 * time.Microsecond, 200 * time.Microsecond, time.Millisecond, 5 * time.Millisecond} {
		w := Stele("MaxDelay "+delay.String(), "a flush waits so long for more", wal.Options{MaxDelay: delay})
		w.Baseline = delay == 0
		e.Variants = append(e.Variants, w.Variant(&e))
	}
	return e
}

// Variant makes a variant of an experiment of suite wal that has the parameter
// appenders.
func (w Way) Variant(e *lab.Experiment) lab.Variant {
	n, err := strconv.Atoi(e.Params["appenders"])
	if err != nil || n < 1 || n > 1<<16 {
		v := w.By(1)
		v.Run = func(*lab.B) error {
			return fmt.Errorf("parameter appenders=%q: want a number from 1 to %d", e.Params["appenders"], 1<<16)
		}
		return v
	}
	return w.By(n)
}

// By is a variant with so many appenders.
func (w Way) By(appenders int) lab.Variant {
	return lab.Variant{
		Name: w.Name, Doc: w.Doc, Promise: job.Promise(w.Level, w.After), Baseline: w.Baseline,
		Run: func(b *lab.B) (err error) {
			size, err := job.Size(b)
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

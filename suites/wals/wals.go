// Package wals asks which write-ahead log takes records fastest, and how long it takes
// to open one again: suite wal.
package wals

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/wal"
)

// bytesPerBlock bounds what a block appends.
const bytesPerBlock = 256 << 20

// Full returns the experiments of the suite. The logs that are opened have their
// published size divided by s.
func Full(s job.Scale) []lab.Experiment {
	var delays, opens []lab.Experiment
	for _, appenders := range []int{1, 16, 64, 1024} {
		delays = append(delays, delaying(appenders))
	}
	for _, state := range []string{datafile.Warm, datafile.Cold} {
		opens = append(opens, reopening(s, state))
	}
	return slices.Concat(job.Build(Jobs()), []lab.Experiment{scaling()}, delays, opens)
}

// Quick returns the experiment that shows best what the suite is about: a lone
// appender, and many that share syncs.
func Quick() []lab.Experiment {
	return []lab.Experiment{job.Only(scaling(), by(wayLone, 1), by(WayAppend, 1), by(WayGroup, 64), by(WayAppend, 64))}
}

// Jobs returns the jobs in which logs other than Stele's can take part: records that
// appenders add as fast as they can.
func Jobs() []job.Job[Log] {
	var list []job.Job[Log]
	for _, size := range []int{64, 1 << 10, 16 << 10} {
		for _, appenders := range []int{1, 16, 64, 1024} {
			list = append(list, appends(appenders, size))
		}
	}
	return list
}

// Experiment returns the fields that the experiments of appends have in common.
func Experiment(name string, size int) lab.Experiment {
	return lab.Experiment{
		Suite: "wal", Name: name, Params: run.Params{"size": strconv.Itoa(size)},
		Op:     fmt.Sprintf("one record of %s, until it is acknowledged", units.Size(int64(size))),
		MaxOps: min(1_000_000, bytesPerBlock/int64(size)),
		// An append takes as long at the end of a log as at its beginning. If a way
		// that syncs each record set the number of operations, one that shares syncs
		// would be done after one sync.
		Stateless: true,
	}
}

func appends(appenders, size int) job.Job[Log] {
	e := Experiment("append", size)
	e.Params["appenders"] = strconv.Itoa(appenders)
	e.Question = fmt.Sprintf("Which log takes records of %s from %s fastest?", units.Size(int64(size)), units.Count(appenders, "appender"))
	j := Appending(e)
	j.Ways = ways()
	return j
}

// scaling compares a few ways, each with more and more appenders.
func scaling() lab.Experiment {
	e := Experiment("scale", 1<<10)
	e.Question = "What does a log gain from more appenders?"
	for _, w := range ways() {
		if w.Promise.Level != durability.Power || w.Name != wayLone && w.Name != WayGroup && w.Name != WayAppend {
			continue
		}
		for _, appenders := range []int{1, 16, 64, 1024} {
			v := AppendingFrom(appenders, e).Variant(w)
			v.Name = by(w.Name, appenders)
			v.Baseline = w.Baseline && appenders == 1
			e.Variants = append(e.Variants, v)
		}
	}
	return e
}

// by returns the name of a variant of experiment scale.
func by(way string, appenders int) string { return way + ", " + units.Count(appenders, "appender") }

// delaying compares flushes that wait for more records.
func delaying(appenders int) lab.Experiment {
	e := Experiment("delay", 1<<10)
	e.Params["appenders"] = strconv.Itoa(appenders)
	e.Question = fmt.Sprintf("What does it cost or gain %s if a flush waits for more?", units.Count(appenders, "appender"))
	j := Appending(e)
	for _, delay := range []time.Duration{0, 50 * time.Microsecond, 200 * time.Microsecond, time.Millisecond, 5 * time.Millisecond} {
		w := Stele("MaxDelay "+delay.String(), "a flush waits so long for more", wal.Options{MaxDelay: delay})
		w.Baseline = delay == 0
		j.Ways = append(j.Ways, w)
	}
	return j.Build()
}

// Appending returns the job of appending records of the parameter size from as many
// goroutines as the parameter appenders says.
func Appending(e lab.Experiment) job.Job[Log] {
	return appending(e, func(b *lab.B) (int, error) { return job.Int(b, "appenders", 1, 1<<16) })
}

// AppendingFrom is Appending with so many appenders.
func AppendingFrom(appenders int, e lab.Experiment) job.Job[Log] {
	return appending(e, func(*lab.B) (int, error) { return appenders, nil })
}

func appending(e lab.Experiment, appenders func(*lab.B) (int, error)) job.Job[Log] {
	return job.Job[Log]{
		Experiment: e,
		Site: func(b *lab.B) (job.Site, func() error, error) {
			size, err := job.Size(b)
			return job.Site{Dir: b.Dir, Ops: b.N, Size: size}, nil, err
		},
		Run: func(b *lab.B, at job.Site, l Log) error {
			n, err := appenders(b)
			if err != nil {
				return err
			}
			return appendAll(b, l, n, at.Size)
		},
		Close: Log.close,
	}
}

func appendAll(b *lab.B, l Log, appenders, size int) error {
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
}

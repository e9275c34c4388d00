// Package tuning has the choices that stele tune makes: for each setting of a profile
// the experiments that decide it, and the rule.
package tuning

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/profile"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/suites/wals"
	"github.com/stele-go/stele/wal"
)

// A Choice is one that stele tune makes for a profile: the settings, and the loads
// under which they are compared.
type Choice struct {
	// Field is the field of the profile: "wal.sync". The part of the profile,
	// before the dot, is a name under which stele tune can be asked for the choice.
	Field    string
	Question string
	// Default describes the setting that holds if the profile has none. It follows
	// the words "the default, ".
	Default string
	// Settings are the alternatives. The first is the default, or the one closest to
	// it. All promise the same.
	Settings []Setting
	// Loads are the jobs at which the settings are measured.
	Loads []Load
	// later is the metric of the work after the operation that a setting may make
	// dearer, laterLoad its name. It decides nothing, and is shown with the setting.
	later, laterLoad string
	// knee is set if the settings are numbers and the smallest that brings nearly
	// all there is to gain is wanted. Then there is one load, a surface.
	knee bool
}

// Part returns the part of the profile that has the field: "wal".
func (c *Choice) Part() string {
	part, _, _ := strings.Cut(c.Field, ".")
	return part
}

// A Setting is one of the ways of a Choice.
type Setting struct {
	Name string // of the variants that measure it
	Doc  string
	// set puts the setting into a profile. It is nil for the default.
	set func(p *profile.Profile)
	// Says is the line of the profile, as a person reads it: "wal.max_delay 1ms".
	Says string
	// Later is a cost that the measured operations do not have, or "".
	Later string
}

// A Load is a job that the settings of a Choice are measured at. Its variants
// have the names of the settings.
type Load struct {
	Name       string // "64 appenders, records of 1 KiB"
	experiment lab.Experiment
}

// Choices returns the choices that stele tune makes, the ones that matter most
// first. appenders is the number of appenders that logs will have: 1, 16, 64 or 256,
// or 0 if it is not known. Then a setting has to suit all of them.
func Choices(appenders int) []Choice { return choices(1, appenders) }

// Appenders returns the numbers of appenders that Choices knows.
func Appenders() []int { return []int{1, 16, 64, 256} }

func choices(s job.Scale, appenders int) []Choice {
	return []Choice{
		tuneWALSync(s),
		tuneWALDelay(s, appenders),
		tuneWriteWay(s),
		tuneWriteSync(s),
		tuneSequential(s),
		tuneRandom(s),
		tuneHeader(s),
		tuneShards(),
		tuneParallel(s),
		tuneGoroutines(),
	}
}

// Experiments returns every experiment that a block of stele tune may run.
func Experiments() []lab.Experiment {
	var all []lab.Experiment
	for _, c := range Choices(0) {
		all = append(all, c.Experiments()...)
	}
	return all
}

// Experiments returns the experiments of the loads.
func (c *Choice) Experiments() []lab.Experiment {
	var all []lab.Experiment
	for _, l := range c.Loads {
		all = append(all, l.experiment)
	}
	return all
}

// load adds a job. e needs neither Suite nor Question; its variants are made of
// the settings, the first of which is the baseline.
func (c *Choice) load(name string, e lab.Experiment, variant func(s Setting, e *lab.Experiment) lab.Variant) {
	e.Suite, e.Name = "tune", strings.ReplaceAll(c.Field, "_", "-")
	e.Question = c.Question
	for i, s := range c.Settings {
		v := variant(s, &e)
		v.Name, v.Doc, v.Baseline = s.Name, s.Doc, i == 0
		e.Variants = append(e.Variants, v)
	}
	c.Loads = append(c.Loads, Load{name, e})
}

// The size of a record stands for small and for large ones.
const (
	tuneSmall = 1 << 10
	tuneLarge = 64 << 10
)

// tuneWALSync chooses how a log makes records durable.
func tuneWALSync(s job.Scale) Choice {
	c := Choice{
		Field:    "wal.sync",
		Question: "Which mechanism makes the records of a log durable fastest?",
		Default:  "which leaves it to the log: it tries them when it is opened, with 1 appender and 1 KiB",
	}
	add := func(m wal.Mechanism, doc string) {
		c.Settings = append(c.Settings, Setting{
			Name: string(m), Doc: doc, Says: "wal.sync " + string(m),
			set: func(p *profile.Profile) { p.WAL.Sync = string(m) },
		})
	}
	add(wal.SyncFdatasync, "pwrite, fdatasync")
	add(wal.SyncDsync, "pwritev2 with RWF_DSYNC")
	add(wal.SyncDirect, "O_DIRECT and RWF_DSYNC, whole blocks")
	for _, size := range []int{tuneSmall, tuneLarge} {
		for _, appenders := range []int{1, 64} {
			e := tuneWALExperiment(s, size, appenders)
			c.load(units.Count(appenders, "appender")+", records of "+units.Size(int64(size)), e, func(set Setting, e *lab.Experiment) lab.Variant {
				return tuneWALVariant(s, size, appenders, wal.Options{Sync: wal.Mechanism(set.Name)})
			})
		}
	}
	return c
}

// tuneWALDelay chooses the window of group commit. It is measured with
// fdatasync, which every file system has.
func tuneWALDelay(s job.Scale, only int) Choice {
	c := Choice{
		Field:    "wal.max_delay",
		Question: "Is a log faster if a flush waits for more records?",
		Default:  "none: a flush takes what came while the one before it was under way",
	}
	delays := map[string]time.Duration{}
	for _, d := range []time.Duration{0, 100 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2 * time.Millisecond} {
		set := Setting{Name: "no window", Doc: "wal.Options.MaxDelay 0"}
		if d > 0 {
			set = Setting{
				Name: "window " + d.String(), Doc: "wal.Options.MaxDelay " + d.String(), Says: "wal.max_delay " + d.String(),
				set: func(p *profile.Profile) { p.WAL.MaxDelay = d },
			}
		}
		delays[set.Name] = d
		c.Settings = append(c.Settings, set)
	}
	for _, appenders := range Appenders() {
		if only != 0 && appenders != only {
			continue
		}
		c.load(units.Count(appenders, "appender")+", records of "+units.Size(tuneSmall), tuneWALExperiment(s, tuneSmall, appenders), func(set Setting, e *lab.Experiment) lab.Variant {
			return tuneWALVariant(s, tuneSmall, appenders, wal.Options{Sync: wal.SyncFdatasync, MaxDelay: delays[set.Name]})
		})
	}
	return c
}

// tuneSegment returns the size of the segments. A segment is written before the timed
// part, and a block fills at most one: the next must not be prepared while appends are
// timed.
func tuneSegment(s job.Scale, size int) int64 {
	if size > tuneSmall {
		return s.Of(16 * datafile.MiB)
	}
	return s.Of(4 * datafile.MiB)
}

func tuneWALExperiment(s job.Scale, size, appenders int) lab.Experiment {
	return lab.Experiment{
		Params: run.Params{"size": strconv.Itoa(size), "appenders": strconv.Itoa(appenders)},
		Op:     fmt.Sprintf("one record of %s, until it survives a power cut", units.Size(int64(size))),
		MaxOps: tuneSegment(s, size) / int64(size+size/8+64),
		// As in suite wal: an append leaves nothing behind that matters.
		Stateless: true,
	}
}

func tuneWALVariant(s job.Scale, size, appenders int, o wal.Options) lab.Variant {
	o.SegmentSize = tuneSegment(s, size)
	way := wals.Stele("", "", o)
	open := way.Open
	way.Open = func(at job.Site) (wals.Log, error) {
		l, err := open(at)
		if err != nil && o.Sync != wal.SyncFdatasync {
			err = job.Unsupported("%s", err.Error()) // the directory is empty and writable: it is the mechanism
		}
		return l, err
	}
	return wals.AppendingFrom(appenders, lab.Experiment{}).Variant(way)
}

// tuneNumbers returns the settings of a knee: numbers of goroutines.
func tuneNumbers(says string, set func(p *profile.Profile, n int)) []Setting {
	var list []Setting
	for _, n := range []int{1, 2, 4, 8, 16, 32} {
		list = append(list, Setting{
			Name: units.Count(n, "goroutine"), Says: says + " " + strconv.Itoa(n),
			set: func(p *profile.Profile) { set(p, n) },
		})
	}
	return list
}

func tuneNumber(set Setting) int {
	n, _, _ := strings.Cut(set.Name, " ")
	number, err := strconv.Atoi(n)
	if err != nil {
		panic(fmt.Sprintf("suites: the setting %q does not begin with its number", set.Name))
	}
	return number
}

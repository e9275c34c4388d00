package iojob

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/job"
)

// specEnv has the Spec for the process of a block, as JSON.
const specEnv = "STELE_IO_JOBS"

// A Spec is jobs and the files that they work on.
type Spec struct {
	Jobs []Job `json:"jobs"`
	// Ops of a block; 0 has a pilot choose.
	Ops int64 `json:"ops,omitempty"`
	// Dirs are directories of Layout, each by the directory, absolute and without
	// symlinks, that blocks which use it run below.
	Dirs map[string]string `json:"dirs,omitempty"`
	// File, unless "", is the file or block device that all jobs work on.
	File string `json:"file,omitempty"`
}

// FromEnv returns the experiment that specEnv describes; ok is false where it is not
// set.
func FromEnv() (e lab.Experiment, ok bool, err error) {
	text, ok := os.LookupEnv(specEnv)
	if !ok {
		return e, false, nil
	}
	var s Spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return e, true, fmt.Errorf("iojob: read %s: %w", specEnv, err)
	}
	e, err = s.Experiment()
	return e, true, err
}

// Experiment returns the experiment of the jobs. Its blocks get the Spec by specEnv.
func (s Spec) Experiment() (lab.Experiment, error) {
	if err := Validate(s.Jobs); err != nil {
		return lab.Experiment{}, err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return lab.Experiment{}, err
	}
	e := lab.Experiment{
		Suite: "io", Name: "jobs", Params: common(s.Jobs), Stateless: true, Ops: s.Ops,
		Question: "Which job is faster?", Op: "one read or write of a block",
		Env: []string{specEnv + "=" + string(text)},
	}
	if slices.ContainsFunc(s.Jobs, func(j Job) bool { return j.Grow }) {
		e.Stateless = false // a file that has grown may take longer to grow on
	}
	if len(s.Jobs) == 1 {
		e.Question = "How fast is the job?"
	}
	for i := range s.Jobs {
		e.Variants = append(e.Variants, s.variant(&s.Jobs[i]))
	}
	return e, nil
}

func (s Spec) variant(j *Job) lab.Variant {
	v := lab.Variant{Name: j.Name, Doc: j.doc(), Promise: job.NothingWritten()}
	if j.writes() {
		v.Promise = job.Promise(j.level(), durability.Torn)
	}
	v.Run = func(b *lab.B) error {
		if j.Grow {
			return runAppends(b, j)
		}
		path, err := s.path(b.Dir, j)
		if err != nil {
			return err
		}
		return runJob(b, j, path)
	}
	return v
}

// level returns what every write that is done survives.
func (j *Job) level() durability.Level {
	if s := j.sync(); s == syncOpen || s == syncOpData || j.syncEvery() == 1 {
		return durability.Power
	}
	return durability.Kill
}

// path returns the file for a block in dir: of the places above it the nearest one's.
func (s Spec) path(dir string, j *Job) (string, error) {
	if s.File != "" {
		return s.File, nil
	}
	best := ""
	for place := range s.Dirs {
		if strings.HasPrefix(dir, strings.TrimSuffix(place, "/")+"/") && len(place) > len(best) {
			best = place
		}
	}
	if best == "" {
		return "", fmt.Errorf("iojob: no file was laid out for %s", dir)
	}
	return filepath.Join(s.Dirs[best], fileName(j.Size)), nil
}

// common returns the settings that all jobs share, for the ID of the experiment.
func common(jobs []Job) run.Params {
	p := run.Params{}
	for key, text := range map[string]func(j *Job) string{
		"rw":      (*Job).shortKind,
		"block":   func(j *Job) string { return strings.ReplaceAll(j.blockText(), " ", "") },
		"cache":   (*Job).cacheText,
		"depth":   func(j *Job) string { return strconv.Itoa(j.Depth) },
		"threads": func(j *Job) string { return strconv.Itoa(j.Threads) },
		"size":    func(j *Job) string { return strings.ReplaceAll(units.Size(j.Size), " ", "") },
		"rate":    (*Job).rateText,
	} {
		same := text(&jobs[0])
		for i := range jobs {
			if text(&jobs[i]) != same {
				same = ""
			}
		}
		if same != "" {
			p[key] = same
		}
	}
	return p
}

// shortKind is the kind of operations as fio names it: "randread", "rw70".
func (j *Job) shortKind() string {
	pattern := map[string]string{patternRand: "rand", patternZipf: fmt.Sprintf("zipf%g-", j.Theta)}[j.Pattern]
	switch {
	case j.Grow:
		return "append"
	case !j.writes():
		return pattern + "read"
	case !j.reads():
		return pattern + "write"
	}
	return pattern + "rw" + strconv.Itoa(j.Reads)
}

func (j *Job) rateText() string {
	if !j.open() {
		return ""
	}
	return strconv.FormatFloat(j.Rate, 'f', -1, 64)
}

// Label names a job by its settings, for one that has no name: "randread-4KiB-depth16".
func (j *Job) Label() string {
	parts := []string{j.shortKind(), strings.ReplaceAll(j.blockText(), " ", "")}
	if j.Threads > 1 {
		parts = append(parts, "threads"+strconv.Itoa(j.Threads))
	}
	if j.Depth > 1 {
		parts = append(parts, "depth"+strconv.Itoa(j.Depth))
	}
	if j.Engine == engineMap {
		parts = append(parts, j.Engine)
	}
	return strings.Join(parts, "-")
}

// runJob does the operations of a block of a job on the file path.
func runJob(b *lab.B, j *Job, path string) (err error) {
	f, settle, err := openFile(j, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, settle()) }()
	switch j.engine() {
	case engineSync:
		return runThreads(b, j, targetOf(j, f))
	case engineMap:
		m, unmap, err := mapFile(j, f)
		if err != nil {
			return err
		}
		return errors.Join(runThreads(b, j, m), unmap())
	}
	return runRings(b, j, f)
}

// runThreads runs a job with one operation in flight a thread, all on one target or each
// on its own.
func runThreads(b *lab.B, j *Job, on ...target) error {
	if j.open() {
		b.OpenModel()
	}
	threads := make([]*thread, j.Threads)
	for i := range threads {
		rng := rand.New(rand.NewPCG(b.Rand.Uint64(), uint64(i)))
		threads[i] = &thread{
			source: newSource(j, rng, i), arrive: newArrivals(j, rng, i), on: on[i%len(on)],
			buf: buffer(int(j.largest())), every: j.syncEvery(), tally: newTally(j),
		}
	}
	err := b.Parallel(j.Threads, func(w *lab.Worker) error {
		t := threads[w.ID]
		t.Worker = w
		return t.run(b)
	})
	all := newTally(j)
	for _, t := range threads {
		all.merge(t.tally)
	}
	all.report(b)
	return err
}

// runRings runs a job with several operations in flight a thread.
func runRings(b *lab.B, j *Job, f *os.File) (err error) {
	if j.open() {
		b.OpenModel()
	}
	rings := make([]*ringThread, j.Threads)
	for i := range rings {
		n := b.N / int64(j.Threads) // as B.Parallel shares them
		if int64(i) < b.N%int64(j.Threads) {
			n++
		}
		rng := rand.New(rand.NewPCG(b.Rand.Uint64(), uint64(i)))
		if rings[i], err = newRingThread(j, f, newSource(j, rng, i), newArrivals(j, rng, i), n); err != nil {
			return err
		}
		rings[i].tally = newTally(j)
		defer func() { err = errors.Join(err, rings[i].ring.Close()) }()
	}
	err = b.Parallel(j.Threads, func(w *lab.Worker) error { return rings[w.ID].run(b, w) })
	b.InFlight(j.Depth)
	all, hist := newTally(j), run.NewHistogram()
	for _, r := range rings {
		all.merge(r.tally)
		hist.Merge(r.hist)
	}
	if !j.open() {
		b.SetLatency(hist) // of requests, not the time between two that end
	}
	all.report(b)
	return err
}

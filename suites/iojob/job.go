package iojob

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/suites/internal/datafile"
)

// Values of settings of a Job.
const (
	engineSync  = "sync"       // pread(2) and pwrite(2), one in flight a thread
	engineMap   = "mmap"       // copies from and to a mapping, one in flight a thread
	engineRing  = "uring"      // io_uring(7)
	enginePoll  = "uring-poll" // io_uring that polls the device (IORING_SETUP_IOPOLL)
	syncNone    = "none"
	syncFile    = "fsync"
	syncData    = "fdatasync"
	syncOpen    = "o_sync"
	syncOpData  = "o_dsync"
	poissonLaw  = "poisson" // arrivals with exponential gaps
	fixedLaw    = "fixed"   // arrivals with equal gaps
	patternSeq  = "seq"
	patternRand = "random"
	patternZipf = "zipf"
)

// Bounds of settings.
const (
	maxBlock   = 64 << 20
	maxDepth   = 4096
	maxThreads = 1024
	sector     = 512 // the least alignment of direct I/O
)

// A Job is the settings of one job. New returns one with the defaults.
type Job struct {
	Name    string  `json:"name"`
	Size    int64   `json:"size"` // bytes of the file
	Blocks  []Block `json:"blocks"`
	Reads   int     `json:"reads"`          // percent of the operations; the others write
	Grow    bool    `json:"grow,omitempty"` // each thread appends to an empty file of its own, of up to Size bytes
	Pattern string  `json:"pattern"`
	Theta   float64 `json:"theta,omitempty"` // of patternZipf
	// patterned is set once Set was given a pattern, which one of rw does not replace.
	patterned bool
	Depth     int    `json:"depth"`            // requests in flight a thread
	Threads   int    `json:"threads"`          //
	Fsync     int    `json:"fsync,omitempty"`  // writes of a thread to a sync; 0 is the default of Sync
	Sync      string `json:"sync,omitempty"`   // "" is syncNone, and syncFile with Fsync
	Direct    bool   `json:"direct,omitempty"` // past the page cache
	Cache     string `json:"cache,omitempty"`  // "warm" or "cold" at the start of a block; "" is warm
	Engine    string `json:"engine,omitempty"` // "" is engineSync for depth 1, else engineRing
	// Rate is the operations a second that arrive, all threads together; 0 is a
	// closed model.
	Rate     float64 `json:"rate,omitempty"`
	Arrivals string  `json:"arrivals,omitempty"` // poissonLaw or fixedLaw; "" is poissonLaw
}

// A Block is a block size and its share of the operations.
type Block struct {
	Bytes int   `json:"bytes"`
	Share int64 `json:"share"` // relative to those of the others
}

// New returns a job with the default settings: random reads of 4 KiB, one at a time,
// in a file of 256 MiB that is in the page cache.
func New() Job {
	return Job{Size: 256 << 20, Blocks: []Block{{4096, 1}}, Reads: 100, Pattern: patternRand, Depth: 1, Threads: 1}
}

func (j *Job) reads() bool  { return j.Reads > 0 }
func (j *Job) writes() bool { return j.Reads < 100 }
func (j *Job) open() bool   { return j.Rate > 0 }

// Writes reports whether the job changes its file.
func (j *Job) Writes() bool { return j.writes() }

func (j *Job) engine() string {
	if j.Engine != "" {
		return j.Engine
	}
	if j.Depth > 1 {
		return engineRing
	}
	return engineSync
}

func (j *Job) cache() string {
	if j.Direct {
		return datafile.Direct
	}
	return cmp.Or(j.Cache, datafile.Warm)
}

// cacheText is the state of the file, "" of a job that has a new one.
func (j *Job) cacheText() string {
	if j.Grow && !j.Direct {
		return ""
	}
	return j.cache()
}

func (j *Job) sync() string {
	if j.Sync == "" && j.Fsync > 0 {
		return syncFile
	}
	return cmp.Or(j.Sync, syncNone)
}

// syncEvery returns after how many writes of a thread the file is synced by a call; 0
// is never.
func (j *Job) syncEvery() int64 {
	switch j.sync() {
	case syncFile, syncData:
		return int64(max(j.Fsync, 1))
	}
	return 0
}

func (j *Job) largest() int64 {
	var most int
	for _, b := range j.Blocks {
		most = max(most, b.Bytes)
	}
	return int64(most)
}

// check returns an error for settings that are wrong or that contradict each other.
func (j *Job) check() error {
	bad := func(key string, got any, want string, args ...any) error {
		return setting.Wrong(j.label()+key, got, want, args...)
	}
	err := cmp.Or(
		setting.InRange(j.label()+"depth", j.Depth, 1, maxDepth),
		setting.InRange(j.label()+"threads", j.Threads, 1, maxThreads),
		setting.AtLeast(j.label()+"fsync", j.Fsync, 0),
	)
	if err != nil {
		return err
	}
	if len(j.Blocks) == 0 {
		return bad("block", setting.Text("none"), "a size such as 4k")
	}
	for _, b := range j.Blocks {
		if j.Direct && b.Bytes%sector != 0 {
			return bad("block", setting.Bytes(b.Bytes), "a multiple of %d with direct", sector)
		}
	}
	if least := j.largest() * int64(j.Threads); j.Size < least {
		return bad("size", setting.Bytes(j.Size), "%s or more: a block for each thread", units.Size(least))
	}
	return cmp.Or(j.checkSync(), j.checkGrow(), j.checkEngine(), j.checkRate())
}

// checkGrow refuses what a job that appends cannot have.
func (j *Job) checkGrow() error {
	switch {
	case !j.Grow:
		return nil
	case j.Pattern != patternSeq:
		return setting.Wrong(j.label()+"pattern", j.Pattern, "seq with rw append")
	case j.engine() != engineSync:
		return setting.Wrong(j.label()+"engine", j.engine(), "sync, and depth 1, with rw append")
	case j.Cache != "":
		return setting.Wrong(j.label()+"cache", j.Cache, "nothing with rw append, whose file is new")
	}
	return nil
}

func (j *Job) label() string {
	if j.Name == "" {
		return ""
	}
	return j.Name + ": "
}

func (j *Job) checkSync() error {
	switch {
	case j.Fsync > 0 && j.syncEvery() == 0:
		return setting.Wrong(j.label()+"fsync", j.Fsync, "0 with sync %s, or sync fsync or fdatasync", j.sync())
	case !j.writes() && j.sync() != syncNone:
		return setting.Wrong(j.label()+"sync", j.sync(), "none for a job that writes nothing; rw write, randwrite or rw=70 write")
	case j.Direct && j.Cache != "":
		return setting.Wrong(j.label()+"cache", j.Cache, "nothing with direct, which goes past the page cache")
	}
	return nil
}

func (j *Job) checkEngine() error {
	switch e := j.engine(); {
	case (e == engineSync || e == engineMap) && j.Depth > 1:
		return setting.Wrong(j.label()+"depth", j.Depth, "1 with engine %s; engine uring keeps more in flight, and threads do", e)
	case e == engineMap && j.Direct:
		return setting.Wrong(j.label()+"engine", e, "another with direct: a mapping is of the page cache")
	case e == engineMap && (j.sync() == syncOpen || j.sync() == syncOpData):
		return setting.Wrong(j.label()+"sync", j.sync(), "none, fsync or fdatasync with engine mmap: a store to memory syncs nothing")
	case e == enginePoll && !j.Direct:
		return setting.Wrong(j.label()+"engine", e, "direct with it: only requests past the page cache can be polled for")
	case e == enginePoll && j.sync() != syncNone:
		return setting.Wrong(j.label()+"sync", j.sync(), "none with engine uring-poll: the kernel does not poll for syncs")
	}
	return nil
}

func (j *Job) checkRate() error {
	switch {
	case !(j.Rate >= 0 && j.Rate <= 1e9):
		return setting.Wrong(j.label()+"rate", j.Rate, "operations a second from 0 (as fast as can be) to 1e9")
	case j.Arrivals != "" && !j.open():
		return setting.Wrong(j.label()+"arrivals", j.Arrivals, "rate with it")
	}
	return nil
}

// doc describes the job in one line.
func (j *Job) doc() string {
	parts := []string{j.kind() + " of " + j.blockText()}
	if j.Threads > 1 {
		parts = append(parts, units.Count(j.Threads, "thread"))
	}
	switch j.engine() {
	case engineMap:
		parts = append(parts, "by a mapping (mmap)")
	case engineRing:
		parts = append(parts, fmt.Sprintf("%d in flight by io_uring", j.Depth))
	case enginePoll:
		parts = append(parts, fmt.Sprintf("%d in flight by io_uring with polling", j.Depth))
	}
	if j.Grow {
		parts = append(parts, "each thread to a file that begins empty, and again at "+units.Size(j.Size))
	} else {
		parts = append(parts, "file "+datafile.StateText(j.cache()))
	}
	if j.writes() {
		parts = append(parts, j.syncText())
	}
	if j.open() {
		parts = append(parts, fmt.Sprintf("%g a second arrive (%s), latency from the intended start", j.Rate, cmp.Or(j.Arrivals, poissonLaw)))
	}
	return strings.Join(parts, ", ")
}

func (j *Job) kind() string {
	pattern := map[string]string{patternSeq: "sequential", patternRand: "random", patternZipf: fmt.Sprintf("Zipf-distributed (%g)", j.Theta)}[j.Pattern]
	switch {
	case j.Grow:
		return "appends"
	case !j.writes():
		return pattern + " reads"
	case !j.reads():
		return pattern + " overwrites"
	}
	return fmt.Sprintf("%s reads (%d %%) and overwrites (%d %%)", pattern, j.Reads, 100-j.Reads)
}

func (j *Job) blockText() string {
	if len(j.Blocks) == 1 {
		return units.Size(int64(j.Blocks[0].Bytes))
	}
	var all []string
	for _, b := range j.Blocks {
		all = append(all, fmt.Sprintf("%s (%d)", units.Size(int64(b.Bytes)), b.Share))
	}
	return strings.Join(all, " and ")
}

// syncText says when a write is made durable, as the promise of the job follows.
func (j *Job) syncText() string {
	switch s := j.sync(); {
	case s == syncOpen, s == syncOpData:
		return "each write durable when it returns (" + strings.ToUpper(s) + ")"
	case s == syncNone:
		return "never synced"
	case j.syncEvery() > 1:
		return fmt.Sprintf("%s after every %d writes of a thread: a power cut loses those since the last one", s, j.syncEvery())
	default:
		return s + " after each write"
	}
}

// Validate returns the errors of jobs that cannot be measured side by side.
func Validate(jobs []Job) error {
	errs := []error{}
	seen := map[string]bool{}
	for i := range jobs {
		j := &jobs[i]
		errs = append(errs, j.check())
		if j.open() != jobs[0].open() {
			errs = append(errs, setting.Wrong(j.label()+"rate", j.Rate, "a rate for all jobs, or for none: the time of an operation is the mean latency with one, and the wall time without"))
		}
		if seen[j.Name] {
			errs = append(errs, setting.Wrong("job", j.Name, "each name once"))
		}
		seen[j.Name] = true
	}
	return errors.Join(errs...)
}

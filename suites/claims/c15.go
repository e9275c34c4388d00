package claims

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"sync"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/files"
)

const variantMemFS = "file system in the process"

// memFS is the simplest file system in a process that many goroutines can create temporary
// files in: a map of names under a mutex.
type memFS struct {
	mu    sync.Mutex
	next  int64
	files map[string]*memFile
}

type memFile struct{ data []byte }

func newMemFS() *memFS { return &memFS{files: map[string]*memFile{}} }

// CreateTemp creates a file with a new name.
func (m *memFS) CreateTemp() (io.WriteCloser, error) {
	f := &memFile{}
	m.mu.Lock()
	m.files[strconv.FormatInt(m.next, 10)] = f
	m.next++
	m.mu.Unlock()
	return f, nil
}

// ReadFile returns the content of a file.
func (m *memFS) ReadFile(name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.files[name]
	if f == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return f.data, nil
}

func (f *memFile) Write(p []byte) (int, error) {
	f.data = append(f.data, p...)
	return len(p), nil
}

func (f *memFile) Close() error { return nil }

// c15 creates temporary files beside left-overs, or in an empty directory.
func c15(left int) lab.Experiment {
	here := tempBesideLeftOvers
	if left == 0 {
		here = func(b *lab.B) error { return tempFiles(b, tempIn(b.Dir)) }
	}
	return lab.Experiment{
		Suite: "claims", Name: "C15", Params: run.Params{"left": strconv.Itoa(left)},
		Question: "How much faster are temporary files in the memory of the process?",
		Op:       "one temporary file of 4 KiB, by 1,000 goroutines",
		MaxOps:   files.PerBlock / 4,
		Variants: []lab.Variant{
			{
				Name: variantTempHere, Doc: fmt.Sprintf("os.CreateTemp in a directory of %d files, written and closed", left),
				Promise: keptTorn, Baseline: true, Run: here,
			},
			{
				Name: variantMemFS, Doc: "a map of names to buffers under a mutex, in the heap",
				Promise: lost,
				Run:     func(b *lab.B) error { return tempFiles(b, newMemFS().CreateTemp) },
			},
		},
	}
}

func claimC15() Claim {
	empty, crowded := c15(0), c15(files.LeftOversQuick)
	return Claim{
		ID: "C15",
		Source: reportC.source("ch. 5, Go runtime and VFS",
			"A file system in the process lowers the mean from 47 ms to 0.3 ms without a blocking system call."),
		Statement:   "temporary files of 1,000 goroutines through an in-memory file system in the process, in place of os.CreateTemp",
		Claimed:     "47 ms to 0.3 ms, no blocking call",
		Promise:     "os.CreateTemp: kill, torn; in the process: none, lost when the process exits",
		Experiments: []lab.Experiment{empty, crowded},
		judge:       func(ev *evidence) judgement { return judgeC15(ev, empty.ID(), crowded.ID()) },
	}
}

// fewCalls is the number of calls an operation that counts as none: the block's goroutines
// and a growing heap cause some.
const fewCalls = 0.05

func judgeC15(ev *evidence, empty, crowded string) judgement {
	const claimed = 47 / 0.3
	var text string
	var answers []answer
	for _, c := range []struct{ what, id string }{{"Empty directory", empty}, {"Beside 100,000 left-overs", crowded}} {
		s := ev.times(c.id, variantTempHere, variantMemFS)
		calls := ev.metric(c.id, variantMemFS, "syscalls_per_op")
		text += fmt.Sprintf("%s: os.CreateTemp %s and %.1f system calls, in the process %s and %.2f, %s as fast. ", c.what,
			nanos(ev.time(c.id, variantTempHere)), ev.metric(c.id, variantTempHere, "syscalls_per_op").Median,
			nanos(ev.time(c.id, variantMemFS)), calls.Median, factor(s))
		shorter := noEstimate
		here, noHere := ev.tail(c.id, variantTempHere)
		mem, noMem := ev.tail(c.id, variantMemFS)
		if why := cmp.Or(noHere, noMem); why != "" {
			text += "p99: " + why + ". "
		} else {
			shorter = quotient(here, mem)
			text += fmt.Sprintf("p99 %s and %s, %s as short. ", nanos(here), nanos(mem), factor(shorter))
		}
		answers = append(answers, claimedFactor(s, claimed), claimedFactor(shorter, claimed), answerIf(calls.Median <= fewCalls))
	}
	return decide(text,
		fmt.Sprintf("It had to be at least %s as fast, in the time of a file and in the p99 (the median of the blocks'), without a system call (less than %.2f a file, the Go runtime's own apart). The two promise different things: no other process can open a file that is in this one.", asked(claimed), fewCalls),
		"time, p99 or calls", answers...)
}

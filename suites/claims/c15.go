package claims

import (
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"sync"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
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

func claimC15() Claim {
	rate, latency, emptyRate, emptyLatency := c10Experiments()
	return Claim{
		ID: "C15",
		Source: reportC.source("ch. 5, Go runtime and VFS",
			"A file system in the process lowers the mean from 47 ms to 0.3 ms without a blocking system call."),
		Statement:   "temporary files of 1,000 goroutines through an in-memory file system in the process (B), in place of os.CreateTemp beside 2.8 million left-overs (A)",
		Claimed:     "47 ms to 0.3 ms on average, no blocking call",
		Promise:     "os.CreateTemp: kill, torn; in the process: none, lost when the process exits",
		Experiments: []lab.Experiment{rate, latency, emptyRate, emptyLatency},
		judge:       func(ev *evidence) judgement { return judgeC15(ev, rate.ID(), latency.ID(), emptyLatency.ID()) },
	}
}

// fewCalls is the number of calls an operation that counts as none: the block's goroutines
// and a growing heap cause some.
const fewCalls = 0.05

func judgeC15(ev *evidence, rate, latency, emptyLatency string) judgement {
	const note = notSameJob + ": no other process can open such a file, and it survives nothing"
	mean := func(id string) run.Estimate {
		return ev.ratioOf(id, "file_mean_ns", variantTempHere, variantMemFS)
	}
	calls, why := ev.known(rate, variantMemFS, "syscalls_per_op")
	named, _ := ev.known(rate, variantTempHere, "syscalls_per_op")
	text := fmt.Sprintf("%.2f a file, with os.CreateTemp %.1f", calls.Median, named.Median)
	if why != "" {
		why = "counted system calls: " + why
	}
	return ruling(fmt.Sprintf("The mean is that of %d files a second, from the intended start. Less than %.2f calls a file count as none: the Go runtime makes some.", c10Rate, fewCalls),
		claimed("mean latency of A against B", mean(latency), 47/0.3).note(note),
		fact("B makes no system call", calls.Median <= fewCalls, text).needs(why),
		figureOf("mean of a file", fmt.Sprintf("A %s, B %s", lasting(ev.metric(latency, variantTempHere, "file_mean_ns")), lasting(ev.metric(latency, variantMemFS, "file_mean_ns")))),
		figureOf("rate of B against A, without a pause", factor(ev.ratio(rate, variantTempHere, variantMemFS))),
		figureOf("mean latency of an empty directory against B", factor(mean(emptyLatency))))
}

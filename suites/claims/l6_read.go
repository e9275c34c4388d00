package claims

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/stele-go/stele/internal/memory"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/report"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
)

// The environment of a child: its number, from 0, and the control group that it joins.
const (
	l6Child = "STELE_L6_CHILD"
	l6Group = "STELE_L6_GROUP"
)

// The descriptors that a child begins with, after the standard ones.
const (
	l6Data = 3 // the file: one open file, with one readahead state, for all children
	l6Gate = 4 // ends when they may begin
	l6Told = 5 // takes a byte from a child that is ready, and one from a child that has read
)

// An l6Tally sums up the reads of one reader.
type l6Tally struct {
	mean   float64 // latency, in nanoseconds
	hits   float64 // share of the reads
	noHits error   // why hits are unknown
}

// l6Children are the processes that read.
type l6Children struct {
	list    []*exec.Cmd
	outs    []bytes.Buffer
	tallies []l6Tally
	gate    *os.File // holds the children back until it is closed
	told    *os.File // has a byte for each that is ready, and one for each that has read
	ended   sync.WaitGroup
	once    sync.Once
	err     error // of the first child that fails; others may fail because it did
}

// start starts the children, which share the reads. If it fails, c has those that were
// started.
func (w l6Way) start(b *lab.B, e *lab.Experiment, f *datafile.File, group string, reads int64) (c *l6Children, err error) {
	n := w.processes
	c = &l6Children{outs: make([]bytes.Buffer, n), tallies: make([]l6Tally, n)}
	theirGate, gate, err := os.Pipe()
	if err != nil {
		return c, err
	}
	c.gate = gate
	told, tell, err := os.Pipe()
	if err != nil {
		return c, errors.Join(err, theirGate.Close())
	}
	c.told = told
	defer func() { err = errors.Join(err, theirGate.Close(), tell.Close()) }()
	for i := range n {
		child, err := lab.Child(b.Context(), e, w.name, b.Dir, reads/int64(n), b.Rand.Uint64())
		if err != nil {
			return c, err
		}
		child.Env = append(child.Env, l6Child+"="+strconv.Itoa(i), l6Group+"="+group)
		child.ExtraFiles = []*os.File{l6Data - 3: f.File, l6Gate - 3: theirGate, l6Told - 3: tell}
		child.Stdout, child.Stderr = &c.outs[i], new(bytes.Buffer)
		if err := child.Start(); err != nil {
			return c, err
		}
		c.list = append(c.list, child)
		c.ended.Go(func() { c.wait(i, child) })
	}
	return c, nil
}

// wait waits for a child. If it fails, nobody waits for the others any more.
func (c *l6Children) wait(i int, child *exec.Cmd) {
	err := child.Wait()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, child.Stderr)
	} else {
		c.tallies[i], err = l6TallyOf(c.outs[i].Bytes())
	}
	if err != nil {
		c.once.Do(func() {
			c.err = fmt.Errorf("reading process: %w", err)
			c.told.Close() // ends await; it was only read
		})
	}
}

// await waits for a byte from each child.
func (c *l6Children) await() error {
	if _, err := io.ReadFull(c.told, make([]byte, len(c.list))); err != nil {
		return fmt.Errorf("wait for the reading processes: %w", err)
	}
	return nil
}

func (c *l6Children) letGo() error {
	gate := c.gate
	c.gate = nil
	return gate.Close()
}

// end waits for the children and returns their tallies.
func (c *l6Children) end() (tallies []l6Tally, err error) {
	if c.gate != nil {
		err = c.letGo()
	}
	c.ended.Wait()
	if c.told != nil {
		c.told.Close() // it was only read, and wait may have closed it
	}
	return c.tallies, errors.Join(c.err, err)
}

func l6TallyOf(output []byte) (l6Tally, error) {
	var block run.Block
	if err := json.Unmarshal(output, &block); err != nil {
		return l6Tally{}, fmt.Errorf("parse its report: %w", err)
	}
	if block.Error != "" {
		return l6Tally{}, errors.New(block.Error)
	}
	t := l6Tally{mean: block.Metrics["read_mean_ns"], hits: block.Metrics["hit_share"]}
	if why := report.Reason(block.Missing["hit_share"]); why != "" {
		t.noHits = errors.New(why)
	}
	return t, nil
}

// runChild reads at random in a child.
func (w l6Way) runChild(b *lab.B, load l6Load) error {
	f, gate, told := os.NewFile(l6Data, "data"), os.NewFile(l6Gate, "gate"), os.NewFile(l6Told, "told")
	size, err := w.enterGroup(f)
	if err != nil {
		return err
	}
	readers := make([]*l6Reader, w.goroutines)
	gap := time.Second * time.Duration(w.readers()) / time.Duration(load.rate)
	for i := range readers {
		readers[i] = newL6Reader(f, size, gap, b.Rand.Uint64())
	}
	begin := sync.OnceValue(func() error {
		if _, err := told.Write([]byte{'r'}); err != nil {
			return err
		}
		if _, err := gate.Read(make([]byte, 1)); err != io.EOF {
			return fmt.Errorf("wait for the start: %v", err)
		}
		return nil
	})
	// All wait at begin while the group's memory is limited, and have by then what they need.
	var rehearsals sync.WaitGroup
	rehearsals.Add(w.goroutines)
	err = b.Parallel(w.goroutines, func(worker *lab.Worker) error {
		err := readers[worker.ID].rehearse()
		rehearsals.Done()
		rehearsals.Wait()
		if err = errors.Join(err, begin()); err != nil {
			return err
		}
		return readers[worker.ID].read(worker.Loop)
	})
	// The memory of the report does not count. The root of the hierarchy has no limit.
	if err = errors.Join(err, memory.Join(filepath.Dir(os.Getenv(l6Group)))); err != nil {
		return err
	}
	if _, err := told.Write([]byte{'d'}); err != nil {
		return err
	}
	tallies := make([]l6Tally, len(readers))
	for i, r := range readers {
		tallies[i] = r.tally()
	}
	reportL6(b, tallies)
	return nil
}

// enterGroup joins the group and reads the child's part of the file once, so that the group is
// charged for its pages. It returns the size of the file.
func (w l6Way) enterGroup(f *os.File) (size int64, err error) {
	if err := memory.Join(os.Getenv(l6Group)); err != nil {
		return 0, err
	}
	child, err := strconv.Atoi(os.Getenv(l6Child))
	if err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	part := (info.Size() + int64(w.processes) - 1) / int64(w.processes)
	_, err = io.Copy(struct{ io.Writer }{io.Discard}, io.NewSectionReader(f, int64(child)*part, part))
	return info.Size(), err
}

// An l6Reader reads pages at random, each when it is due.
type l6Reader struct {
	f       *os.File
	pages   int64
	gap     time.Duration // between reads, on average
	rng     *rand.Rand
	page    []byte
	latency *run.Histogram
	hits    int64
	noHits  error
}

func newL6Reader(f *os.File, size int64, gap time.Duration, seed uint64) *l6Reader {
	return &l6Reader{
		f: f, pages: size / datafile.PageSize, gap: gap, rng: rand.New(rand.NewPCG(seed, 0)),
		page: make([]byte, datafile.PageSize), latency: run.NewHistogram(),
	}
}

// read makes the reads of a worker. Their number in a time has a Poisson distribution. The
// latency of a read is its own time and the rest, when it was due, of those before it: so a
// slow read counts for all that wait behind it, and a late timer for none.
func (r *l6Reader) read(loop func() bool) error {
	due, behind := time.Duration(0), time.Duration(0)
	begun := time.Now()
	for loop() {
		apart := time.Duration(r.rng.ExpFloat64() * float64(r.gap))
		due, behind = due+apart, max(0, behind-apart)
		if ahead := due - time.Since(begun); ahead > 0 {
			time.Sleep(ahead)
		}
		off := r.rng.Int64N(r.pages) * datafile.PageSize
		cached, err := sys.CachedBytes(r.f, off, datafile.PageSize)
		if err != nil {
			r.noHits = err
		} else if cached > 0 {
			r.hits++
		}
		begin := time.Now()
		if _, err := r.f.ReadAt(r.page, off); err != nil {
			return err
		}
		behind += time.Since(begin)
		r.latency.Record(max(1, int64(behind)))
	}
	return nil
}

// l6Rehearsed is the number of reads of a rehearsal.
const l6Rehearsed = 20

// rehearse reads a few pages that count for nothing, so that the threads and the memory that
// reads take are there.
func (r *l6Reader) rehearse() error {
	some, n := *r, 0
	some.gap, some.latency = r.gap/10, run.NewHistogram()
	return some.read(func() bool { n++; return n <= l6Rehearsed })
}

func (r *l6Reader) tally() l6Tally {
	return l6Tally{mean: r.latency.Mean(), hits: float64(r.hits) / float64(max(1, r.latency.Count())), noHits: r.noHits}
}

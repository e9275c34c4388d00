package lab

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stele-go/stele/internal/measure/systrace"
	"github.com/stele-go/stele/lab/run"
)

// sampleEvery is the time between two samples of the threads of a block. A
// sample of many threads takes long, and the watched ones are slowed by it: the
// pause is at least four times what the last sample took, a fifth of one CPU.
const sampleEvery = 2 * time.Millisecond

// A sampler samples, from outside, the causes that the threads of a process wait for in
// the kernel (proc_pid_stack(5), proc_pid_wchan(5), proc_pid_syscall(5)).
type sampler struct {
	dir     string // /proc/PID/task
	threads map[string]*thread
	samples []sample
	// The files that may be read, decided at the first thread. A later error is only
	// that of a thread: one that is ending cannot be read.
	noCalls, noStack     error
	someCalls, someStack bool
	wchanNames           bool // wchan named a function at least once
	err                  error
	buf                  [4096]byte
	quit, done           chan struct{}
}

// A sample is the state of all threads at one moment.
type sample struct {
	at              int64 // wall clock, ns
	threads, parked int
	blocked         map[blockedIn]int
}

// blockedIn is the cause that a thread waits for; fault says that it is not in a
// system call.
type blockedIn struct {
	cause, symbol string
	fault         bool
	call          string // the system call; "" where it is not known
}

// A thread keeps its files open: opening costs more than reading.
type thread struct {
	call, stack, wchan *os.File
	seen               int // the last sample that has it
}

// startSampler watches a process until it is stopped.
func startSampler(pid int) *sampler {
	s := &sampler{dir: filepath.Join("/proc", strconv.Itoa(pid), "task"), threads: map[string]*thread{}, quit: make(chan struct{}), done: make(chan struct{})}
	go s.run()
	return s
}

func (s *sampler) stop() {
	close(s.quit)
	<-s.done
}

func (s *sampler) run() {
	defer close(s.done)
	defer func() {
		for _, t := range s.threads {
			t.close()
		}
	}()
	if runtime.GOOS != "linux" {
		s.err = errors.New("only Linux shows why a thread waits")
		return
	}
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-s.quit:
			return
		case <-pause.C:
		}
		begin := time.Now()
		if err := s.take(begin); err != nil {
			if !ended(s.dir) {
				s.err = err
			}
			return
		}
		pause.Reset(max(sampleEvery, 4*time.Since(begin)))
	}
}

// ended reports whether the thread of a directory of /proc has ended.
func ended(dir string) bool {
	_, err := os.Stat(dir)
	return err != nil
}

func (s *sampler) take(now time.Time) error {
	list, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	l := sample{at: now.UnixNano(), blocked: map[blockedIn]int{}}
	for _, entry := range list {
		t := s.threads[entry.Name()]
		if t == nil {
			t = &thread{}
			s.threads[entry.Name()] = t
		}
		t.seen = len(s.samples)
		in, parked, err := s.state(filepath.Join(s.dir, entry.Name()), t)
		if errors.Is(err, fs.ErrNotExist) {
			// It has ended meanwhile. Its files show no other thread, not even
			// one that is given its number.
			t.close()
			delete(s.threads, entry.Name())
			continue
		}
		if err != nil {
			return err
		}
		l.threads++
		switch {
		case parked:
			l.parked++
		case in != blockedIn{}:
			l.blocked[in]++
		}
	}
	for name, t := range s.threads {
		if t.seen != len(s.samples) {
			t.close()
			delete(s.threads, name)
		}
	}
	// A sample of a thousand threads takes milliseconds, and is of its middle.
	l.at += time.Since(now).Nanoseconds() / 2
	s.samples = append(s.samples, l)
	return nil
}

// state returns the cause that a thread waits for: the zero value when it runs or is
// ready, parked when it is an idle thread of the Go runtime.
func (s *sampler) state(dir string, t *thread) (in blockedIn, parked bool, err error) {
	if s.noCalls == nil {
		call, err := s.read(&t.call, dir+"/syscall")
		switch {
		case noMoreFiles(err):
			return in, false, err
		case err != nil && (s.someCalls || ended(dir)):
			return in, false, fs.ErrNotExist
		case err != nil:
			// Without it a stack does not show whether its thread is blocked or only
			// has no CPU; wchan does.
			s.noCalls, s.noStack = err, err
		default:
			s.someCalls = true
			// "running", or a number and arguments; -1 is outside of a call.
			first, _, _ := strings.Cut(strings.TrimSpace(string(call)), " ")
			number, err := strconv.Atoi(first)
			if err != nil {
				return in, false, nil
			}
			in.fault = number < 0
			if number >= 0 {
				in.call = systrace.Name(number)
			}
			if run.RuntimeSyscall(in.call) {
				return blockedIn{}, true, nil
			}
		}
	}
	stack, err := s.functions(dir, t)
	if err != nil || len(stack) == 0 {
		return blockedIn{}, false, err
	}
	if startsWithAny(stack[0], parkedIn) || len(stack) > 1 && startsWithAny(stack[1], parkedIn) {
		return blockedIn{}, true, nil
	}
	in.cause, in.symbol = kernelCause(stack)
	return in, false, nil
}

// functions returns the kernel stack of a thread, or the one function of wchan where
// the stack may not be read.
func (s *sampler) functions(dir string, t *thread) ([]string, error) {
	if s.noStack == nil {
		text, err := s.read(&t.stack, dir+"/stack")
		if err == nil {
			s.someStack = true
			return parseStack(text), nil
		}
		if noMoreFiles(err) {
			return nil, err
		}
		if s.someStack || ended(dir) {
			return nil, fs.ErrNotExist
		}
		s.noStack = err // not permitted, or a kernel without CONFIG_STACKTRACE
	}
	text, err := s.read(&t.wchan, dir+"/wchan")
	name := strings.TrimSpace(string(text))
	switch {
	case noMoreFiles(err):
		return nil, err
	case err != nil && (s.wchanNames || ended(dir)):
		return nil, fs.ErrNotExist
	case err != nil:
		return nil, fmt.Errorf("%v, and %v", s.noStack, err)
	case name == "0" || name == "":
		return nil, nil
	}
	s.wchanNames = true
	return []string{name}, nil
}

// noMoreFiles reports whether the runner has no descriptors left: a thread skipped for
// that would look like one that is not blocked.
func noMoreFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// read reads a file of /proc from its start. The result is valid until the next call.
func (s *sampler) read(f **os.File, name string) ([]byte, error) {
	if *f == nil {
		var err error
		if *f, err = os.Open(name); err != nil {
			return nil, err
		}
	}
	n, err := (*f).ReadAt(s.buf[:], 0)
	if err == io.EOF {
		err = nil
	}
	return s.buf[:n], err
}

func (t *thread) close() {
	for _, f := range []*os.File{t.call, t.stack, t.wchan} {
		if f != nil {
			f.Close() // nothing was written
		}
	}
}

// into adds the samples to the waits that the process found out about itself: it
// splits the time in system calls, and that of page faults, into the causes that the
// threads waited for and the rest.
func (s *sampler) into(w *run.Waits, wall run.Nanos) {
	if w.Missing == nil { // empty, and left out of the block's JSON
		w.Missing = map[string]run.Reason{}
	}
	samples := s.between(w.Begun, w.Begun+int64(wall))
	if why := s.blind(samples); why != (run.Reason{}) {
		w.Missing["kernel"] = why
		return
	}
	if s.noStack != nil {
		w.Missing["stack"] = run.ReasonOf(s.noStack)
	}
	w.Samples = len(samples)
	var threads, parked int
	blocked := map[blockedIn][]run.Nanos{}
	for i, l := range samples {
		threads += l.threads
		parked += l.parked
		// A sample stands for the time that is nearer to it than to others.
		from, to := run.Nanos(0), wall
		if i > 0 {
			from = run.Nanos((samples[i-1].at+l.at)/2 - w.Begun)
		}
		if i < len(samples)-1 {
			to = run.Nanos((l.at+samples[i+1].at)/2 - w.Begun)
		}
		for in, n := range l.blocked {
			if blocked[in] == nil {
				blocked[in] = make([]run.Nanos, run.WaitWindows)
			}
			span := make([]run.Nanos, run.WaitWindows)
			spread(span, from, to, w.Window)
			for k, t := range span {
				blocked[in][k] += run.Nanos(n) * t
				addKernel(w, in, run.Nanos(n)*t)
			}
		}
	}
	w.Threads, w.Parked = float64(threads)/float64(len(samples)), float64(parked)/float64(len(samples))
	split(w, blocked)
}

// addKernel adds blocked time to its call, where chains were asked for.
func addKernel(w *run.Waits, in blockedIn, t run.Nanos) {
	if !w.Chained || in.call == "" || t == 0 {
		return
	}
	if w.Kernel == nil {
		w.Kernel = map[string]map[string]run.Nanos{}
	}
	if w.Kernel[in.call] == nil {
		w.Kernel[in.call] = map[string]run.Nanos{}
	}
	w.Kernel[in.call][in.cause] += t
}

func (s *sampler) between(from, to int64) []sample {
	var in []sample
	for _, l := range s.samples {
		if l.at >= from && l.at <= to {
			in = append(in, l)
		}
	}
	return in
}

// blind says why the samples show nothing; the zero Reason where they do.
func (s *sampler) blind(samples []sample) run.Reason {
	switch {
	case s.err != nil:
		return run.Reason{Code: run.ReasonSampling, Text: s.err.Error()}
	case len(samples) == 0:
		return run.Reason{Code: run.ReasonNoSample, N: int64(sampleEvery)}
	case s.noStack != nil && !s.wchanNames:
		return run.Reason{Code: run.ReasonNoSymbols, Text: s.noStack.Error()}
	}
	return run.Reason{}
}

// split takes blocked time out of the time in system calls, and that of faults out of
// the time that seemed to run. Samples are not exact: where they add up to more time
// than there was, they are scaled down to it.
func split(w *run.Waits, blocked map[blockedIn][]run.Nanos) {
	pools := map[bool]*run.Wait{}
	for i := range w.Series {
		switch s := &w.Series[i]; s.Cause {
		case run.CauseSyscall:
			s.Where, s.Cause = run.WaitRunning, run.CauseSyscallBusy
			pools[false] = s
		case run.CauseRunning:
			pools[true] = s
		}
	}
	found := map[waitKey]*run.Wait{}
	for fault, pool := range pools {
		for k := range pool.Time {
			var sum run.Nanos
			for in, t := range blocked {
				if in.fault == fault {
					sum += t[k]
				}
			}
			share := 1.0
			if sum > pool.Time[k] {
				share = float64(pool.Time[k]) / float64(sum)
			}
			for in, t := range blocked {
				if in.fault != fault || t[k] == 0 {
					continue
				}
				cause := in.cause
				if fault {
					cause = run.CauseFault + cause
				}
				key := waitKey{run.WaitKernel, cause}
				if found[key] == nil {
					found[key] = &run.Wait{Where: run.WaitKernel, Cause: cause, Symbols: map[string]run.Nanos{}, Time: make([]run.Nanos, run.WaitWindows)}
				}
				part := run.Nanos(share * float64(t[k]))
				found[key].Time[k] += part
				found[key].Symbols[in.symbol] += part
				pool.Time[k] -= part
			}
			pool.Time[k] = max(pool.Time[k], 0)
		}
	}
	for _, s := range sortedWaits(found) {
		w.Series = append(w.Series, *s)
	}
}

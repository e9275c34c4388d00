package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync"

	"github.com/stele-go/stele/header"
	"github.com/stele-go/stele/header/notice"
)

// What became of a file that no plan had a word about.
const (
	stateFailed   notice.State = "failed"
	stateNotBegun notice.State = "not-begun" // interrupted before
)

// An outcome is what became of one file.
type outcome struct {
	Path   string       `json:"path"`
	State  notice.State `json:"state"`
	Style  string       `json:"style,omitempty"`
	Reason string       `json:"reason,omitempty"`
	Error  string       `json:"error,omitempty"`
	Diff   string       `json:"diff,omitempty"`
	Result *rawResult   `json:"result,omitempty"` // with --raw

	interrupted bool // it failed as the call was interrupted
}

// A headerRun carries a plan out on many files.
type headerRun struct {
	plan    *notice.Plan
	within  *confinement
	write   bool // else only say what would be done
	diff    bool
	options header.AllOptions
	tell    func(done, of int, path string)

	mu       sync.Mutex
	outcomes map[string]*outcome
	done, of int
}

// A change is what the plan means for one file, and how that looks.
type change struct {
	notice.Change
	diff string
}

// attempts is how often a file is read again that somebody else changes
// between reading and writing.
const attempts = 4

// run returns what became of every file, in the order of files.
func (r *headerRun) run(ctx context.Context, files []found) []outcome {
	r.outcomes = map[string]*outcome{}
	var names []string
	for _, f := range files {
		switch {
		case f.err != nil:
			r.outcomes[f.path] = &outcome{Path: f.path, State: stateFailed, Error: f.err.Error()}
		case f.reason != "":
			r.outcomes[f.path] = &outcome{Path: f.path, State: notice.Skipped, Reason: f.reason}
		default:
			r.outcomes[f.path] = &outcome{Path: f.path, State: stateNotBegun}
			names = append(names, f.path)
		}
	}
	r.of = len(names)
	if r.write {
		for n := 1; len(names) > 0 && ctx.Err() == nil; n++ {
			names = r.writeAll(ctx, names, n == attempts)
		}
	} else {
		r.lookAll(ctx, names)
	}
	var all []outcome
	for _, f := range files {
		all = append(all, *r.outcomes[f.path])
	}
	return all
}

// writeAll changes files. It returns those that changed meanwhile, to be
// tried again unless it is the last attempt.
func (r *headerRun) writeAll(ctx context.Context, names []string, last bool) (again []string) {
	planned := map[string]change{}
	decide := func(name string) (old, data []byte, err error) {
		c, err := r.look(name)
		if err != nil {
			return nil, nil, err
		}
		r.mu.Lock()
		planned[name] = c
		r.mu.Unlock()
		return c.Old, c.New, nil
	}
	o := r.options
	r.within.options(&o.Options)
	o.Report = func(d header.FileResult) {
		r.mu.Lock()
		c := planned[d.Name]
		r.mu.Unlock()
		if errors.Is(d.Err, header.ErrChanged) && !last {
			again = append(again, d.Name)
			return
		}
		r.finish(d.Name, c, d.Err)
	}
	// What was not begun stays so, and each error is one of the files.
	header.SwapAll(ctx, slices.Values(names), decide, o)
	return again
}

// lookAll finds out about files and writes nothing.
func (r *headerRun) lookAll(ctx context.Context, names []string) {
	next := make(chan string)
	var wg sync.WaitGroup
	for range cmp.Or(r.options.Workers, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for name := range next {
				c, err := r.look(name)
				r.finish(name, c, err)
			}
		})
	}
	for _, name := range names {
		if ctx.Err() != nil {
			break
		}
		next <- name
	}
	close(next)
	wg.Wait()
}

func (r *headerRun) finish(name string, c change, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*r.outcomes[name] = outcome{Path: name, State: c.State, Style: c.Style, Reason: c.Reason, Diff: c.diff}
	if err != nil {
		*r.outcomes[name] = outcome{Path: name, State: stateFailed, Style: c.Style, Error: err.Error(), interrupted: errors.Is(err, context.Canceled)}
	}
	r.done++
	r.tell(r.done, r.of, name)
}

// How much of a file is read to find its header: more when its comments do
// not end there.
const (
	firstRead = 16 << 10
	mostRead  = 1 << 20
)

// look reads the head of a file and decides what is to be done.
func (r *headerRun) look(name string) (change, error) {
	f, err := r.within.open(name)
	if errors.Is(err, fs.ErrNotExist) { // it was there when the files were collected
		return change{Change: notice.Change{State: notice.Skipped, Reason: "gone meanwhile"}}, nil
	}
	if err != nil {
		return change{}, &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer f.Close()
	size := firstRead
	if r.diff {
		size = mostRead // the changed line is to be shown whole
	}
	st, err := f.Stat()
	if err != nil {
		return change{}, err
	}
	if !st.Mode().IsRegular() { // it was, when the files were collected
		return change{Change: notice.Change{State: notice.Skipped, Reason: "not a regular file"}}, nil
	}
	for {
		src := make([]byte, min(int64(size), st.Size()+1))
		n, err := f.ReadAt(src, 0)
		if err != nil && err != io.EOF {
			return change{}, err
		}
		whole := n < len(src)
		src = src[:n]
		decided, err := r.plan.Decide(name, src, whole)
		if errors.Is(err, notice.ErrShort) && size < mostRead {
			size *= 4
			continue
		}
		c := change{Change: decided}
		if err != nil {
			return c, &os.PathError{Op: string(r.plan.Verb) + " header", Path: name, Err: err}
		}
		if c.New != nil && r.diff {
			c.diff = diff(c.Change, name, src, whole)
		}
		if c.New != nil {
			c.widen(src)
		}
		return c, nil
	}
}

// widen makes the change say more of the file than it changes, so that a
// header which somebody else puts there meanwhile is noticed.
func (c *change) widen(src []byte) {
	const more = 512
	tail := src[len(c.Old):min(len(src), len(c.Old)+more)]
	c.Old = src[:len(c.Old)+len(tail)]
	c.New = append(c.New, tail...)
}

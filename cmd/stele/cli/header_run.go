package cli

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

// States of files beside those of package notice.
const (
	stateFailed   notice.State = "failed"
	stateNotBegun notice.State = "not-begun" // interrupted first
)

// An outcome is the result for one file.
type outcome struct {
	Path   string       `json:"path"`
	State  notice.State `json:"state"`
	Style  string       `json:"style,omitempty"`
	Reason string       `json:"reason,omitempty"`
	Error  string       `json:"error,omitempty"`
	Diff   string       `json:"diff,omitempty"`
	Result *rawResult   `json:"result,omitempty"` // with --raw

	interrupted bool // it failed because the call was interrupted
}

// A headerRun edits many files.
type headerRun struct {
	editor  *notice.Editor
	within  *confinement
	write   bool // else a dry run, or a check
	diff    bool
	options header.AllOptions
	tell    func(done, of int, path string)

	mu       sync.Mutex
	outcomes map[string]*outcome
	done, of int
}

// A change is the change of one file, and its patch.
type change struct {
	notice.Change
	diff string
}

// attempts is how often a file is edited if another process changes it between
// reading and writing.
const attempts = 4

// run edits the files and returns their outcomes, in the order of files.
func (r *headerRun) run(ctx context.Context, files []entry) []outcome {
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

// writeAll changes files. Unless it is the last attempt, it returns those that
// another process changed meanwhile.
func (r *headerRun) writeAll(ctx context.Context, names []string, last bool) (again []string) {
	decided := map[string]change{}
	decide := func(name string) (old, data []byte, err error) {
		c, err := r.look(name)
		if err != nil {
			return nil, nil, err
		}
		r.mu.Lock()
		decided[name] = c
		r.mu.Unlock()
		return c.Old, c.New, nil
	}
	o := r.options
	r.within.options(&o.Options)
	o.Report = func(d header.FileResult) {
		r.mu.Lock()
		c := decided[d.Name]
		r.mu.Unlock()
		if errors.Is(d.Err, header.ErrChanged) && !last {
			again = append(again, d.Name)
			return
		}
		r.finish(d.Name, c, d.Err)
	}
	// The error joins those of the files, which Report has had.
	header.SwapAll(ctx, slices.Values(names), decide, o)
	return again
}

// lookAll decides on files and writes nothing.
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

// The length of the head of a file that is read first, and at most, in bytes.
const (
	firstRead = 16 << 10
	mostRead  = 1 << 20
)

// look reads the head of a file and decides on its change.
func (r *headerRun) look(name string) (change, error) {
	f, err := r.within.open(name)
	if errors.Is(err, fs.ErrNotExist) { // it was there when the files were collected
		return change{Change: notice.Change{State: notice.Skipped, Reason: "removed meanwhile"}}, nil
	}
	if err != nil {
		return change{}, &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer f.Close()
	size := firstRead
	if r.diff {
		size = mostRead // a patch shows the changed line whole
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
		edit := r.editor.EditHead
		if whole {
			edit = r.editor.Edit
		}
		edited, err := edit(name, src)
		if errors.Is(err, notice.ErrShort) && size < mostRead {
			size *= 4
			continue
		}
		c := change{Change: edited}
		if err != nil {
			return c, err
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

// widen extends the change by unchanged bytes, so that header.SwapAll notices a
// header that another process inserts meanwhile.
func (c *change) widen(src []byte) {
	const more = 512
	tail := src[len(c.Old):min(len(src), len(c.Old)+more)]
	c.Old = src[:len(c.Old)+len(tail)]
	c.New = append(c.New, tail...)
}

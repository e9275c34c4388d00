package header

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/oldfile"
	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/sys"
)

// AllOptions are the settings of InsertAll and SwapAll.
type AllOptions struct {
	Options
	// Workers is the number of files changed at once. 0 is GOMAXPROCS.
	Workers int
	// Report, unless nil, is called for each file when it is done, by one
	// goroutine at a time, in no certain order. The file is no longer locked.
	Report func(FileResult)
}

func (o AllOptions) check() error {
	if o.Workers < 0 {
		return setting.Wrong("header: AllOptions.Workers", o.Workers, "0 (GOMAXPROCS) or more")
	}
	return o.Options.check()
}

// A FileResult is the result for one file.
type FileResult struct {
	Name   string
	Result Result
	Err    error
}

// InsertAll inserts head(name) into each file of names; an empty header leaves the
// file unchanged. Each file is changed with the promise of Insert; there is no
// promise for all of them together.
//
// InsertAll returns when all files are done, with one result for each file that was
// begun, in the order of names. The error says how many failed, and wraps the first
// of their errors. Once ctx is done no other file is begun, and those that were
// begun are completed. The error wraps that of ctx if ctx was done when names ended,
// which may have had more names, or if a name was not begun.
//
// At level Power, files that are replaced are committed in groups of up to 64 a
// worker: all are written, then synced, then renamed, and each directory is synced once
// a group. A file is done when its group is.
//
// Several goroutines call head at once, and hold no file lock then: head may use
// this package. names runs in a goroutine of its own, and may wait for a call of
// Report: a group that gets no further name within 1 ms is committed. If names waits
// for anything else, it must end once ctx is done: neither InsertAll nor a panic of
// Report returns before.
func InsertAll(ctx context.Context, names iter.Seq[string], head func(name string) ([]byte, error), o AllOptions) ([]FileResult, error) {
	return runAll(ctx, "insert", names, o, func(name string) (change, error) {
		data, err := head(name)
		if err != nil || len(data) == 0 {
			return nil, err
		}
		return insertion(data), nil
	})
}

// SwapAll is InsertAll with Swap. If old and data are equal, or both nil, the file
// stays unchanged.
func SwapAll(ctx context.Context, names iter.Seq[string], swap func(name string) (old, data []byte, err error), o AllOptions) ([]FileResult, error) {
	return runAll(ctx, "swap", names, o, func(name string) (change, error) {
		old, data, err := swap(name)
		if err != nil || len(old) == 0 && len(data) == 0 {
			return nil, err
		}
		return swapping(old, data), nil
	})
}

// maxGroup is the largest number of files in a group. Each holds two descriptors and
// a lock.
const maxGroup = 64

// groupSize returns how many files each worker may have in its group, so that all
// workers together leave half of the descriptors to the rest of the process.
func groupSize(o AllOptions, workers int) int {
	if o.Level != durability.Power {
		return 1
	}
	soft, _, err := sys.FileLimits()
	if err != nil {
		return maxGroup
	}
	each := uint64(4)
	if o.Root != nil {
		each = 8 // the file may have a directory of its own
	}
	return int(max(1, min(maxGroup, soft/each/uint64(workers))))
}

// An indexedResult is the result for the name with that index.
type indexedResult struct {
	index int
	FileResult
}

// A task is a file to change. The caller's function for it runs while no lock is
// held, as it may wait for one.
type task struct {
	n    int
	name string
	c    change
	err  error
}

func runAll(ctx context.Context, op string, names iter.Seq[string], o AllOptions, what func(name string) (change, error)) ([]FileResult, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	todo, done := make(chan task), make(chan indexedResult, maxGroup)
	var workers sync.WaitGroup
	count := cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	most := groupSize(o, count)
	for range count {
		workers.Go(func() {
			w := worker{op: op, o: o, makeChange: what, done: done, groupMax: most}
			var last dirCache
			defer last.close()
			w.o.cache = &last
			w.run(ctx, todo)
		})
	}
	given := 0
	var ended error // the error of ctx when names ended
	go func() {
		for name := range names {
			if given++; ctx.Err() != nil || !give(ctx, todo, task{n: given - 1, name: name}) {
				break
			}
		}
		ended = ctx.Err() // names may have ended because of it
		close(todo)
		workers.Wait()
		close(done)
	}()
	defer func() { // so that a panic of Report leaves no change half done
		cancel()
		for range done {
		}
	}()
	var results []indexedResult
	for d := range done {
		results = append(results, d)
		if o.Report != nil {
			o.Report(d.FileResult)
		}
	}
	if ended == nil && len(results) < given {
		ended = ctx.Err()
	}
	return inOrder(results, ended)
}

// give sends a task to a worker, unless ctx ends first.
func give(ctx context.Context, todo chan<- task, t task) bool {
	select {
	case todo <- t:
		return true
	case <-ctx.Done():
		return false
	}
}

// inOrder returns results in the order of the names, and their error. early is the
// reason if some names have none.
func inOrder(results []indexedResult, early error) ([]FileResult, error) {
	slices.SortFunc(results, func(a, b indexedResult) int { return a.index - b.index })
	list := make([]FileResult, len(results))
	var first error
	failed := 0
	for i, r := range results {
		list[i] = r.FileResult
		if r.Err != nil {
			failed++
			first = cmp.Or(first, r.Err)
		}
	}
	switch {
	case early != nil && first != nil:
		return list, fmt.Errorf("header: %w; %d of %d files failed, the first: %w", early, failed, len(list), first)
	case early != nil:
		return list, fmt.Errorf("header: %w; %d files done", early, len(list))
	case first != nil:
		return list, fmt.Errorf("header: %d of %d files failed, the first: %w", failed, len(list), first)
	}
	return list, nil
}

// A worker changes files one after the other.
type worker struct {
	op         string
	o          AllOptions
	makeChange func(name string) (change, error)
	done       chan<- indexedResult

	// At level Power, the files that are written and will be committed together.
	// They are locked: while there are any, the worker waits for no other lock,
	// lest two workers or processes wait for each other.
	batch    *atomicfile.Batch
	inBatch  bool // the current file is part of batch
	group    []pendingFile
	groupMax int             // size of a full group
	deferred []indexedResult // sent after commit, as the consumer may be waiting for one of the locks
}

type pendingFile struct {
	result indexedResult
	t      *target
}

func (w *worker) run(ctx context.Context, todo <-chan task) {
	for {
		tasks := w.take(todo)
		if len(tasks) == 0 {
			return
		}
		for _, k := range tasks {
			if ctx.Err() != nil {
				break
			}
			res, err := w.process(ctx, k)
			if ctx.Err() != nil && errors.Is(err, ctx.Err()) && !isLocked(err) {
				break // ctx was done before the file was touched: it was not begun
			}
			if err != errPending {
				w.report(indexedResult{k.n, FileResult{k.name, res, err}})
			}
		}
		w.commit()
	}
}

// groupWait is how long a group waits for one more name. The source of names may be
// waiting for the group's results.
const groupWait = time.Millisecond

// take receives the tasks of a group: at least one, none at the end.
func (w *worker) take(todo <-chan task) (tasks []task) {
	var late <-chan time.Time
	for len(tasks) < w.groupMax {
		select {
		case k, ok := <-todo:
			if !ok {
				return tasks
			}
			k.c, k.err = w.makeChange(k.name)
			tasks = append(tasks, k)
			late = time.After(groupWait)
		case <-late:
			return tasks
		}
	}
	return tasks
}

func (w *worker) process(ctx context.Context, k task) (Result, error) {
	switch {
	case k.err != nil:
		return Result{}, wrapError(w.op, k.name, k.err)
	case k.c == nil:
		return noChange(w.o.Options), nil
	case w.o.Level != durability.Power:
		return apply(ctx, w.op, k.name, w.o.Options, k.c)
	}
	res, err := w.addToGroup(ctx, k)
	if len(w.group) > 0 && (errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)) {
		w.commit() // closes most of the open descriptors
		res, err = w.addToGroup(ctx, k)
	}
	return res, err
}

// report sends a result, and waits for the consumer only if no lock is held.
func (w *worker) report(d indexedResult) {
	if len(w.group) == 0 {
		w.done <- d
		return
	}
	select {
	case w.done <- d:
	default:
		w.deferred = append(w.deferred, d)
	}
}

// errPending means that the result comes when the group is committed.
var errPending = errors.New("waits for its group")

// addToGroup changes a file, and makes it one of the group if it has to be committed.
func (w *worker) addToGroup(ctx context.Context, k task) (Result, error) {
	t, err := lockIfFree(ctx, k.name, w.o.Mode == InPlace, w.o.Options)
	if errors.Is(err, errLocked) {
		w.commit()
		t, err = lockTarget(ctx, k.name, w.o.Mode == InPlace, w.o.Options, w.o.LockWait)
	}
	if err != nil {
		return Result{}, wrapError(w.op, k.name, err)
	}
	e, err := k.c(t, w.o.Options)
	if err != nil || e == nil {
		t.close()
		if err != nil {
			return Result{}, wrapError(w.op, k.name, err)
		}
		return noChange(w.o.Options), nil
	}
	w.inBatch = false
	_, res, err := t.perform(e, w.o.Options, func(o atomicfile.Options, perm fs.FileMode, fill func(content) error) (*atomicfile.File, error) {
		return nil, w.create(t, perm, o, fill)
	})
	if err == nil && w.inBatch {
		if !locking {
			t.close()
		}
		w.group = append(w.group, pendingFile{indexedResult{k.n, FileResult{Name: k.name, Result: res}}, t})
		return Result{}, errPending
	}
	t.close()
	if err != nil {
		return Result{}, wrapError(w.op, k.name, err)
	}
	return res, nil
}

// create adds a new file to the batch, which commits it.
func (w *worker) create(t *target, perm fs.FileMode, o atomicfile.Options, fill func(content) error) error {
	if w.batch == nil {
		o.Root = w.o.Root // of all directories
		w.batch = atomicfile.NewBatch(o)
	}
	oldfile.Set(w.batch, t.f)
	err := w.batch.AddFunc(t.batchName(), perm, func(c *atomicfile.Content) error { return fill(c) })
	w.inBatch = err == nil
	return t.withUserName(err)
}

// batchName is the name by which a batch knows the file.
func (p *location) batchName() string {
	if p.dir != nil {
		return p.rel
	}
	return p.name
}

// commit commits the group and sends the result of each of its files.
func (w *worker) commit() {
	if w.batch == nil {
		return // then no file is pending
	}
	err := w.batch.Commit()
	for _, g := range w.group {
		if ferr := errorOf(err, g.t.batchName()); ferr != nil {
			g.result.Result, g.result.Err = Result{}, wrapError(w.op, g.result.Name, g.t.withUserName(ferr))
		}
		g.t.close()
		w.deferred = append(w.deferred, g.result)
	}
	w.batch, w.group = nil, nil
	for _, d := range w.deferred {
		w.done <- d
	}
	w.deferred = nil
}

// errorOf returns the one of a batch's errors that is about the file path or its
// directory. A path is locked, so it is in a group only once.
func errorOf(err error, path string) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	for _, err := range joined.Unwrap() {
		pe, ok := errors.AsType[*fs.PathError](err)
		if !ok {
			continue
		}
		ofDir := errors.Is(err, atomicfile.ErrNotDurable) && filepath.Clean(pe.Path) == filepath.Dir(path)
		if pe.Path == path || ofDir {
			return err
		}
	}
	return nil
}

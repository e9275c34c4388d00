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
	// Workers is how many files are worked on at once. 0 is GOMAXPROCS.
	Workers int
	// Report, unless nil, is told of each file as it is done, by one goroutine at
	// a time, in no certain order. No lock is held for its file by then.
	Report func(FileResult)
}

func (o AllOptions) check() error {
	if o.Workers < 0 {
		return setting.Wrong("header: AllOptions.Workers", o.Workers, "0 (GOMAXPROCS) or more")
	}
	return o.Options.check()
}

// A FileResult is what became of one file.
type FileResult struct {
	Name   string
	Result Result
	Err    error
}

// InsertAll inserts into each of the files what head gives for it, which may
// be nothing: then the file stays as it is. Each file is changed, and
// promised, as by Insert; there is no promise for all of them together.
//
// It returns when all is done, with one result for each file that was begun,
// in the order of names. The error tells how many failed, and wraps the first
// of their errors. Once ctx is done no other file is begun, and those that were
// begun are ended. The error wraps that of ctx if ctx was done when names ended,
// which may have had another name to give, or if a name was not begun.
//
// At level Power the files that get new ones are committed in groups of up to
// 64 a worker: all are written, then synced, then renamed, and each folder is
// synced once a group. So a file is done when its group is.
//
// head is called by several goroutines at once, while no file is locked by
// them: it may use this package. names is called in a goroutine of its own, and
// may wait for what Report is told: a group that gets no other name within 1 ms
// is committed. names must end once ctx is done, should it wait for anything
// else: InsertAll does not return before, nor does a panic of Report.
func InsertAll(ctx context.Context, names iter.Seq[string], head func(name string) ([]byte, error), o AllOptions) ([]FileResult, error) {
	return all(ctx, "insert", names, o, func(name string) (change, error) {
		data, err := head(name)
		if err != nil || len(data) == 0 {
			return nil, err
		}
		return insertion(data), nil
	})
}

// SwapAll is InsertAll with Swap. An old and data that are the same, or both
// nil, leave the file as it is.
func SwapAll(ctx context.Context, names iter.Seq[string], swap func(name string) (old, data []byte, err error), o AllOptions) ([]FileResult, error) {
	return all(ctx, "swap", names, o, func(name string) (change, error) {
		old, data, err := swap(name)
		if err != nil || len(old) == 0 && len(data) == 0 {
			return nil, err
		}
		return swapping(old, data), nil
	})
}

// groupMost is how many files a group has at most. Each has two descriptors
// open, and its lock.
const groupMost = 64

// groupSize is how many files each of the workers may have in its group: all
// together leave the rest of the process half of its descriptors.
func groupSize(o AllOptions, workers int) int {
	if o.Level != durability.Power {
		return 1
	}
	soft, _, err := sys.FileLimits()
	if err != nil {
		return groupMost
	}
	each := uint64(4)
	if o.Root != nil {
		each = 8 // two more for a folder of its own
	}
	return int(max(1, min(groupMost, soft/each/uint64(workers))))
}

// A numbered result is that of the nth name.
type numbered struct {
	n int
	FileResult
}

// A task is a file to be changed. What is asked of the caller for it is asked
// while no lock is held: it may wait for one.
type task struct {
	n    int
	name string
	c    change
	err  error
}

func all(ctx context.Context, op string, names iter.Seq[string], o AllOptions, what func(name string) (change, error)) ([]FileResult, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	todo, done := make(chan task), make(chan numbered, groupMost)
	var workers sync.WaitGroup
	count := cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	most := groupSize(o, count)
	for range count {
		workers.Go(func() {
			w := worker{op: op, o: o, what: what, done: done, most: most}
			var last lastFolder
			defer last.close()
			w.o.last = &last
			w.run(ctx, todo)
		})
	}
	given := 0
	var ended error // ctx's, once no name is given any more
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
	defer func() { // so that nothing is left half done should Report panic
		cancel()
		for range done {
		}
	}()
	var results []numbered
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

// give hands a task to a worker, unless ctx ends first.
func give(ctx context.Context, todo chan<- task, t task) bool {
	select {
	case todo <- t:
		return true
	case <-ctx.Done():
		return false
	}
}

// inOrder returns results in the order of the names, and the error of all of them.
// early is the reason why some have none.
func inOrder(results []numbered, early error) ([]FileResult, error) {
	slices.SortFunc(results, func(a, b numbered) int { return a.n - b.n })
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
	op   string
	o    AllOptions
	what func(name string) (change, error)
	done chan<- numbered

	// At level Power, the files that are written and wait to be committed
	// together. They are locked: so while there are any, no other lock is
	// waited for, as two workers or processes would wait for each other.
	batch *atomicfile.Batch
	added bool // the file is part of it
	group []waiting
	most  int        // how many files make a group
	later []numbered // for the same reason: the consumer may be waiting for one of the locks
}

type waiting struct {
	done numbered
	t    *target
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
			res, err := w.one(ctx, k)
			if ctx.Err() != nil && errors.Is(err, ctx.Err()) && !isLocked(err) {
				break // ctx was done before the file was touched: it was not begun
			}
			if err != errWaits {
				w.tell(numbered{k.n, FileResult{k.name, res, err}})
			}
		}
		w.commit()
	}
}

// idle is how long a group waits for one more name. The names may come from
// whoever waits for the group's results.
const idle = time.Millisecond

// take takes what makes a group, at least one name; none at the end.
func (w *worker) take(todo <-chan task) (tasks []task) {
	var late <-chan time.Time
	for len(tasks) < w.most {
		select {
		case k, ok := <-todo:
			if !ok {
				return tasks
			}
			k.c, k.err = w.what(k.name)
			tasks = append(tasks, k)
			late = time.After(idle)
		case <-late:
			return tasks
		}
	}
	return tasks
}

func (w *worker) one(ctx context.Context, k task) (Result, error) {
	switch {
	case k.err != nil:
		return Result{}, wrap(w.op, k.name, k.err)
	case k.c == nil:
		return nothing(w.o.Options), nil
	case w.o.Level != durability.Power:
		return apply(ctx, w.op, k.name, w.o.Options, k.c)
	}
	res, err := w.join(ctx, k)
	if len(w.group) > 0 && (errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)) {
		w.commit() // which holds most of the descriptors
		res, err = w.join(ctx, k)
	}
	return res, err
}

// tell tells a result, and waits for the consumer only if no lock is held.
func (w *worker) tell(d numbered) {
	if len(w.group) == 0 {
		w.done <- d
		return
	}
	select {
	case w.done <- d:
	default:
		w.later = append(w.later, d)
	}
}

// errWaits: the result comes with the group.
var errWaits = errors.New("waits for its group")

// join changes a file, and makes it one of the group if it has to be committed.
func (w *worker) join(ctx context.Context, k task) (Result, error) {
	t, err := lockIfFree(ctx, k.name, w.o.Mode == InPlace, w.o.Options)
	if errors.Is(err, errBusy) {
		w.commit()
		t, err = lockTarget(ctx, k.name, w.o.Mode == InPlace, w.o.Options, w.o.LockWait)
	}
	if err != nil {
		return Result{}, wrap(w.op, k.name, err)
	}
	e, err := k.c(t, w.o.Options)
	if err != nil || e == nil {
		t.close()
		if err != nil {
			return Result{}, wrap(w.op, k.name, err)
		}
		return nothing(w.o.Options), nil
	}
	w.added = false
	_, res, err := t.make(e, w.o.Options, func(o atomicfile.Options, perm fs.FileMode, fill func(content) error) (*atomicfile.File, error) {
		return nil, w.create(t, perm, o, fill)
	})
	if err == nil && w.added {
		if !locking {
			t.close()
		}
		w.group = append(w.group, waiting{numbered{k.n, FileResult{Name: k.name, Result: res}}, t})
		return Result{}, errWaits
	}
	t.close()
	if err != nil {
		return Result{}, wrap(w.op, k.name, err)
	}
	return res, nil
}

// create adds a new file to the batch, which alone may commit it.
func (w *worker) create(t *target, perm fs.FileMode, o atomicfile.Options, fill func(content) error) error {
	if w.batch == nil {
		o.Root = w.o.Root // of all folders
		w.batch = atomicfile.NewBatch(o)
	}
	oldfile.Set(w.batch, t.f) // whose content the new file gets
	err := w.batch.AddFunc(t.inBatch(), perm, func(c *atomicfile.Content) error { return fill(c) })
	w.added = err == nil
	return t.told(err)
}

// inBatch is the name by which a batch knows the file.
func (p *place) inBatch() string {
	if p.folder != nil {
		return p.below
	}
	return p.name
}

// commit commits the group and tells what became of each of its files.
func (w *worker) commit() {
	if w.batch == nil {
		return // then nothing waits
	}
	err := w.batch.Commit()
	for _, g := range w.group {
		if ferr := errorOf(err, g.t.inBatch()); ferr != nil {
			g.done.Result, g.done.Err = Result{}, wrap(w.op, g.done.Name, g.t.told(ferr))
		}
		g.t.close()
		w.later = append(w.later, g.done)
	}
	w.batch, w.group = nil, nil
	for _, d := range w.later {
		w.done <- d
	}
	w.later = nil
}

// errorOf is that of a batch's errors which is about the file path, or about
// its folder. A path is locked, and so in one group only once.
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
		folder := errors.Is(err, atomicfile.ErrNotDurable) && filepath.Clean(pe.Path) == filepath.Dir(path)
		if pe.Path == path || folder {
			return err
		}
	}
	return nil
}

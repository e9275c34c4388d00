package header

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
)

// AllOptions are the settings of InsertAll and SwapAll.
type AllOptions struct {
	Options
	// Workers is how many files are worked on at once. 0 is GOMAXPROCS.
	Workers int
}

// A Done is what became of one file.
type Done struct {
	Name   string
	Result Result
	Err    error
}

// InsertAll inserts into each of the files what head gives for it, which may
// be nothing: then the file stays as it is. Each file is changed, and
// promised, as by Insert; there is no promise for all of them together.
//
// Results come as files are done, in no certain order, each name once. At
// level Power the files that get new ones are committed in groups of up to
// 64 a worker: all are written, then synced, then renamed, and each folder is
// synced once a group. So a file's result comes when its group is done.
//
// It reads names while it works, in a goroutine of its own. Once ctx is done,
// or the loop over the results is left, no other file is begun; those that
// were begun are ended, and then the loop ends. What was not begun has no
// result: ctx.Err() tells.
//
// head is called by several goroutines at once, while no file is locked by
// them: it may use this package. So may names, which may also wait for results:
// a group that gets no other name within 1 ms is committed.
func InsertAll(ctx context.Context, names iter.Seq[string], head func(name string) ([]byte, error), o AllOptions) iter.Seq[Done] {
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
func SwapAll(ctx context.Context, names iter.Seq[string], swap func(name string) (old, data []byte, err error), o AllOptions) iter.Seq[Done] {
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

func all(ctx context.Context, op string, names iter.Seq[string], o AllOptions, what func(name string) (change, error)) iter.Seq[Done] {
	return func(yield func(Done) bool) {
		ctx, cancel := context.WithCancel(ctx)
		todo, done := make(chan string), make(chan Done, groupMost)
		defer func() { // so that nothing is left half done, whatever the loop did
			cancel()
			for range done {
			}
		}()
		var workers sync.WaitGroup
		n := o.Workers
		if n <= 0 {
			n = runtime.GOMAXPROCS(0)
		}
		for range n {
			workers.Go(func() {
				w := worker{op: op, o: o.Options, what: what, done: done}
				w.run(ctx, todo)
			})
		}
		go func() {
			for name := range names {
				if ctx.Err() != nil {
					break
				}
				select {
				case todo <- name:
				case <-ctx.Done():
				}
			}
			close(todo)
			workers.Wait()
			close(done)
		}()
		for d := range done {
			if !yield(d) {
				return
			}
		}
	}
}

// A worker changes files one after the other.
type worker struct {
	op   string
	o    Options
	what func(name string) (change, error)
	done chan<- Done

	// At level Power, the files that are written and wait to be committed
	// together. They are locked: so while there are any, no other lock is
	// waited for, as two workers or processes would wait for each other.
	batch *atomicfile.Batch
	group []waiting
	later []Done // for the same reason: the consumer may be waiting for one of the locks
}

type waiting struct {
	done Done
	t    *target
	f    *atomicfile.File
}

// A task is a file to be changed. What is asked of the caller for it is asked
// while no lock is held: it may wait for one.
type task struct {
	name string
	c    change
	err  error
}

func (w *worker) run(ctx context.Context, todo <-chan string) {
	for {
		tasks := w.take(todo)
		if len(tasks) == 0 {
			return
		}
		for _, k := range tasks {
			if ctx.Err() != nil {
				break
			}
			res, err := w.one(k)
			if err != errWaits {
				w.tell(Done{k.name, res, err})
			}
		}
		w.commit()
	}
}

// idle is how long a group waits for one more name. The names may come from
// whoever waits for the group's results.
const idle = time.Millisecond

// take takes what makes a group, at least one name; none at the end.
func (w *worker) take(todo <-chan string) (tasks []task) {
	most := 1
	if w.o.Level == durability.Power {
		most = groupMost
	}
	var late <-chan time.Time
	for len(tasks) < most {
		select {
		case name, ok := <-todo:
			if !ok {
				return tasks
			}
			c, err := w.what(name)
			tasks = append(tasks, task{name, c, err})
			late = time.After(idle)
		case <-late:
			return tasks
		}
	}
	return tasks
}

func (w *worker) one(k task) (Result, error) {
	if err := w.o.check(); err != nil {
		return Result{}, wrap(w.op, k.name, err)
	}
	name, c := k.name, k.c
	switch {
	case k.err != nil:
		return Result{}, wrap(w.op, name, k.err)
	case c == nil:
		return nothing(w.o), nil
	case w.o.Level != durability.Power:
		return apply(w.op, name, w.o, c)
	}
	res, err := w.join(name, c)
	if len(w.group) > 0 && (errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)) {
		w.commit() // which holds most of the descriptors
		res, err = w.join(name, c)
	}
	return res, err
}

// tell tells a result, and waits for the consumer only if no lock is held.
func (w *worker) tell(d Done) {
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
func (w *worker) join(name string, c change) (Result, error) {
	t, err := lockIfFree(name, w.o.Mode == InPlace)
	if errors.Is(err, errBusy) {
		w.commit()
		t, err = lockTarget(name, w.o.Mode == InPlace)
	}
	if err != nil {
		return Result{}, wrap(w.op, name, err)
	}
	e, err := c(t, w.o)
	if err != nil || e == nil {
		t.close()
		if err != nil {
			return Result{}, wrap(w.op, name, err)
		}
		return nothing(w.o), nil
	}
	f, res, err := t.make(e, w.o, w.create)
	if err == nil && f != nil {
		if err = w.batch.Include(f); err == nil {
			if !locking {
				t.close()
			}
			w.group = append(w.group, waiting{Done{Name: name, Result: res}, t, f})
			return Result{}, errWaits
		}
	}
	t.close()
	if err != nil {
		return Result{}, wrap(w.op, name, err)
	}
	return res, nil
}

func (w *worker) create(path string, perm fs.FileMode) (*atomicfile.File, error) {
	if w.batch == nil {
		w.batch = atomicfile.NewBatch(w.o.atomicfile())
	}
	return w.batch.Create(path, perm)
}

// commit commits the group and tells what became of each of its files.
func (w *worker) commit() {
	if w.batch == nil {
		return // then nothing waits
	}
	err := w.batch.Commit()
	for _, g := range w.group {
		if ferr := g.f.Err(); ferr != nil {
			g.done.Result, g.done.Err = Result{}, wrap(w.op, g.done.Name, ferr)
		} else if ferr = folderError(err, g.t.path); ferr != nil {
			g.done.Result, g.done.Err = Result{}, wrap(w.op, g.done.Name, ferr)
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

// folderError is that of a batch's errors which is about the folder of path.
func folderError(err error, path string) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	for _, err := range joined.Unwrap() {
		if pe, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, atomicfile.ErrNotDurable) &&
			filepath.Clean(pe.Path) == filepath.Dir(path) {
			return err
		}
	}
	return nil
}

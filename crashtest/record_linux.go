package crashtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"github.com/stele-go/stele/internal/measure/fileop"
)

// A Recording is what a disk was told while some work ran on it, and the
// ledger of that work. It is no longer valid when the test that made it ends.
type Recording[T any] struct {
	tape   *tape
	rig    *rig
	ledger []T
}

// Record makes a file system, runs work below its root, and returns what
// reached the disk meanwhile. It skips the test, with the reason, where that
// is not possible, and fails it if work returns an error.
//
// ack adds an entry to the ledger: from now on, entry is promised to survive
// a power cut. Each goroutine of work must ack what it has done before it
// does more. (An entry may also note that something has begun, where a check
// wants to know.) When work returns it must have ended its goroutines and
// closed its files.
func Record[T any](t testing.TB, o Options, work func(dir string, ack func(entry T)) error) *Recording[T] {
	t.Helper()
	fs, err := fileSystemOf(o)
	if err != nil {
		t.Fatal(err)
	}
	if why := available(fs); why != "" {
		t.Skip(why)
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	rec := &Recording[T]{tape: &tape{fs: fs, seed: o.Seed}}
	err = rec.record(t, o, work)
	if errors.Is(err, errUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	writes, flushes := 0, 0
	for _, r := range rec.tape.records[rec.tape.begin:] {
		if r.kind == kindFlush {
			flushes++
		} else {
			writes++
		}
	}
	t.Logf("%s: recorded %d writes, %d flushes, %d acknowledgements; seed %d", fs.name, writes, flushes, len(rec.ledger), o.Seed)
	return rec
}

func (rec *Recording[T]) record(t testing.TB, o Options, work func(dir string, ack func(entry T)) error) (err error) {
	tp := rec.tape
	// Each step says so in its error: a rig has many that can fail.
	step := func(name string, err error) error {
		if err != nil {
			return fmt.Errorf("crashtest: %s: %w", name, err)
		}
		return nil
	}
	rec.rig, tp.base, err = newRig(t, tp.fs)
	if err != nil {
		return step("make the disk", err)
	}
	dir, err := rec.rig.mountDisk()
	if err != nil {
		return step("mount the disk", err)
	}
	begin, end, err := rec.run(dir, o, work)
	if err := errors.Join(err, step("unmount the disk", unmount(dir))); err != nil {
		return err
	}
	// What came later is the doing of the unmount.
	if tp.records, err = rec.rig.records(end); err != nil {
		return err
	}
	tp.begin = tp.recordsBefore(begin)
	return nil
}

// run prepares and works. It returns the length of the log before and after
// the work.
func (rec *Recording[T]) run(dir string, o Options, work func(dir string, ack func(entry T)) error) (begin, end int64, err error) {
	if o.Prepare != nil {
		if err := o.Prepare(dir); err != nil {
			return 0, 0, fmt.Errorf("crashtest: prepare: %w", err)
		}
	}
	if err := fileop.Syncfs(dir); err != nil {
		return 0, 0, err
	}
	if o.OnSync != nil {
		stop, failed := syncCalls.watch(dir, o.OnSync)
		if failed != nil {
			return 0, 0, failed
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	if begin, err = rec.rig.position(); err != nil {
		return 0, 0, err
	}
	var (
		mu     sync.Mutex // so that the ledger is in the order of the log
		ackErr error
	)
	err = work(dir, func(entry T) {
		mu.Lock()
		defer mu.Unlock()
		length, err := rec.rig.position()
		if err != nil {
			ackErr = err
		}
		rec.ledger = append(rec.ledger, entry)
		rec.tape.acks = append(rec.tape.acks, length)
	})
	if err = errors.Join(err, ackErr); err != nil {
		return 0, 0, fmt.Errorf("crashtest: work: %w", err)
	}
	end, err = rec.rig.position()
	return begin, end, err
}

// Check cuts the power n times and calls check for each cut, with the root of
// the file system as it is after it and with the entries that had been
// acknowledged before it. What check returns, unless nil, is a loss. It may
// write below dir, and must close what it opens there.
//
// A file system that does not mount after a cut fails the test at once: then
// the rig or the kernel is broken, or the work has damaged the device.
func (rec *Recording[T]) Check(t testing.TB, n int, check func(dir string, acked []T) error) Result {
	t.Helper()
	tp := rec.tape
	res := Result{FS: tp.fs.name, Seed: tp.seed, Cuts: n}
	for _, c := range tp.cuts(n) {
		err := rec.rig.boot(tp.image(&c), func(dir string) {
			if err := check(dir, rec.ledger[:c.Acked:c.Acked]); err != nil {
				res.Lost = append(res.Lost, Loss{Cut: c, Err: err})
			}
		})
		if err != nil {
			t.Fatalf("%s, seed %d, %v: %v", tp.fs.name, tp.seed, c, err)
		}
	}
	return res
}

// WriteImage makes f, which must be empty and writable, the device as it is
// after the cut: to be mounted, or taken apart with debugfs and its like.
func (rec *Recording[T]) WriteImage(c Cut, f *os.File) error {
	return rec.tape.image(&c).writeTo(f)
}

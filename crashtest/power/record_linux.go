package power

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"

	"github.com/stele-go/stele/internal/measure/fileop"
)

// A Recording has the requests that a disk got while some work ran on it, and
// the ledger of that work.
type Recording[T any] struct {
	log    *deviceLog
	rig    *rig
	ledger []T
}

// Record makes a file system, runs work below its root, and returns the requests
// that reached the disk meanwhile. It returns the error of work or of a step of
// the rig, and crashtest.ErrUnavailable where the rig cannot run. The program must
// call [ServeDisk] first, and Close for the recording.
//
// ack adds an entry to the ledger: from now on, entry is promised to survive a
// power cut. Each goroutine of work must ack what it has done before it does
// more. An entry may also note that something has begun, if a check needs to
// know. work must end its goroutines and close its files before it returns.
func Record[T any](o Options, work func(dir string, ack func(entry T)) error) (_ *Recording[T], err error) {
	fs, err := fileSystemOf(o)
	if err != nil {
		return nil, err
	}
	if err := unavailable(fs); err != nil {
		return nil, err
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	rec := &Recording[T]{log: &deviceLog{fs: fs, seed: o.Seed}}
	recorded := false
	defer func() { // work may also panic, or end the goroutine
		if !recorded {
			err = errors.Join(err, rec.Close())
		}
	}()
	if err := rec.record(o, work); err != nil {
		return nil, err
	}
	recorded = true
	return rec, nil
}

// Close ends the process that served the disk.
func (rec *Recording[T]) Close() error {
	if rec.rig == nil {
		return nil
	}
	return rec.rig.close()
}

// String returns the number of requests and acknowledgements, and the seed.
func (rec *Recording[T]) String() string {
	writes, flushes := 0, 0
	for _, r := range rec.log.records[rec.log.begin:] {
		if r.kind == kindFlush {
			flushes++
		} else {
			writes++
		}
	}
	return fmt.Sprintf("%s: recorded %d writes, %d flushes, %d acknowledgements; seed %d",
		rec.log.fs.name, writes, flushes, len(rec.ledger), rec.log.seed)
}

func (rec *Recording[T]) record(o Options, work func(dir string, ack func(entry T)) error) (err error) {
	log := rec.log
	// The error names the step: a rig has many that can fail.
	step := func(name string, err error) error {
		if err != nil {
			return fmt.Errorf("power: %s: %w", name, err)
		}
		return nil
	}
	rec.rig, log.base, err = newRig(log.fs)
	if err != nil {
		rec.rig = nil // newRig has closed it
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
	// Later requests are of the unmount.
	if log.records, err = rec.rig.records(end); err != nil {
		return err
	}
	log.begin = log.recordsBefore(begin)
	return nil
}

// run calls Prepare and work. It returns the length of the log before and after
// work.
func (rec *Recording[T]) run(dir string, o Options, work func(dir string, ack func(entry T)) error) (begin, end int64, err error) {
	if o.Prepare != nil {
		if err := o.Prepare(dir); err != nil {
			return 0, 0, fmt.Errorf("power: prepare: %w", err)
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
		rec.log.acks = append(rec.log.acks, length)
	})
	if err = errors.Join(err, ackErr); err != nil {
		return 0, 0, fmt.Errorf("power: work: %w", err)
	}
	end, err = rec.rig.position()
	return begin, end, err
}

// Check cuts the power n times. For each cut it calls check with the root of the
// file system after the cut and the entries that were acknowledged before it. An
// error of check is a loss. check may write below dir, and must close the files
// that it opens there.
//
// Check returns an error if a file system does not mount after a cut: the rig or
// the kernel is broken, or the work has damaged the device.
func (rec *Recording[T]) Check(n int, check func(dir string, acked []T) error) (Result, error) {
	log := rec.log
	res := Result{FS: log.fs.name, Seed: log.seed, Cuts: n}
	for _, c := range log.cuts(n) {
		err := rec.rig.boot(log.image(&c), func(dir string) {
			if err := check(dir, rec.ledger[:c.Acked:c.Acked]); err != nil {
				res.Lost = append(res.Lost, Loss{Cut: c, Err: err})
			}
		})
		if err != nil {
			return res, fmt.Errorf("power: %s, seed %d, %v: %w", log.fs.name, log.seed, c, err)
		}
	}
	return res, nil
}

// WriteImage writes the device after the cut to f, which must be empty and
// writable, for a look at it by mount or debugfs.
func (rec *Recording[T]) WriteImage(c Cut, f *os.File) error {
	return rec.log.image(&c).writeTo(f)
}

package power

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"

	"github.com/stele-go/stele/crashtest/internal/scratch"
	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/internal/setting"
)

// Shutdown runs work n times, each time on a new file system that is shut down
// (FS_IOC_SHUTDOWN) at one of the acknowledgements, mounted again and checked.
// After the shutdown work gets errors, and may return one. The error is
// crashtest.ErrUnavailable where the rig cannot run, and for btrfs, which most
// kernels cannot shut down.
//
// Shutdown shows that the journal is replayed, and catches work that never gave
// its data or its journal to the disk. It does not show whether the disk was told
// to flush: data written by O_DIRECT or sync_file_range alone survives it.
// [Record] shows that. Shutdown cuts n runs, not one, so that parallel work is
// seen in n orders.
func Shutdown[T any](o Options, n int, work func(dir string, ack func(entry T)) error, check func(dir string, acked []T) error) (res Result, err error) {
	fs, err := fileSystemOf(o)
	if err != nil {
		return Result{}, err
	}
	if err := unavailable(fs); err != nil {
		return Result{}, err
	}
	if o.OnSync != nil {
		return Result{}, setting.Wrong("power: Options.OnSync", "set", "nil: only Record calls it")
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	f, base, err := makeFS(fs)
	if err != nil {
		return Result{}, fmt.Errorf("power: make the file system: %w", err)
	}
	f.Close()
	dir, err := os.MkdirTemp("", "stele-crashtest-")
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, os.Remove(dir)) }()
	rng := rand.New(rand.NewPCG(o.Seed, 0))
	res = Result{FS: fs.name, Seed: o.Seed, Cuts: n}
	last := 0 // entry at which to shut down; 0 is after the work
	total := 0
	for i := range n {
		s := shutdownRun[T]{dir: dir, last: last}
		lost, err := s.run(fs, base, o, work, check)
		if err != nil {
			return res, fmt.Errorf("power: %s, seed %d, run %d: %w", fs.name, o.Seed, i, err)
		}
		if lost != nil {
			res.Lost = append(res.Lost, Loss{Cut: Cut{N: i, Where: "shutdown", Acked: len(s.ledger)}, Err: lost})
		}
		if total = max(total, len(s.ledger)); total > 0 {
			last = 1 + rng.IntN(total)
		}
	}
	return res, nil
}

type shutdownRun[T any] struct {
	dir    string
	last   int
	ledger []T
}

// run returns the error of check, and that of the rig.
func (s *shutdownRun[T]) run(fs fileSystem, base *image, o Options, work func(dir string, ack func(entry T)) error, check func(dir string, acked []T) error) (lost, err error) {
	f, err := scratch.File(os.O_RDWR)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := base.writeTo(f); err != nil {
		return nil, err
	}
	if err := s.mounted(f, fs, func() error { return s.work(o, work) }); err != nil {
		return nil, err
	}
	err = s.mounted(f, fs, func() error {
		lost = check(s.dir, s.ledger)
		return nil
	})
	return lost, err
}

// mounted calls do while the file system in f is mounted.
func (s *shutdownRun[T]) mounted(f *os.File, fs fileSystem, do func() error) (err error) {
	if err := mountImage(f, fs, s.dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unmount(s.dir)) }()
	return do()
}

// work works until the entry at which to shut down is acknowledged.
func (s *shutdownRun[T]) work(o Options, work func(dir string, ack func(entry T)) error) error {
	if o.Prepare != nil {
		if err := o.Prepare(s.dir); err != nil {
			return err
		}
	}
	if err := fileop.Syncfs(s.dir); err != nil {
		return err
	}
	var (
		mu   sync.Mutex
		down bool
		err  error
	)
	failed := work(s.dir, func(entry T) {
		mu.Lock()
		defer mu.Unlock()
		if down {
			return // a file system that is shut down acknowledges nothing
		}
		s.ledger = append(s.ledger, entry)
		if len(s.ledger) == s.last {
			down, err = true, shutDown(s.dir)
		}
	})
	if !down {
		err = errors.Join(failed, shutDown(s.dir))
	}
	return err
}

package states

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sort"
	"sync"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/internal/scratch"
	"github.com/stele-go/stele/crashtest/internal/serve"
	"github.com/stele-go/stele/crashtest/states/internal/tree"
)

// RecordMount runs work in a directory in which every call of every program is
// recorded: a FUSE mount. It tests code that knows nothing of this package, down
// to its system calls: syncs by O_DSYNC and RWF_DSYNC, O_TMPFILE, renameat2,
// fallocate, copy_file_range, extended attributes. It returns the error of work, and
// crashtest.ErrUnavailable where it cannot mount. The program must call Serve of package
// mount first.
//
// ack adds an entry to the ledger, as in [RecordFS]. work must close its files
// before it returns.
//
// sync(2) and syncfs(2) are not recorded: the kernel does not pass them on to a
// FUSE. Code that relies on them fails here although it is right. Writes to a
// shared mapping are recorded when the kernel writes them back, at msync(2) at
// the latest.
func RecordMount[T any](o MountOptions, work func(dir string, ack func(entry T)) error) (h *History[T], err error) {
	m, err := newMount()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	h, _, failed, err := recordMount(m, o, plan{}, work)
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}
	return h, nil
}

// recordMount records work, with the fault of p, if any. failed is the error of
// work; there is a history nonetheless.
func recordMount[T any](m *mounted, o MountOptions, p plan, work func(dir string, ack func(entry T)) error) (h *History[T], calls tree.Reply, failed, err error) {
	begin, err := m.mount(o)
	if err != nil {
		return nil, calls, nil, err
	}
	if _, err = m.do(tree.Command{Do: "begin", Plan: p.Plan}); err != nil {
		return nil, calls, nil, err
	}
	var (
		mu     sync.Mutex // so that the ledger is in the order of the log
		acked  []int64    // for each entry, the length of the log
		ackErr error
	)
	h = &History[T]{}
	if err := work(m.dir, func(entry T) {
		mu.Lock()
		defer mu.Unlock()
		at, err := m.position()
		ackErr = errors.Join(ackErr, err)
		h.ledger, acked = append(h.ledger, entry), append(acked, at)
	}); err != nil {
		failed = fmt.Errorf("states: work: %w", err)
	}
	calls, endErr := m.do(tree.Command{Do: "end"})
	// Writes to a mapping arrive at the unmount at the latest.
	_, unmountErr := m.do(tree.Command{Do: "unmount"})
	if err := errors.Join(ackErr, endErr, unmountErr); err != nil {
		return nil, calls, failed, err
	}
	ops, ends, err := m.ops()
	if err != nil {
		return nil, calls, failed, err
	}
	before := func(at int64) int { // number of operations before the offset
		return sort.Search(len(ends), func(i int) bool { return ends[i] > at })
	}
	prepared := before(begin)
	h.base, h.ops = snapshotAfter(ops[:prepared]), ops[prepared:]
	for _, at := range acked {
		h.acks = append(h.acks, before(at)-prepared)
	}
	return h, calls, failed, nil
}

// mount mounts an empty file system and prepares it. It returns the length of the log
// after that.
func (m *mounted) mount(o MountOptions) (int64, error) {
	if _, err := m.do(tree.Command{Do: "mount", Dir: m.dir, NoExchange: o.NoExchange}); err != nil {
		return 0, err
	}
	if o.Prepare != nil {
		if err := o.Prepare(m.dir); err != nil {
			_, end := m.do(tree.Command{Do: "unmount"})
			return 0, errors.Join(fmt.Errorf("states: prepare: %w", err), end)
		}
	}
	return m.position()
}

// ops returns the operations in the log, and the offset at which each ends.
func (m *mounted) ops() (ops []tree.Op, ends []int64, err error) {
	size, err := m.position()
	if err != nil {
		return nil, nil, err
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(m.log, 0, size), b); err != nil {
		return nil, nil, fmt.Errorf("states: read the log of operations: %w", err)
	}
	if ops, ends, err = tree.ParseOps(b); err != nil {
		return nil, nil, fmt.Errorf("states: %w", err)
	}
	return ops, ends, nil
}

// A mounted is the directory and the process of a recording through a mount.
type mounted struct {
	dir     string
	log     *os.File
	process *serve.Process
	out     *json.Decoder
	failed  error // why the process no longer answers
}

// newMount starts the process. Its error is crashtest.ErrUnavailable where it
// cannot mount.
func newMount() (m *mounted, err error) {
	if missing := missing(); missing != "" {
		return nil, fmt.Errorf("states: recording through a mount needs %s: %w", missing, crashtest.ErrUnavailable)
	}
	m = &mounted{}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("states: prepare a mount: %w", err), m.close())
		}
	}()
	if m.log, err = scratch.File(os.O_RDWR | os.O_APPEND); err != nil {
		return nil, err
	}
	if m.dir, err = os.MkdirTemp("", "stele-crashtest-"); err != nil {
		return nil, err
	}
	if m.process, err = serve.Start(tree.MountEnv, "1", m.log); err != nil {
		return nil, err
	}
	m.out = json.NewDecoder(m.process.Out)
	return m, nil
}

// missing returns what a mount needs and this machine does not have, or "".
func missing() string {
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return "/dev/fuse: " + err.Error()
	}
	f.Close()
	if serve.CanMount() {
		return ""
	}
	for _, name := range []string{"fusermount3", "fusermount"} {
		if _, err := exec.LookPath(name); err == nil {
			return ""
		}
	}
	return "CAP_SYS_ADMIN, or fusermount"
}

// do sends the process a command and waits for its reply.
func (m *mounted) do(c tree.Command) (r tree.Reply, err error) {
	if m.failed != nil {
		return r, m.failed
	}
	if err = json.NewEncoder(m.process.In).Encode(c); err == nil {
		err = m.out.Decode(&r)
	}
	if err != nil {
		m.failed = fmt.Errorf("states: %s: the process of the mount does not answer (does the program call mount.Serve first?): %w", c.Do, err)
		return r, m.failed
	}
	if r.Err != "" {
		return r, fmt.Errorf("states: %s: %s", c.Do, r.Err)
	}
	return r, nil
}

// position returns the current length of the log.
func (m *mounted) position() (int64, error) {
	fi, err := m.log.Stat()
	if err != nil {
		return 0, fmt.Errorf("states: stat the log of operations: %w", err)
	}
	return fi.Size(), nil
}

// close ends the process, which unmounts first.
func (m *mounted) close() (err error) {
	if m.process != nil {
		if err = m.process.Close(); err != nil {
			err = fmt.Errorf("states: the process of the mount: %w", err)
		}
	}
	if m.log != nil {
		err = errors.Join(err, m.log.Close())
	}
	if m.dir != "" {
		err = errors.Join(err, os.Remove(m.dir))
	}
	return err
}

// FaultsMount is [FaultsFS] for a program that makes system calls: work runs in a mount
// like that of [RecordMount], and check gets the files of each run in a plain
// directory. The report's Broken is crashtest.ErrUnavailable where it cannot mount.
func FaultsMount[T any](o FaultOptions, work func(dir string, ack func(entry T)) error, check func(dir string, acked []T) error) (r FaultReport) {
	m, err := newMount()
	if err != nil {
		return FaultReport{Broken: err}
	}
	defer func() {
		if err := m.close(); err != nil {
			r.Broken = errors.Join(r.Broken, err)
		}
	}()
	return tryFaults(o, func(p plan) faultRun {
		h, calls, failed, err := recordMount(m, MountOptions{Prepare: o.Prepare}, p, work)
		if err != nil {
			return faultRun{broken: err}
		}
		r := faultRun{calls: calls.Calls, hits: calls.Hits, work: failed}
		r.live = func() error {
			return inDir(h.last(), func(dir string) error { return check(dir, h.ledger) })
		}
		r.crash = func(so Options) Report { return h.CheckDir(so, check) }
		return r
	})
}

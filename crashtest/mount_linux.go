package crashtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// MountOptions are the settings of a recording through a mount.
type MountOptions struct {
	// Prepare, unless nil, makes what is there before the work; all of it is
	// durable.
	Prepare func(dir string) error
}

// RecordMount runs work in a folder in which every call of every program is
// recorded: a FUSE. So code can be tested that knows nothing of this package,
// to the system calls that it makes: syncs through O_DSYNC and RWF_DSYNC,
// O_TMPFILE, renameat2, fallocate, copy_file_range, extended attributes. It
// skips the test, with the reason, where there can be no such folder, and
// fails it if work returns an error. TestMain must call ServeDisk.
//
// ack adds an entry to the ledger, as in RecordFS. When work returns it must
// have closed its files.
//
// What does not arrive is sync(2) and syncfs(2): the kernel does not tell a
// FUSE of them, so that code that relies on them fails here though it is right.
// Writes to a shared mapping arrive when the kernel writes them back, at msync
// at the latest.
func RecordMount[T any](t testing.TB, o MountOptions, work func(dir string, ack func(entry T)) error) *History[T] {
	t.Helper()
	m := newMount(t)
	h, _, failed, err := recordMount(m, o, plan{}, work)
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	return h
}

// recordMount records work, of which p.Fault fails, if any. failed is what
// work returned; then there is a history all the same.
func recordMount[T any](m *mounted, o MountOptions, p plan, work func(dir string, ack func(entry T)) error) (h *History[T], calls mountReply, failed, err error) {
	if _, err := m.do(mountCommand{Do: "mount", Dir: m.dir}); err != nil {
		return nil, calls, nil, err
	}
	if o.Prepare != nil {
		if err := o.Prepare(m.dir); err != nil {
			_, end := m.do(mountCommand{Do: "unmount"})
			return nil, calls, nil, errors.Join(fmt.Errorf("crashtest: prepare: %w", err), end)
		}
	}
	begin, err := m.position()
	if err == nil {
		_, err = m.do(mountCommand{Do: "begin", At: p.At, Fault: p.Fault, Stays: p.Stays})
	}
	if err != nil {
		return nil, calls, nil, err
	}
	var (
		mu     sync.Mutex // so that the ledger is in the order of the log
		ends   []int64
		ackErr error
	)
	h = &History[T]{}
	if err := work(m.dir, func(entry T) {
		mu.Lock()
		defer mu.Unlock()
		at, err := m.position()
		ackErr = errors.Join(ackErr, err)
		h.ledger, ends = append(h.ledger, entry), append(ends, at)
	}); err != nil {
		failed = fmt.Errorf("crashtest: work: %w", err)
	}
	calls, endErr := m.do(mountCommand{Do: "end"})
	// What was written to a mapping arrives when it is unmounted, at the latest.
	_, unmountErr := m.do(mountCommand{Do: "unmount"})
	end, err := m.position()
	if err := errors.Join(err, ackErr, endErr, unmountErr); err != nil {
		return nil, calls, failed, err
	}
	b := make([]byte, end)
	if _, err := io.ReadFull(io.NewSectionReader(m.log, 0, end), b); err != nil {
		return nil, calls, failed, fmt.Errorf("crashtest: read the log of operations: %w", err)
	}
	ops, lengths, err := parseOps(b)
	if err != nil {
		return nil, calls, failed, err
	}
	before := func(at int64) int {
		return sort.Search(len(lengths), func(i int) bool { return lengths[i] > at })
	}
	prepared := before(begin)
	h.base, h.ops = shapeAfter(ops[:prepared]), ops[prepared:]
	for _, at := range ends {
		h.acks = append(h.acks, before(at)-prepared)
	}
	return h, calls, failed, nil
}

// A mounted is the folder and the process of a recording through a mount.
type mounted struct {
	dir     string
	log     *os.File
	process *exec.Cmd
	in      io.WriteCloser
	out     *json.Decoder
	diag    bytes.Buffer
	last    error // why it answers no more
}

// newMount starts the process. It ends with the test, and unmounts before.
func newMount(t testing.TB) *mounted {
	t.Helper()
	if why := noMount(); why != "" {
		t.Skip(why)
	}
	m := &mounted{dir: filepath.Join(t.TempDir(), "mount")}
	t.Cleanup(func() {
		if err := m.close(); err != nil {
			t.Error(err)
		}
	})
	if err := m.start(); err != nil {
		t.Fatal(err)
	}
	return m
}

// noMount says why there can be no mount here, or "".
func noMount() string {
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return "recording through a mount needs /dev/fuse: " + err.Error()
	}
	f.Close()
	if mayMount() {
		return ""
	}
	for _, name := range []string{"fusermount3", "fusermount"} {
		if _, err := exec.LookPath(name); err == nil {
			return ""
		}
	}
	return "recording through a mount needs CAP_SYS_ADMIN, or fusermount"
}

func (m *mounted) start() (err error) {
	if err := os.Mkdir(m.dir, 0o700); err != nil {
		return err
	}
	if m.log, err = scratch(os.O_RDWR | os.O_APPEND); err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("crashtest: find this program, to start it again: %w", err)
	}
	p := exec.Command(exe, "-test.run=^$") // see rig.start
	p.Env = append(os.Environ(), mountEnv+"=1", "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0")
	p.ExtraFiles = []*os.File{fdOps - 3: m.log}
	p.Stderr = &m.diag
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if m.in, err = p.StdinPipe(); err != nil {
		return err
	}
	out, err := p.StdoutPipe()
	if err != nil {
		return err
	}
	m.out = json.NewDecoder(out)
	if err := p.Start(); err != nil {
		return fmt.Errorf("crashtest: start the process of the mount: %w", err)
	}
	m.process = p
	return nil
}

// do has the process do something, and waits for its answer.
func (m *mounted) do(c mountCommand) (r mountReply, err error) {
	if m.last != nil {
		return r, m.last
	}
	if err = json.NewEncoder(m.in).Encode(c); err == nil {
		err = m.out.Decode(&r)
	}
	if err != nil {
		m.last = fmt.Errorf("crashtest: %s: the process of the mount does not answer (does TestMain call ServeDisk first?): %w", c.Do, err)
		return r, m.last
	}
	if r.Err != "" {
		return r, fmt.Errorf("crashtest: %s: %s", c.Do, r.Err)
	}
	return r, nil
}

// position is the length of the log now.
func (m *mounted) position() (int64, error) {
	fi, err := m.log.Stat()
	if err != nil {
		return 0, fmt.Errorf("crashtest: length of the log of operations: %w", err)
	}
	return fi.Size(), nil
}

func (m *mounted) close() (err error) {
	if m.process != nil {
		m.in.Close()
		if err = m.process.Wait(); err != nil {
			err = fmt.Errorf("crashtest: the process of the mount ended with %w: %s", err, strings.TrimSpace(m.diag.String()))
		}
	}
	if m.log != nil {
		err = errors.Join(err, m.log.Close())
	}
	return err
}

// FaultsMount is FaultsFS for a program that makes system calls: work runs in
// a mount as that of RecordMount, and check gets what is there after each run
// as a plain folder. It skips the test, with the reason, where there can be no
// mount.
func FaultsMount[T any](t testing.TB, o FaultOptions, work func(dir string, ack func(entry T)) error, check func(dir string, acked []T) error) FaultReport {
	t.Helper()
	m := newMount(t)
	return tryFaults(o, func(p plan) faultRun {
		h, calls, failed, err := recordMount(m, MountOptions{Prepare: o.Prepare}, p, work)
		if err != nil {
			return faultRun{broken: err}
		}
		r := faultRun{calls: calls.Calls, hits: calls.Hits, work: failed}
		r.live = func() error {
			return inFolder(h.last(), func(dir string) error { return check(dir, h.ledger) })
		}
		r.crash = func(so StateOptions) StateReport { return h.CheckDir(so, check) }
		return r
	})
}

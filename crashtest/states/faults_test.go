package states_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/states"
)

// An appender is a small log: it acknowledges each line when that is durable. The cases
// differ in how it handles errors.
type appender struct {
	ignoreSync, retrySync, ignoreShort bool
}

type lineFile interface {
	io.Writer
	Sync() error
	Close() error
}

func (a appender) run(open func() (lineFile, error), ack func(string)) error {
	f, err := open()
	if err != nil {
		return err
	}
	for i := range 4 {
		line := fmt.Sprintf("line %d\n", i)
		if _, err := io.WriteString(f, line); err != nil && (!a.ignoreShort || !errors.Is(err, io.ErrShortWrite)) {
			return errors.Join(err, f.Close())
		}
		err := f.Sync()
		if err != nil && a.retrySync {
			err = f.Sync()
		}
		if err != nil && !a.ignoreSync {
			return errors.Join(err, f.Close())
		}
		ack(line)
	}
	return f.Close()
}

func (a appender) onFS(fsys *states.FS, ack func(string)) error {
	return a.run(func() (lineFile, error) { return fsys.OpenFile("log", os.O_WRONLY|os.O_APPEND, 0) }, ack)
}

func (a appender) onDir(dir string, ack func(string)) error {
	return a.run(func() (lineFile, error) {
		return os.OpenFile(filepath.Join(dir, "log"), os.O_WRONLY|os.O_APPEND, 0)
	}, ack)
}

func checkLog(b []byte, err error, acked []string) error {
	if err != nil {
		return err
	}
	for _, line := range acked {
		if !strings.Contains(string(b), line) {
			return fmt.Errorf("%q of %q: %w", line, b, errLost)
		}
	}
	return nil
}

func checkLogFS(fsys *states.FS, acked []string) error {
	b, err := fsys.ReadFile("log")
	return checkLog(b, err, acked)
}

func checkLogDir(dir string, acked []string) error {
	b, err := os.ReadFile(filepath.Join(dir, "log"))
	return checkLog(b, err, acked)
}

func emptyLog() *states.FS {
	fsys := states.NewFS()
	fsys.WriteFile("log", nil, 0o600)
	return fsys
}

type faultCase struct {
	name  string
	a     appender
	crash bool
	lost  string // the fault that shows the bug; "" if there is no bug
}

var faultCases = []faultCase{
	{"right", appender{}, true, ""},
	{"a failed sync is ignored", appender{ignoreSync: true}, true, "EIO"},
	// The second sync succeeds but writes nothing: the kernel has marked the pages
	// clean. Only a crash after it shows that.
	{"a failed sync is repeated", appender{retrySync: true}, true, "EIO"},
	{"a failed sync is repeated, and nothing crashes", appender{retrySync: true}, false, ""},
}

func TestFaultsFS(t *testing.T) {
	// Below a mount package os writes the rest of a short write itself.
	cases := append(faultCases, faultCase{"a short write is ignored", appender{ignoreShort: true}, false, "short write"})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var o states.FaultOptions
			if c.crash {
				o.Crash = &states.Options{}
			}
			c.verify(t, states.FaultsFS(emptyLog(), o, c.a.onFS, checkLogFS))
		})
	}
}

func TestFaultsMount(t *testing.T) {
	for _, c := range faultCases {
		t.Run(c.name, func(t *testing.T) {
			// Not in parallel: a child that another test has forked and that has not
			// yet called exec closes its copies of the descriptors in this mount.
			o := states.FaultOptions{Prepare: func(dir string) error {
				return os.WriteFile(filepath.Join(dir, "log"), nil, 0o600)
			}}
			if c.crash {
				o.Crash = &states.Options{Max: 50}
			}
			c.verify(t, states.FaultsMount(o, c.a.onDir, checkLogDir))
		})
	}
}

func (c faultCase) verify(t *testing.T, rep states.FaultReport) {
	t.Helper()
	if errors.Is(rep.Broken, crashtest.ErrUnavailable) {
		t.Skip(rep.Broken)
	}
	t.Log(rep)
	// open, four times write and sync, close: 2 + 4*(4+3) + 1 ways to fail.
	if rep.Broken != nil || rep.Calls != 10 || rep.Runs != 31 || rep.NotReached != 0 || (rep.States > 0) != c.crash {
		t.Errorf("%+v", rep)
	}
	if c.lost == "" {
		if rep.Err() != nil {
			t.Error(rep)
		}
		return
	}
	if !errors.Is(rep.Err(), errLost) || !strings.HasPrefix(rep.Failures[0].Fault, c.lost+" at call") {
		t.Errorf("it is not found: %v", rep)
	}
}

// Each call that can fail does, with the error of the fault.
func TestFaultKinds(t *testing.T) {
	type seen struct{ call, err string }
	got := map[seen]bool{}
	rep := states.FaultsFS(emptyLog(), states.FaultOptions{}, func(fsys *states.FS, _ func(int)) error {
		note := func(call string, err error) error {
			for name, errno := range map[string]error{"EIO": syscall.EIO, "ENOSPC": syscall.ENOSPC, "EINTR": syscall.EINTR, "short": io.ErrShortWrite} {
				if errors.Is(err, errno) {
					got[seen{call, name}] = true
				}
			}
			return err
		}
		f, err := fsys.Create("f")
		if note("create", err) != nil {
			return err
		}
		_, err = f.Write([]byte("abc"))
		note("write", err)
		note("sync", f.Sync())
		note("truncate", f.Truncate(1))
		note("fallocate", f.Allocate(0, 100))
		_, err = f.ReadAt(make([]byte, 1), 0)
		note("read", err)
		note("close", f.Close())
		note("chmod", fsys.Chmod("f", 0o644))
		note("link", fsys.Link("f", "g"))
		note("rename", fsys.Rename("f", "h"))
		note("mkdir", fsys.Mkdir("d", 0o755))
		_, err = fsys.ReadDir(".")
		note("list", err)
		note("remove", fsys.Remove("d"))
		note("syncdir", fsys.SyncDir("."))
		return nil
	}, func(*states.FS, []int) error { return nil })
	if rep.Err() != nil || rep.Failed != 0 {
		t.Fatal(rep)
	}
	for call, errs := range map[string][]string{
		"create": {"EIO", "ENOSPC", "EINTR"}, "write": {"EIO", "ENOSPC", "EINTR", "short"}, "sync": {"EIO", "ENOSPC", "EINTR"},
		"truncate": {"EIO", "EINTR"}, "fallocate": {"EIO", "ENOSPC", "EINTR"}, "read": {"EIO", "EINTR"}, "close": {"EIO"},
		"chmod": {"EIO", "ENOSPC"}, "link": {"EIO", "ENOSPC"}, "rename": {"EIO", "ENOSPC"}, "mkdir": {"EIO", "ENOSPC"},
		"list": {"EIO"}, "remove": {"EIO"}, "syncdir": {"EIO", "ENOSPC", "EINTR"},
	} {
		for _, e := range errs {
			if !got[seen{call, e}] {
				t.Errorf("%s did not fail with %s", call, e)
			}
		}
	}
}

// A persistent fault is like a disk that stays full.
func TestFaultsStay(t *testing.T) {
	most := 0
	rep := states.FaultsFS(emptyLog(), states.FaultOptions{Faults: []states.Fault{states.FailENOSPC}, Persistent: true, Max: 5, Seed: 3},
		func(fsys *states.FS, ack func(int)) error {
			failed := 0
			for i := range 6 {
				if err := fsys.WriteFile(fmt.Sprint(i), []byte("x"), 0o600); err != nil {
					failed++
				} else if failed > 0 {
					return errors.New("a write succeeded after ENOSPC")
				}
			}
			most = max(most, failed)
			return nil
		}, func(*states.FS, []int) error { return nil })
	if rep.Err() != nil || rep.Runs != 5 || most < 2 {
		t.Errorf("%v; %d calls failed in one run at most", rep, most)
	}
}

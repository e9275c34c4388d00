package power

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/crashtest"
)

// syncCalls intercepts the syncs of this process. There is one, because the
// kernel allows a process only one listener and never removes a filter.
var syncCalls interceptor

// An interceptor calls the watch of a directory for each fsync, fdatasync and
// syncfs of a file below it, and lets all others pass (SECCOMP_RET_USER_NOTIF,
// seccomp(2)). It sees the calls of every thread of the process and of the
// processes that it starts.
type interceptor struct {
	install sync.Once
	failed  error
	listen  int

	mu      sync.Mutex
	watches map[string]*watch // by path of the directory
}

type watch struct {
	seen int
	ask  func(crashtest.Sync) crashtest.SyncFault
	err  error
}

var syncCallNames = map[uint32]string{
	unix.SYS_FSYNC:     "fsync",
	unix.SYS_FDATASYNC: "fdatasync",
	unix.SYS_SYNCFS:    "syncfs",
}

// watch calls ask for each sync below dir until stop is called.
func (in *interceptor) watch(dir string, ask func(crashtest.Sync) crashtest.SyncFault) (stop func() error, err error) {
	in.install.Do(func() {
		numbers := slices.Collect(maps.Keys(syncCallNames))
		if in.listen, in.failed = seccompListen(numbers); in.failed != nil {
			in.failed = fmt.Errorf("power: intercept syncs: %w: %w", crashtest.ErrUnavailable, in.failed)
			return
		}
		in.watches = map[string]*watch{}
		go in.serve()
	})
	if in.failed != nil {
		return nil, in.failed
	}
	// The kernel names files by their real paths.
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	w := &watch{ask: ask}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.watches[dir] = w
	return func() error {
		in.mu.Lock()
		defer in.mu.Unlock()
		delete(in.watches, dir)
		return w.err
	}, nil
}

// serve answers the calls. It must not make any of them itself.
func (in *interceptor) serve() {
	for {
		call := seccompReceive(in.listen)
		seccompAnswer(in.listen, call, in.allows(&call))
	}
}

// allows decides on one call, and executes its substitute.
func (in *interceptor) allows(call *seccompNotif) bool {
	fd := fmt.Sprintf("/proc/%d/fd/%d", call.tid, int32(call.args[0]))
	path, err := os.Readlink(fd)
	if err != nil {
		return true // the call fails: this is no descriptor
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for dir, w := range in.watches {
		rel, below := strings.CutPrefix(path+"/", dir+"/")
		if !below {
			continue
		}
		s := crashtest.Sync{N: w.seen, Call: syncCallNames[uint32(call.nr)], Path: filepath.Clean(rel)}
		w.seen++
		switch w.ask(s) {
		case crashtest.SkipSync:
			return false
		case crashtest.WriteOnly:
			if err := syncFileRange(fd); err != nil && w.err == nil {
				w.err = fmt.Errorf("power: sync_file_range instead of %v: %w", s, err)
			}
			return false
		}
		return true
	}
	return true
}

package claims

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/job"
)

// straceMean is the mean time of a call that creates a file, as strace prints it.
const straceMean = "traced_call_mean_ns"

// underStrace runs f with strace attached to this process, and reports straceMean.
func underStrace(b *lab.B, f func(*lab.B) error) (err error) {
	runtime.LockOSThread() // the thread that strace is known to have seized makes the calls
	defer runtime.UnlockOSThread()
	const out = "strace.out"
	defer func() { err = errors.Join(err, os.Remove(out)) }()
	cmd := exec.CommandContext(b.Context(), "strace", "-qq", "-f", "-T", "-e", "trace=mkdir,creat,openat", "-o", out, "-p", strconv.Itoa(os.Getpid()))
	if err := cmd.Start(); err != nil {
		return errors.Join(job.Unsupported("strace: %s", err.Error()), os.WriteFile(out, nil, 0o644))
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if err := awaitTracer(ended); err != nil {
		return errors.Join(err, os.WriteFile(out, nil, 0o644))
	}
	err = f(b)
	// strace detaches on SIGINT, and has printed all once it ends.
	err = errors.Join(err, cmd.Process.Signal(os.Interrupt))
	<-ended
	if err != nil {
		return err
	}
	mean, err := straceTimes(out)
	if err == nil {
		b.Report(straceMean, mean)
	}
	return err
}

// awaitTracer waits until the calling thread is traced, or strace has ended.
func awaitTracer(ended <-chan error) error {
	for {
		traced, err := traced()
		if err != nil {
			return err
		}
		if traced {
			return nil
		}
		select {
		case err := <-ended:
			return job.Unsupported("strace cannot attach to this process: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
}

// traced reports whether a tracer has seized the calling thread (proc_pid_status(5)).
func traced() (bool, error) {
	b, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return false, job.Unsupported("%s", err.Error())
	}
	for line := range strings.Lines(string(b)) {
		if pid, ok := strings.CutPrefix(line, "TracerPid:"); ok {
			return strings.TrimSpace(pid) != "0", nil
		}
	}
	return false, nil
}

// straceTimes returns the mean time in nanoseconds of the calls with O_CREAT in strace's output:
//
//	1234 openat(AT_FDCWD, "f0", O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC, 0644) = 3 <0.000021>
func straceTimes(name string) (mean float64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close() // nothing is written
	sum, n := 0.0, 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		at := strings.LastIndexByte(line, '<')
		if at < 0 || !strings.HasSuffix(line, ">") || !strings.Contains(line, "O_CREAT") {
			continue
		}
		s, err := strconv.ParseFloat(line[at+1:len(line)-1], 64)
		if err != nil {
			continue // the name of a file, "<unfinished ...>"
		}
		sum, n = sum+s, n+1
	}
	if n == 0 {
		return 0, fmt.Errorf("%s has no call that creates a file", name)
	}
	return sum / float64(n) * 1e9, nil
}

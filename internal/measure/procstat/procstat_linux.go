package procstat

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// PeakRSS returns the largest resident memory of this process so far, in bytes. It
// is VmHWM, not ru_maxrss, which starts with the parent's figure at exec.
func PeakRSS() (int64, error) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	return parsePeakRSS(b)
}

func parsePeakRSS(status []byte) (int64, error) {
	for line := range bytes.Lines(status) {
		f := strings.Fields(string(line))
		if len(f) == 3 && f[0] == "VmHWM:" && f[2] == "kB" {
			n, err := strconv.ParseInt(f[1], 10, 64)
			return n << 10, err
		}
	}
	return 0, errors.New("/proc/self/status has no VmHWM")
}

// ResetPeakRSS makes PeakRSS begin again, at the resident memory of now (clear_refs in
// proc(5)).
func ResetPeakRSS() error {
	f, err := os.OpenFile("/proc/self/clear_refs", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("5")
	return errors.Join(err, f.Close())
}

// RunDelays returns how long each thread of this process, by its number, has waited
// runnable for a CPU.
func RunDelays() (map[int]time.Duration, error) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil, err
	}
	delays := make(map[int]time.Duration, len(tasks))
	for _, t := range tasks {
		tid, err := strconv.Atoi(t.Name())
		if err != nil {
			return nil, err
		}
		b, err := os.ReadFile("/proc/self/task/" + t.Name() + "/schedstat")
		if errors.Is(err, fs.ErrNotExist) {
			if _, err := os.Stat("/proc/self/schedstat"); err != nil {
				return nil, errors.New("no schedstat in /proc: the kernel was built without CONFIG_SCHED_INFO")
			}
			continue // the thread has ended
		}
		if err != nil {
			return nil, err
		}
		delays[tid], err = parseRunDelay(string(b))
		if err != nil {
			return nil, err
		}
	}
	return delays, nil
}

// parseRunDelay reads "time on CPU, time waiting for one, times run", the
// first two in nanoseconds (sched-stats.rst).
func parseRunDelay(schedstat string) (time.Duration, error) {
	f := strings.Fields(schedstat)
	if len(f) != 3 {
		return 0, fmt.Errorf("schedstat: cannot read %q", schedstat)
	}
	ns, err := strconv.ParseInt(f[1], 10, 64)
	return time.Duration(ns), err
}

// AllCPUTime returns how the CPUs of the machine have spent their time.
func AllCPUTime() (CPUTime, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return CPUTime{}, err
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return parseCPUTime(line)
}

// parseCPUTime reads "cpu user nice system idle iowait irq softirq steal
// guest guest_nice" (proc(5)). Guest time is part of user and nice already.
func parseCPUTime(line string) (CPUTime, error) {
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return CPUTime{}, fmt.Errorf("/proc/stat: cannot read line %q", line)
	}
	var c CPUTime
	for i, s := range f[1:9] {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return CPUTime{}, fmt.Errorf("/proc/stat: cannot read line %q", line)
		}
		c.Total += n
		if i == 4 {
			c.IOWait = n
		}
	}
	return c, nil
}

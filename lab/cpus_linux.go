package lab

import (
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/setting"
)

// cpuDir describes the processors.
const cpuDir = "/sys/devices/system/cpu"

// pin has the thread of this goroutine, which must be locked to it, run on the
// processors alone. Processes that it starts inherit that (sched_setaffinity(2)), and
// the Go runtime in them takes GOMAXPROCS from it. unpin undoes it.
func pin(cpus []int) (unpin func(), err error) {
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return nil, os.NewSyscallError("sched_getaffinity", err)
	}
	unpin = func() {
		// The set was valid. If it is not any more the thread keeps the smaller one.
		_ = unix.SchedSetaffinity(0, &before)
	}
	var want, got unix.CPUSet
	for _, cpu := range cpus {
		want.Set(cpu)
	}
	// The kernel drops those outside of the cgroup from a set, and refuses one of
	// which none is left.
	if err := unix.SchedSetaffinity(0, &want); err != nil && err != unix.EINVAL {
		return nil, os.NewSyscallError("sched_setaffinity", err)
	} else if err == nil {
		if err := unix.SchedGetaffinity(0, &got); err != nil {
			unpin()
			return nil, os.NewSyscallError("sched_getaffinity", err)
		}
	}
	missing := slices.DeleteFunc(slices.Clone(cpus), got.IsSet)
	if len(missing) > 0 {
		unpin()
		return nil, setting.Wrong("lab: Options.CPUs", setting.Text(cpuList(cpus)), "processors that are online and in the cgroup of this process: not %s", cpuList(missing))
	}
	if len(cpus) != got.Count() {
		unpin()
		return nil, fmt.Errorf("lab: Options.CPUs: the kernel gave %d processors, not the %d of %s", got.Count(), len(cpus), cpuList(cpus))
	}
	return unpin, nil
}

//go:build unix

package procstat

import (
	"os"
	"syscall"
	"time"
)

// SelfUsage returns the usage of this process (getrusage(2)).
func SelfUsage() (Usage, error) {
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		return Usage{}, os.NewSyscallError("getrusage", err)
	}
	return Usage{
		User: time.Duration(ru.Utime.Nano()), System: time.Duration(ru.Stime.Nano()),
		MinorFaults: int64(ru.Minflt), MajorFaults: int64(ru.Majflt),
		Voluntary: int64(ru.Nvcsw), Involuntary: int64(ru.Nivcsw),
	}, nil
}

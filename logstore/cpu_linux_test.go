package logstore_test

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime returns the processor time of the process so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func reportCPU(b *testing.B, since time.Duration, n int) {
	b.ReportMetric(float64(cpuTime()-since)/float64(n), "cpu-ns/line")
}

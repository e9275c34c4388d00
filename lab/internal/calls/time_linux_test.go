//go:build amd64 || arm64

package calls

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/lab/internal/buckets"
)

// Sleeps of known length are found in the bucket they belong to, from all
// threads, each once.
func TestTimerFindsTheTime(t *testing.T) {
	// A signal, by which Go preempts, can end a sleep before its time: of a few
	// tries one is without.
	for range 10 {
		if timeSleeps(t) {
			return
		}
	}
	t.Error("ten times a sleep was ended by a signal")
}

// timeSleeps reports whether all slept for as long as they were told to.
func timeSleeps(t *testing.T) bool {
	t.Helper()
	timer, err := NewTimer()
	skipRefused(t, err)
	defer timer.Close()
	var cut atomic.Bool
	sleep := func(d time.Duration) {
		ts := unix.NsecToTimespec(int64(d))
		// Not nanosleep, which the Go runtime uses by itself.
		if _, _, err := unix.Syscall6(unix.SYS_PPOLL, 0, 0, uintptr(unsafe.Pointer(&ts)), 0, 0, 0); err != 0 {
			cut.Store(true)
		}
	}
	sleep(time.Millisecond)
	timer.Begin()
	var wg sync.WaitGroup
	begin := time.Now()
	for range 4 {
		wg.Go(func() {
			for range 5 {
				sleep(3 * time.Millisecond)
			}
			sleep(20 * time.Millisecond)
		})
	}
	wg.Wait()
	whole := time.Since(begin)
	timer.End()
	sleep(time.Millisecond)
	if cut.Load() {
		return false
	}

	l := timer.Read()[unix.SYS_PPOLL]
	if l == nil || l.Count() != 24 {
		t.Fatalf("24 calls, and timed %+v", l)
	}
	var sum, low, high uint64
	longest := 0
	for i, n := range l.Buckets {
		from, to := buckets.Bounds(i)
		low, high = low+n*from, high+n*to
		if n > 0 {
			longest = i
		}
		if to <= 3e6 {
			sum += n
		}
	}
	if sum != 0 {
		t.Errorf("%d sleeps of 3 ms or more took less", sum)
	}
	if l.Total < low || l.Total > high {
		t.Errorf("the buckets hold %d to %d ns, the total is %d", low, high, l.Total)
	}
	if from, to := buckets.Bounds(longest); l.Max < 20e6 || l.Max > uint64(whole) || l.Max < from || l.Max >= to {
		t.Errorf("the longest of 20 ms took %d ns, its bucket is %d to %d", l.Max, from, to)
	}
	return true
}

// The program in the kernel and buckets.Of put a time in the same place: the
// short calls of a process lie where their total says.
func TestTimerShortCalls(t *testing.T) {
	timer, err := NewTimer()
	skipRefused(t, err)
	defer timer.Close()
	const calls = 2000
	timer.Begin()
	begin := time.Now()
	for range calls {
		unix.Getppid()
	}
	whole := time.Since(begin)
	timer.End()
	l := timer.Read()[unix.SYS_GETPPID]
	if l == nil || l.Count() != calls {
		t.Fatalf("%d calls, and timed %+v", calls, l)
	}
	if l.Total == 0 || l.Total > uint64(whole) {
		t.Errorf("%d ns in %v", l.Total, whole)
	}
	if timer.Read()[unix.SYS_PPOLL] != nil {
		t.Error("a call that was not made has a time")
	}
	if os.Getppid(); timer.Read()[unix.SYS_GETPPID].Count() != calls {
		t.Error("still times after End")
	}
}

package systrace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A process that sleeps for 30 ms has one call to sleep, which takes as long,
// when it ran; calls of this process are not among them.
func TestSyscallWatch(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// The clocks that tell when a call began are set beside each other when the
	// watch begins, which may be held up between the two.
	var err error
	for range 5 {
		if err = watchSleep(t); err == nil {
			return
		}
		t.Log(err)
	}
	t.Error("each of five times a call was not while the process ran")
}

func watchSleep(t *testing.T) (otherTime error) {
	t.Helper()
	w, err := Watch()
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOSYS) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	cmd := exec.Command("sleep", "0.03")
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	for done := false; !done; {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
		done = err == nil && info.Signo != 0
		w.Drain(cmd.Process.Pid)
		time.Sleep(time.Millisecond)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	w.Drain(cmd.Process.Pid)
	end := time.Now()
	list, lost := w.Calls()
	if lost > 0 || len(list) < 10 {
		t.Fatalf("%d calls, %d lost", len(list), lost)
	}
	// On a busy machine any of the others may take as long.
	sleeps := slices.DeleteFunc(slices.Clone(list), func(c Call) bool {
		return c.Number != unix.SYS_CLOCK_NANOSLEEP && c.Number != unix.SYS_NANOSLEEP
	})
	if len(sleeps) != 1 || sleeps[0].Took < 30e6 {
		t.Fatalf("one sleep of 30 ms was made: %+v", sleeps)
	}
	for _, c := range list {
		if c.Begun < begin.UnixNano() || c.Begun+c.Took > end.UnixNano() || c.Took < 0 {
			otherTime = fmt.Errorf("%s at %d for %d ns: not while the process ran, %d to %d", Name(c.Number), c.Begun, c.Took, begin.UnixNano(), end.UnixNano())
		}
		if c.Number == unix.SYS_WAITID {
			t.Error("a call of this process is among them")
		}
	}
	return otherTime
}

// Records that run over the end of a ring are read whole, and their room is
// given back.
func TestRingDrain(t *testing.T) {
	meta := new(unix.PerfEventMmapPage)
	r := ring{meta: meta, data: make([]byte, 64)}
	meta.Data_head, meta.Data_tail = 40, 40
	write := func(kind uint32, body ...byte) {
		rec := binary.NativeEndian.AppendUint32(nil, kind)
		rec = binary.NativeEndian.AppendUint16(rec, 0)
		rec = binary.NativeEndian.AppendUint16(rec, uint16(8+len(body)))
		for _, b := range append(rec, body...) {
			r.data[meta.Data_head%64] = b
			meta.Data_head++
		}
	}
	write(7, 1, 2, 3, 4, 5, 6, 7, 8)
	write(9, 9, 10, 11, 12, 13, 14, 15, 16) // over the end
	var kinds []uint32
	var bodies []byte
	r.drain(func(kind uint32, body []byte) {
		kinds, bodies = append(kinds, kind), append(bodies, body...)
	})
	if !slices.Equal(kinds, []uint32{7, 9}) || bodies[0] != 1 || bodies[15] != 16 || meta.Data_tail != meta.Data_head {
		t.Errorf("kinds %v, bodies %v, tail %d of %d", kinds, bodies, meta.Data_tail, meta.Data_head)
	}
}

// A call that is entered on one CPU and left on another is one call, whichever
// ring is read first.
func TestSyscallWatchPairs(t *testing.T) {
	page := func() *unix.PerfEventMmapPage { return new(unix.PerfEventMmapPage) }
	w := &Watcher{enter: 1, exit: 2, entered: map[uint32]enteredCall{}, rings: []ring{{meta: page(), data: make([]byte, 512)}, {meta: page(), data: make([]byte, 512)}}}
	process := uint32(77)
	put := func(cpu int, point uint16, thread uint32, at int64, number int64) {
		b := binary.NativeEndian.AppendUint32(nil, unix.PERF_RECORD_SAMPLE)
		b = append(b, 0, 0)
		b = binary.NativeEndian.AppendUint16(b, 48)
		b = binary.NativeEndian.AppendUint32(b, process)
		b = binary.NativeEndian.AppendUint32(b, thread)
		b = binary.NativeEndian.AppendUint64(b, uint64(at))
		b = binary.NativeEndian.AppendUint32(b, 20)
		b = binary.NativeEndian.AppendUint16(b, point)
		b = append(b, make([]byte, 6)...)
		b = binary.NativeEndian.AppendUint64(b, uint64(number))
		b = append(b, 0, 0, 0, 0)
		r := w.rings[cpu]
		r.meta.Data_head += uint64(copy(r.data[r.meta.Data_head:], b))
	}
	put(0, 2, 5, 900, 3) // left on CPU 0 at 900, entered on CPU 1 at 200
	put(1, 1, 5, 200, 3)
	put(1, 2, 6, 300, 4) // its entry was not seen
	put(1, 1, 8, 400, -1)
	put(1, 2, 8, 500, -1)
	process = 78 // another one's call
	put(0, 1, 9, 600, 3)
	put(0, 2, 9, 700, 3)
	w.Drain(77)
	list, lost := w.Calls()
	want := []Call{{Slots - 1, 400, 100}, {3, 200, 700}}
	if !slices.Equal(list, want) || lost != 0 {
		t.Errorf("got %+v, want %+v", list, want)
	}
	w.rings = nil
}

func TestParseCPUs(t *testing.T) {
	for s, want := range map[string][]int{"0": {0}, "0-1": {0, 1}, "0-2,5,7-8": {0, 1, 2, 5, 7, 8}} {
		if got, err := parseCPUs(s); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "a", "3-1", "0,"} {
		if got, err := parseCPUs(s); err == nil {
			t.Errorf("%q is %v", s, got)
		}
	}
}

// Without rights the error says what to do.
func TestSyscallWatchErrors(t *testing.T) {
	if _, err := TracepointID("raw_syscalls/no_such"); err == nil || !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EACCES) {
		t.Errorf("got %v", err)
	}
}

package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stele-go/stele/lab/run"
)

// takeTurns has four goroutines hold one lock for a millisecond in turn.
func takeTurns(b *B) error {
	var mu sync.Mutex
	return b.Parallel(4, func(w *Worker) error {
		for w.Loop() {
			mu.Lock()
			time.Sleep(time.Millisecond)
			mu.Unlock()
		}
		return nil
	})
}

// takeToken has four goroutines pass a token through a pipe and keep it for a
// while, in which one of the others is blocked in read(2) and the rest in the
// lock that os.File has for its readers.
func takeToken(b *B) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	defer w.Close()
	r.Fd() // from here on reads block their thread, not the poller
	if _, err := w.Write([]byte{1}); err != nil {
		return err
	}
	return b.Parallel(4, func(worker *Worker) error {
		token := make([]byte, 1)
		for worker.Loop() {
			if _, err := r.Read(token); err != nil {
				return err
			}
			time.Sleep(2 * time.Millisecond)
			if _, err := w.Write(token); err != nil {
				return err
			}
		}
		return nil
	})
}

// A run that asks for it says where goroutines wait, from blocks that no other
// figure is made from.
func TestMeasureWaits(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows what a thread waits for")
	}
	// Where others have the processors goroutines are ready, and do not wait
	// for what they would wait for else.
	var turnsSeen, tokenSeen bool // not all has to be seen in one measurement
	var missing run.Reason
	oneOfSome(t, func() (err error) {
		res := measureWaits(t)
		if !turnsSeen {
			err = waitsOfTurns(res)
			turnsSeen = err == nil
		}
		token := res.Variant("token").Waits
		if missing = token.Missing["kernel"]; missing == (run.Reason{}) && !tokenSeen {
			seeErr := waitsOfToken(token)
			tokenSeen, err = seeErr == nil, errors.Join(err, seeErr)
		}
		return err
	})
	if !tokenSeen && missing != (run.Reason{}) {
		t.Skipf("the kernel does not show what threads wait for: %+v", missing)
	}
}

// measureWaits measures and checks what does not depend on how busy the
// machine is.
func measureWaits(t *testing.T) *run.Result {
	t.Helper()
	res := reread(t, Options{Places: []PlaceSpec{{Dir: t.TempDir()}}, NoCalibration: true, NoCounting: true, BlockTime: 40 * time.Millisecond}, "waits")
	if n := res.Variant("lock").Time.N; n != 1 {
		t.Errorf("%d data of one timed block: watched blocks are among them", n)
	}
	for _, v := range []string{"lock", "token"} {
		if w := res.Variant(v).Waits; w == nil {
			t.Fatalf("the blocks of %s were not watched: %+v", v, w)
		}
	}
	return res
}

// waitsOfTurns: one of four sleeps, three wait for it.
func waitsOfTurns(res *run.Result) error {
	lock := res.Variant("lock").Waits
	for _, w := range []*run.VariantWaits{lock, res.Variant("token").Waits} {
		if w.Blocks == 0 {
			return fmt.Errorf("the blocks were not watched: %+v", w)
		}
		if math.Abs(w.Goroutines-4) > 0.8 {
			return fmt.Errorf("%.2f goroutines at a time, want about 4: those of the lab and the runtime do not count", w.Goroutines)
		}
	}
	turn, sleep := lock.Cause(run.CauseGo+"sync"), lock.Cause(run.CauseGo+"sleep")
	if turn == nil || sleep == nil || turn.Share.Median < 0.5 || turn.Share.Median > 0.9 || sleep.Share.Median < 0.1 || sleep.Share.Median > 0.4 {
		return fmt.Errorf("three of four wait for the lock: %+v", lock.Causes)
	}
	if !strings.Contains(turn.Symbol, "sync.(*Mutex).Lock in ") || !strings.Contains(turn.Symbol, "takeTurns") {
		return fmt.Errorf("they wait in %q", turn.Symbol)
	}
	for _, c := range lock.Contention {
		if c.Profile == "block" && c.Call == "sync.(*Mutex).Lock" && strings.Contains(c.In, "takeTurns") && c.Time > run.Nanos(20*time.Millisecond) {
			return nil
		}
	}
	return fmt.Errorf("the block profile shows no wait for the lock: %+v", lock.Contention)
}

// waitsOfToken: one of four waits for the token in the kernel.
func waitsOfToken(token *run.VariantWaits) error {
	blocked := token.Cause(run.CausePipe)
	if blocked == nil || blocked.Share.Median < 0.15 || blocked.Share.Median > 0.4 || blocked.Where != run.WaitKernel {
		return fmt.Errorf("one of four waits for the token: %+v (%v)", token.Causes, token.Missing)
	}
	if !strings.Contains(blocked.Symbol, "pipe_") {
		return fmt.Errorf("they wait in %q", blocked.Symbol)
	}
	if len(blocked.Over) != run.WaitWindows {
		return fmt.Errorf("%d slices, want %d", len(blocked.Over), run.WaitWindows)
	}
	if token.Parked >= token.Threads {
		return fmt.Errorf("%.1f of %.1f threads are parked: none was left to wait", token.Parked, token.Threads)
	}
	return nil
}

// Where stacks may not be read the innermost function is better than nothing,
// and where that is not told either, it is said and nothing is zero.
func TestSamplerWithoutStacks(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows what a thread waits for")
	}
	cmd := exec.Command("sleep", "600") // far longer than any of this takes
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	untilAsleep(t, cmd.Process.Pid)
	var (
		s     *sampler
		begun time.Time
		wall  run.Nanos
		w     *run.Waits
	)
	for pause := 60 * time.Millisecond; ; pause *= 2 { // until the sampler was given a processor
		s = startSampler(cmd.Process.Pid)
		begun = time.Now()
		time.Sleep(pause)
		wall = run.Nanos(time.Since(begun))
		s.stop()
		w = &run.Waits{Begun: begun.UnixNano(), Window: wall/run.WaitWindows + 1}
		s.into(w, wall)
		if len(s.between(w.Begun, w.Begun+int64(wall))) > 0 || s.err != nil || pause > 20*time.Second {
			break
		}
	}
	if w.Missing["kernel"] == (run.Reason{}) && (w.Samples == 0 || w.Threads != 1) {
		t.Errorf("one thread was to be seen: %+v", w)
	}
	if w.Missing["kernel"] == (run.Reason{}) && w.Parked < 0.5 {
		t.Errorf("a sleeping thread is not parked: %+v", w)
	}

	s.noStack, s.wchanNames = os.ErrPermission, false
	w = &run.Waits{Begun: begun.UnixNano(), Window: wall/run.WaitWindows + 1}
	s.into(w, wall)
	if w.Missing["kernel"] == (run.Reason{}) || w.Samples != 0 || len(w.Series) != 0 {
		t.Errorf("nothing was told, and still: %+v", w)
	}
	s.wchanNames = true
	s.into(w, wall)
	if w.Missing["stack"] == (run.Reason{}) {
		t.Errorf("missing: %v", w.Missing)
	}
}

// untilAsleep waits until the process of sleep(1) was loaded, which takes any
// time on a busy machine, and sleeps. Where the kernel does not tell, it gives
// the process a second.
func untilAsleep(t *testing.T, pid int) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < 2*time.Minute; time.Sleep(time.Millisecond) {
		in, _ := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", pid))
		if strings.Contains(string(in), "nanosleep") || time.Since(begun) > time.Second && !wchanTells() {
			return
		}
	}
	t.Fatal("the process did not begin to sleep within two minutes")
}

// wchanTells reports whether the kernel tells of any thread of this process what
// it waits for: some are always idle.
func wchanTells() bool {
	names, _ := filepath.Glob("/proc/self/task/*/wchan")
	return slices.ContainsFunc(names, func(name string) bool {
		in, err := os.ReadFile(name)
		return err == nil && len(in) > 0 && string(in) != "0"
	})
}

// A thread that ends may not be read, not even by root. That is no reason to
// give up stacks for all others.
func TestSamplerOutlivesThreads(t *testing.T) {
	dir := t.TempDir()
	write := func(tid, file, text string) string {
		t.Helper()
		if err := os.MkdirAll(dir+"/"+tid, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/"+tid+"/"+file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return dir + "/" + tid
	}
	open := "257 0x1 0x2\n" // openat, on amd64; no call of the runtime's elsewhere
	one := write("1", "syscall", open)
	write("1", "stack", "[<0>] path_openat+0x1/0x2\n[<0>] do_filp_open+0x1/0x2\n")
	s := &sampler{dir: dir, threads: map[string]*thread{}}
	in, parked, err := s.state(one, &thread{})
	if err != nil || parked || in != (blockedIn{cause: run.CauseDirectoryLock, symbol: "path_openat", call: "openat"}) {
		t.Fatalf("%+v, parked %v: %v", in, parked, err)
	}
	// No files at all is how a thread that may not be read looks here.
	if err := os.Mkdir(dir+"/2", 0o755); err != nil {
		t.Fatal(err)
	}
	write("3", "syscall", open)
	for _, tid := range []string{"2", "3"} {
		if _, _, err := s.state(dir+"/"+tid, &thread{}); err == nil {
			t.Errorf("thread %s was read", tid)
		}
	}
	if s.noCalls != nil || s.noStack != nil {
		t.Errorf("one thread that ended gives up all others: %v, %v", s.noCalls, s.noStack)
	}
	if err := s.take(time.Now()); err != nil || s.samples[0].threads != 1 || s.samples[0].blocked[in] != 1 {
		t.Errorf("a look at one thread and two that end: %+v, %v", s.samples, err)
	}

	// The same from the start is a machine that shows nothing.
	s = &sampler{dir: dir, threads: map[string]*thread{}}
	if _, _, err := s.state(dir+"/2", &thread{}); err == nil || s.noCalls == nil || s.noStack == nil {
		t.Errorf("nothing can be read: %v; %v, %v", err, s.noCalls, s.noStack)
	}
	write("2", "wchan", "path_openat")
	if in, _, err := s.state(dir+"/2", &thread{}); err != nil || in.cause != run.CauseDirectoryLock {
		t.Errorf("wchan: %+v, %v", in, err)
	}
}

func TestKernelCause(t *testing.T) {
	for _, c := range []struct{ stack, cause, symbol string }{
		{"path_openat do_filp_open do_sys_openat2", run.CauseDirectoryLock, "path_openat"},
		{"rwsem_down_write_slowpath down_write path_openat do_filp_open", run.CauseDirectoryLock, "path_openat"},
		{"do_truncate path_openat do_filp_open", run.CauseFileLock, "do_truncate"},
		{"d_alloc_parallel lookup_open path_openat", run.CauseNameCache, "d_alloc_parallel"},
		{"do_get_write_access jbd2_journal_get_write_access __ext4_journal_get_write_access __ext4_new_inode ext4_create path_openat", run.CauseJournalInode, "do_get_write_access"},
		{"start_this_handle jbd2__journal_start __ext4_journal_start_sb __ext4_new_inode ext4_create", run.CauseJournalInode, "start_this_handle"},
		{"start_this_handle jbd2__journal_start __ext4_journal_start_sb ext4_da_write_begin", run.CauseJournal, "start_this_handle"},
		{"__wait_on_buffer ext4_read_inode_bitmap __ext4_new_inode ext4_create", run.CauseInode, "__wait_on_buffer"},
		{"jbd2_log_wait_commit ext4_sync_file do_fsync", run.CauseJournalCommit, "jbd2_log_wait_commit"},
		{"blkdev_issue_flush ext4_sync_file do_fsync", run.CauseDiskFlush, "blkdev_issue_flush"},
		{"lock_mm_and_find_vma do_user_addr_fault", run.CauseAddressSpace, "lock_mm_and_find_vma"},
		{"__wait_rcu_gp synchronize_rcu expand_files alloc_fd do_sys_openat2", run.CauseFDTable, "__wait_rcu_gp"},
		{"schedule something_new", run.CauseIn + "something_new", "something_new"},
		{"", run.CauseKernel, ""},
	} {
		cause, symbol := kernelCause(strings.Fields(c.stack))
		if cause != c.cause || symbol != c.symbol {
			t.Errorf("%s: %q in %q, want %q in %q", c.stack, cause, symbol, c.cause, c.symbol)
		}
	}
}

func TestParseStack(t *testing.T) {
	got := parseStack([]byte("[<0>] futex_do_wait+0x3b/0x70\n[<0>] jbd2_commit.isra.0+0x1/0x2 [jbd2]\nnonsense\n"))
	if strings.Join(got, " ") != "futex_do_wait jbd2_commit" {
		t.Errorf("got %q", got)
	}
}

func TestSpread(t *testing.T) {
	w := run.Wait{Time: make([]run.Nanos, 3)}
	spread(w.Time, 5, 25, 10)
	spread(w.Time, 28, 33, 10) // behind the last window by a little
	if w.Time[0] != 5 || w.Time[1] != 10 || w.Time[2] != 10 {
		t.Errorf("got %v", w.Time)
	}
}

// Blocked time comes out of the time in system calls, and never makes more of
// it than there was.
func TestSplitKeepsTheWhole(t *testing.T) {
	per := func(t ...run.Nanos) []run.Nanos { return append(t, make([]run.Nanos, run.WaitWindows-len(t))...) }
	w := &run.Waits{Total: 500, Series: []run.Wait{
		{Where: run.WaitKernel, Cause: run.CauseSyscall, Time: per(100, 100, 100)},
		{Where: run.WaitRunning, Cause: run.CauseRunning, Time: per(50, 50, 100)},
	}}
	split(w, map[blockedIn][]run.Nanos{
		{"lock", "f", false, ""}: per(60, 300, 0),
		{"disk", "g", false, ""}: per(0, 100, 0),
		{"disk", "h", true, ""}:  per(10, 0, 0),
	})
	got := map[string][]run.Nanos{}
	var sum run.Nanos
	for _, s := range w.Series {
		got[s.Cause] = s.Time[:3]
		sum += s.Total()
	}
	want := map[string][]run.Nanos{
		run.CauseSyscallBusy: {40, 0, 100}, run.CauseRunning: {40, 50, 100},
		"lock": {60, 75, 0}, "disk": {0, 25, 0}, run.CauseFault + "disk": {10, 0, 0},
	}
	for cause, times := range want {
		for i, x := range times {
			if len(got[cause]) != 3 || got[cause][i] != x {
				t.Errorf("%s: %v, want %v", cause, got[cause], times)
				break
			}
		}
	}
	if sum != w.Total || len(got) != len(want) {
		t.Errorf("%d causes make %d ns of %d", len(got), sum, w.Total)
	}
}

// A sampler that has no descriptor left would take threads for not blocked.
func TestSamplerWithoutDescriptors(t *testing.T) {
	for _, err := range []error{syscall.EMFILE, &fs.PathError{Op: "open", Path: "/proc", Err: syscall.ENFILE}} {
		if !noMoreFiles(err) {
			t.Errorf("%v", err)
		}
	}
	if noMoreFiles(nil) || noMoreFiles(syscall.ESRCH) {
		t.Error("a thread that has ended is no lack of descriptors")
	}
}

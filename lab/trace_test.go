package lab

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	exptrace "golang.org/x/exp/trace"

	"github.com/stele-go/stele/lab/run"
)

// appendAndWait has workers that hand a request to a goroutine which sleeps in
// the kernel for 2 ms and then answers: they wait for its system call.
func appendAndWait(b *B) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	requests := make(chan chan bool)
	go server(r, requests)
	go ticker(w)
	err = b.Parallel(3, func(worker *Worker) error {
		answer := make(chan bool)
		for worker.Loop() {
			requests <- answer
			<-answer
		}
		return nil
	})
	close(requests)
	return err
}

// server reads a byte, in the kernel, for each request.
func server(r *os.File, requests chan chan bool) {
	r.Fd() // from here on reads block their thread, not the poller
	b := make([]byte, 1)
	for answer := range requests {
		r.Read(b)
		answer <- true
	}
}

func ticker(w *os.File) {
	defer w.Close()
	for {
		time.Sleep(2 * time.Millisecond)
		if _, err := w.Write([]byte{1}); err != nil {
			return // the reader has gone
		}
	}
}

// A traced run has chains of waits and times of system calls.
func TestMeasureTrace(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows what a thread waits for")
	}
	// Where others have the processors the server is ready and not in its call,
	// and finds its pipe full when it comes to read.
	oneOfSome(t, func() error {
		v := measureTrace(t)
		if err := chainsOfServer(v); err != nil {
			return err
		}
		if why := v.Trace.Missing["calls"]; why != (run.Reason{}) {
			if v.Trace.Calls != nil || v.Trace.Blocks != 0 {
				t.Errorf("missing (%+v), and there: %+v", why, v.Trace.Calls)
			}
			t.Skipf("system calls cannot be timed here: %+v", why)
		}
		return readsOfServer(v)
	})
}

// measureTrace measures the server, and checks what does not depend on how busy
// the machine is.
func measureTrace(t *testing.T) *run.VariantResult {
	t.Helper()
	o := Options{Places: []PlaceSpec{{Dir: t.TempDir()}}, Rounds: 1, NoCalibration: true, NoCounting: true, Trace: true, BlockTime: 40 * time.Millisecond}
	v := reread(t, o, "trace").Variant("server")
	if v.Time.N != 1 || v.Error != "" {
		t.Errorf("%d data of one timed block (%s): traced blocks are among them", v.Time.N, v.Error)
	}
	if v.Waits == nil || v.Trace == nil {
		t.Fatalf("nothing was followed: %+v", v.Trace)
	}
	return v
}

// chainsOfServer: each request of three workers waits for three reads, and the
// server for its own.
func chainsOfServer(v *run.VariantResult) error {
	if v.Trace.ChainBlocks == 0 {
		return fmt.Errorf("nothing was followed: %+v", v.Trace)
	}
	var viaServer, sum float64
	for _, c := range v.Trace.Chains {
		sum += c.Share
		last := c.Links[len(c.Links)-1]
		if len(c.Links) == 2 && strings.Contains(c.Links[0].Who, "appendAndWait") && strings.HasSuffix(last.Who, ".server") && last.Call == "read" && last.How == run.HowSyscall {
			viaServer += c.Share
			if !strings.Contains(last.By, "server") && !strings.Contains(last.By, "appendAndWait") {
				return fmt.Errorf("released in %q", last.By)
			}
		}
	}
	if viaServer < 0.5 || sum > 1.001 {
		return fmt.Errorf("%.2f of the wait is for the server's read, of %.2f: %+v", viaServer, sum, v.Trace.Chains)
	}
	return nil
}

func readsOfServer(v *run.VariantResult) error {
	i := slices.IndexFunc(v.Trace.Calls, func(c run.CallLatency) bool { return c.Call == "read" })
	if i < 0 {
		return fmt.Errorf("no read was timed: %+v", v.Trace.Calls)
	}
	read := v.Trace.Calls[i]
	if mean := float64(read.Total) / float64(read.Count); mean < 1e6 || mean > 50e6 || read.Runtime || read.Max < run.Nanos(mean) {
		return fmt.Errorf("reads that wait 2 ms took %+v", read)
	}
	return nil
}

// lived is a goroutine that did one thing after the other.
func lived(who string, stretches ...stretch) *life {
	l := &life{who: who, done: stretches}
	for i := range l.done {
		if l.done[i].site == nil {
			l.done[i].site = &callSite{in: who + ".place", call: "fsync"}
		}
		l.done[i].bySite = &callSite{in: who + ".released"}
	}
	l.now = stretch{from: l.done[len(l.done)-1].to, state: exptrace.GoRunning}
	return l
}

// A wait is divided by the states of the goroutine that ended it. The waits of that
// goroutine are divided in the same way.
func TestChainFollowsBack(t *testing.T) {
	disk := lived("disk", stretch{from: 0, to: 40, state: exptrace.GoRunning}, stretch{from: 40, to: 70, state: exptrace.GoSyscall})
	flusher := lived("flusher",
		stretch{from: 0, to: 30, state: exptrace.GoRunnable},
		stretch{from: 30, to: 70, state: exptrace.GoWaiting, by: disk},
		stretch{from: 70, to: 90, state: exptrace.GoSyscall})
	c := newChainBuilder()
	appender := lived("appender", stretch{from: 20, to: 100, state: exptrace.GoWaiting, by: flusher})
	c.follow(appender, appender.done[0])
	got := map[string]run.Nanos{}
	list, whole := c.chains()
	var sum run.Nanos
	for _, chain := range list {
		var words []string
		for _, l := range chain.Links {
			words = append(words, l.Who+" "+l.How)
		}
		got[strings.Join(words, " < ")] = chain.Time
		sum += chain.Time
	}
	want := map[string]run.Nanos{
		"appender blocked < flusher running":                10,
		"appender blocked < flusher syscall":                20,
		"appender blocked < flusher ready":                  10,
		"appender blocked < flusher blocked < disk syscall": 30,
		"appender blocked < flusher blocked < disk running": 10,
	}
	for chain, time := range want {
		if got[chain] != time {
			t.Errorf("%s took %d, want %d", chain, got[chain], time)
		}
	}
	if len(got) != len(want) || sum != 80 || whole != 80 {
		t.Errorf("%d chains make %d of %d: %v", len(got), sum, whole, got)
	}
}

// Those in one queue are one link, and what each of them did in its turn is
// what the last one waited for.
func TestChainThroughAQueue(t *testing.T) {
	c := newChainBuilder()
	lock := &callSite{in: "sync.(*Mutex).Lock in turn"}
	var before *life
	for i := range exptrace.Time(9) {
		turn := []stretch{{from: 10 * i, to: 10*i + 10, state: exptrace.GoSyscall}}
		if i > 0 {
			turn = append([]stretch{{from: 0, to: 10 * i, state: exptrace.GoWaiting, site: lock, by: before}}, turn...)
		}
		before = lived("worker", turn...)
	}
	c.follow(before, before.done[0])
	list, _ := c.chains()
	if len(list) != 1 || len(list[0].Links) != 2 || list[0].Time != 80 || list[0].Links[0].In != lock.in || list[0].Links[1].Call != "fsync" {
		t.Errorf("eight turns of 10 before: %+v", list)
	}
}

// What a timer ends says so; what nobody remembers is not made up.
func TestChainEnds(t *testing.T) {
	c := newChainBuilder()
	sleeper := lived("sleeper", stretch{from: 0, to: 10, state: exptrace.GoWaiting, reason: "sleep"})
	c.follow(sleeper, sleeper.done[0])
	late := lived("late", stretch{from: 15, to: 20, state: exptrace.GoRunning})
	waiter := lived("waiter", stretch{from: 0, to: 20, state: exptrace.GoWaiting, by: late})
	c.follow(waiter, waiter.done[0])
	ends := map[string]run.Nanos{}
	list, _ := c.chains()
	for _, chain := range list {
		last := chain.Links[len(chain.Links)-1]
		ends[last.Who+" "+last.How] += chain.Time
	}
	if len(ends) != 3 || ends[run.WhoTimer+" running"] != 10 || ends["late running"] != 5 || ends["late "+run.HowUnfollowed] != 15 {
		t.Errorf("got %v", ends)
	}
	_, before := c.chains()
	c.begin(8)
	c.follow(sleeper, sleeper.done[0])
	if _, after := c.chains(); after-before != 2 {
		t.Errorf("a wait of which 2 ns lie in the timed part counts %d", after-before)
	}
}

func TestCallSiteOf(t *testing.T) {
	for _, x := range []struct{ stack, in, call, who string }{
		{"syscall.Syscall syscall.Fsync internal/poll.(*FD).Fsync os.(*File).Sync example.org/app.(*log).commit example.org/app.run sync.(*WaitGroup).Go.func1", "os.(*File).Sync in example.org/app.(*log).commit", "fsync", "example.org/app.run"},
		{"syscall.Syscall6 syscall.pread syscall.Pread internal/poll.(*FD).Pread os.(*File).ReadAt example.org/app.get", "os.(*File).ReadAt in example.org/app.get", "pread64", "example.org/app.get"},
		{"golang.org/x/sys/unix.Syscall6 github.com/stele-go/stele/internal/sys.WriteDurably github.com/stele-go/stele/wal.(*output).write github.com/stele-go/stele/lab.(*B).Parallel.func1", "github.com/stele-go/stele/internal/sys.WriteDurably in github.com/stele-go/stele/wal.(*output).write", "pwritev2", "github.com/stele-go/stele/wal.(*output).write"},
		{"sync.(*Mutex).Lock example.org/app.put", "sync.(*Mutex).Lock in example.org/app.put", "", "example.org/app.put"},
		{"runtime.bgsweep", "runtime.bgsweep", "", ""},
		{"", "", "", ""},
	} {
		if got := callSiteOf(strings.Fields(x.stack)); *got != (callSite{x.in, x.call, x.who}) && runtime.GOOS == "linux" {
			t.Errorf("%s: %+v", x.stack, *got)
		}
	}
}

// Each function of the house makes the call that it is taken for.
func TestHouseCalls(t *testing.T) {
	checkCalls(t, "../internal/sys", houseCalls)
	byPackage := map[string]map[string]string{}
	for name, call := range measureCalls {
		dir, function, _ := strings.Cut(name, ".")
		if byPackage[dir] == nil {
			byPackage[dir] = map[string]string{}
		}
		byPackage[dir][function] = call
	}
	for dir, functions := range byPackage {
		checkCalls(t, "../internal/measure/"+dir, functions)
	}
}

func checkCalls(t *testing.T, dir string, functions map[string]string) {
	t.Helper()
	files, err := filepath.Glob(dir + "/*_linux.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var source strings.Builder
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(b)
	}
	for function, call := range functions {
		head := "func " + function
		if i := strings.LastIndexByte(function, '.'); i >= 0 {
			head = `func \(\w+ ` + regexp.QuoteMeta(strings.Trim(function[:i], "()")) + `\) ` + function[i+1:]
		}
		at := regexp.MustCompile(head + `\(`).FindStringIndex(source.String())
		if at == nil {
			t.Errorf("there is no %s", function)
			continue
		}
		body, _, _ := strings.Cut(source.String()[at[0]:], "\n}\n")
		if !strings.Contains(body, "SYS_"+strings.ToUpper(call)+",") {
			t.Errorf("%s does not call %s", function, call)
		}
	}
}

// The runner's own way of timing, from outside, finds the same calls.
func TestTimedFromOutside(t *testing.T) {
	if tracepointsRefused() {
		t.Skip(watchCalls().err)
	}
	e := testExperiment(t, "trace")
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	oneOfSome(t, func() error { // the server finds its pipe full when it comes late
		dir := t.TempDir()
		r := &runner{o: Options{BlockTime: 40 * time.Millisecond}, places: []openPlace{{dir: dir}}}
		b, err := r.blockIn(t.Context(), &e, &lane{v: e.Variant("server")}, blockSpec{
			Experiment: e.ID(), Variant: "server", Dir: filepath.Join(dir, "b"), Role: run.RoleTraced, NoBPF: true, Ops: 30, Batch: 1, Window: run.Nanos(time.Second)})
		if err != nil || b.Error != "" {
			t.Fatal(err, b.Error)
		}
		read := b.Calls["read"]
		if b.Timed != run.SourceTracepoints || read == nil {
			return fmt.Errorf("timed by %q (%+v): %v", b.Timed, b.Missing["calls"], b.Calls)
		}
		var n int64
		for _, k := range read.Counts {
			n += k
		}
		if n < 28 || n > 30 || math.Abs(float64(read.Total)-float64(b.Wall)) > 0.5*float64(b.Wall) {
			return fmt.Errorf("%d reads of 30 took %d ns of %d, by size from %d on: %v; all calls: %v", n, read.Total, b.Wall, read.First, read.Counts, b.Calls)
		}
		return nil
	})
}

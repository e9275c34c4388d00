package wal_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/tracetest"
	"github.com/stele-go/stele/wal"
)

var updateTraces = flag.Bool("update-traces", false, "write the golden traces anew")

// A scenario runs under strace: it appends "a", then, recorded, "b", then "c",
// and says what became of b, c and Close.
type scenario struct {
	name  string
	o     wal.Options
	calls int // of b, beside the golden file, which an update overwrites
}

var scenarios = []scenario{
	{"fdatasync", wal.Options{Sync: wal.SyncFdatasync}, 2},
	{"dsync", wal.Options{Sync: wal.SyncDsync}, 1},
	{"direct", wal.Options{Sync: wal.SyncDirect}, 1},
	{"kill", wal.Options{Level: durability.Kill}, 1},
	{"none", wal.Options{Level: durability.None}, 0},
}

func TestMain(m *testing.M) {
	if name, root := tracetest.Scenario(); name != "" {
		if err := runScenario(name, root); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// limitEnv has b run against a limit of the file's size.
const limitEnv = "STELE_WAL_LIMIT"

func runScenario(name, root string) error {
	if name == "auto" {
		l, err := wal.Open(filepath.Join(root, "log"), wal.Options{SegmentSize: 64 << 10})
		if err != nil {
			return err
		}
		fmt.Print(l.Stats().Mechanism)
		return l.Close()
	}
	for _, s := range scenarios {
		if s.name != name {
			continue
		}
		s.o.SegmentSize = 64 << 10
		l, err := wal.Open(filepath.Join(root, "log"), s.o)
		if err != nil {
			return err
		}
		outcome := func(rec string) string {
			_, err := l.Append(context.Background(), []byte(rec))
			return said(err)
		}
		if a := outcome("a"); a != "ok" {
			return errors.New(a)
		}
		b := strings.Repeat("b", 2000)
		var restore func() error
		if os.Getenv(limitEnv) != "" {
			if restore, err = limitFiles(4096 + 500); err != nil {
				return err
			}
		}
		tracetest.Begin()
		outB := outcome(b)
		tracetest.End()
		if restore != nil {
			if err := restore(); err != nil {
				return err
			}
		}
		outC := outcome("c")
		fmt.Printf("b %s, c %s, close %s", outB, outC, said(l.Close()))
		return nil
	}
	return fmt.Errorf("no scenario %q", name)
}

// limitFiles has writes behind size fail; the one across it is short.
func limitFiles(size uint64) (restore func() error, err error) {
	signal.Ignore(syscall.SIGXFSZ)
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		return nil, err
	}
	return func() error { return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old) },
		syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: old.Max})
}

// said is err in a few words.
func said(err error) string {
	if err == nil {
		return "ok"
	}
	var words []string
	for _, c := range []struct {
		err  error
		word string
	}{{syscall.EIO, "EIO"}, {syscall.ENOSPC, "ENOSPC"}, {syscall.EFBIG, "EFBIG"}, {wal.ErrPoisoned, "poisoned"}, {wal.ErrUnsure, "unsure"}} {
		if errors.Is(err, c.err) {
			words = append(words, c.word)
		}
	}
	if words == nil {
		return err.Error()
	}
	return strings.Join(words, "+")
}

const traced = "pwrite64,pwritev,pwritev2,write,fdatasync,fsync,sync_file_range,openat,close,ftruncate,fallocate"

// trace runs a scenario, and returns its folder besides.
func trace(t *testing.T, s scenario, inject ...string) (tracetest.Trace, string) {
	t.Helper()
	root := t.TempDir()
	tr := tracetest.Run{Scenario: s.name, Root: root, Calls: traced, Inject: inject}.Do(t)
	if tr.Exit != 0 {
		if strings.Contains(tr.Said, "Options.Sync") {
			t.Skip(tr.Said)
		}
		t.Fatal(tr.Said)
	}
	return tr, root
}

var data = regexp.MustCompile(`"(?:[^"\\]|\\.)*"(?:\.\.\.)?, `)

// blocks are sizes that depend on the disk's: of a write of whole blocks.
var blocks = regexp.MustCompile(`\b(?:2560|4096)\b`)

func TestTraces(t *testing.T) {
	tracetest.Need(t, traced)
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			tr, root := trace(t, s)
			if n := len(tr.Calls()); n != s.calls || tr.Said != "b ok, c ok, close ok" {
				t.Errorf("%d calls, want %d; %s", n, s.calls, tr.Said)
			}
			rules := []tracetest.Rule{{Find: data, By: "DATA, "}}
			if s.o.Sync == wal.SyncDirect {
				rules = append(rules, tracetest.Rule{Find: blocks, By: "BLOCKS"})
			}
			tracetest.Golden(t, s.name, tr.Normal(root, rules...), *updateTraces)
		})
	}
}

func TestFaults(t *testing.T) {
	tracetest.Need(t, traced)
	const ok = "b ok, c ok, close ok"
	const poisoned = "b EIO+poisoned+unsure, c EIO+poisoned, close EIO+poisoned"
	for _, c := range []struct {
		scenario
		call  string // of b, that fails
		fault string // as strace's option inject takes it, with %d for the call's number
		said  string
		recs  string // what the log has at the end
		more  string // another fault, after the first
	}{
		{scenario: scenarios[0], call: "pwrite64", fault: "pwrite64:error=EIO:when=%d", said: "b EIO, c ok, close ok", recs: "a c"},
		{scenario: scenarios[0], call: "pwrite64", fault: "pwrite64:error=ENOSPC:when=%d", said: "b ENOSPC, c ok, close ok", recs: "a c"},
		{scenario: scenarios[0], call: "pwrite64", fault: "pwrite64:error=EINTR:when=%d", said: ok, recs: "a b c"},
		// Wiping fails, once, and succeeds before c is written.
		{scenario: scenarios[0], call: "pwrite64", fault: "pwrite64:error=EIO:when=%d..%[1]d+1", said: "b EIO+unsure, c ok, close ok", recs: "a c"},
		// It always fails: nothing is written any more.
		{scenario: scenarios[0], call: "pwrite64", fault: "pwrite64:error=EIO:when=%d+", said: "b EIO+unsure, c EIO, close EIO", recs: "a"},
		// It cannot be made durable.
		{scenario: scenarios[0], call: "pwrite64", fault: "pwrite64:error=EIO:when=%d", more: "fdatasync:error=EIO:when=2",
			said: "b EIO+unsure, c EIO+poisoned, close EIO+poisoned", recs: "a"},
		{scenario: scenarios[0], call: "fdatasync", fault: "fdatasync:error=EIO:when=%d", said: poisoned, recs: "a ?"},
		{scenario: scenarios[0], call: "fdatasync", fault: "fdatasync:error=EINTR:when=%d", said: ok, recs: "a b c"},
		{scenario: scenarios[1], call: "pwritev2", fault: "pwritev2:error=EIO:when=%d", said: poisoned, recs: "a ?"},
		{scenario: scenarios[1], call: "pwritev2", fault: "pwritev2:error=ENOSPC:when=%d", said: "b ENOSPC, c ok, close ok", recs: "a c"},
		{scenario: scenarios[1], call: "pwritev2", fault: "pwritev2:error=EINTR:when=%d", said: ok, recs: "a b c"},
		{scenario: scenarios[2], call: "pwritev2", fault: "pwritev2:error=EIO:when=%d", said: poisoned, recs: "a ?"},
		{scenario: scenarios[2], call: "pwritev2", fault: "pwritev2:error=ENOSPC:when=%d", said: "b ENOSPC, c ok, close ok", recs: "a c"},
		{scenario: scenarios[3], call: "pwrite64", fault: "pwrite64:error=ENOSPC:when=%d", said: "b ENOSPC, c ok, close ok", recs: "a c"},
	} {
		t.Run(c.name+"/"+c.fault, func(t *testing.T) {
			t.Parallel()
			tr, _ := trace(t, c.scenario)
			inject := ""
			for _, call := range tr.Calls() {
				if call.Name == c.call {
					inject = fmt.Sprintf(c.fault, call.Nth)
					if i := strings.Index(inject, ".."); i > 0 {
						inject = fmt.Sprintf("%s..%d", inject[:i], call.Nth+1)
					}
				}
			}
			if inject == "" {
				t.Fatalf("no %s in %v", c.call, tr.Calls())
			}
			faults := []string{inject}
			if c.more != "" {
				faults = append(faults, nextSync(t, tr))
			}
			tr, root := trace(t, c.scenario, faults...)
			if tr.Said != c.said {
				t.Errorf("%s, want %s\n%s", tr.Said, c.said, tr.Raw)
			}
			holdsAll(t, root, c.recs)
		})
	}
}

// nextSync is the fault of the first fdatasync(2) of b.
func nextSync(t *testing.T, tr tracetest.Trace) string {
	for _, call := range tr.Calls() {
		if call.Name == "fdatasync" {
			return fmt.Sprintf("fdatasync:error=EIO:when=%d", call.Nth)
		}
	}
	t.Fatal("no fdatasync")
	return ""
}

// holdsAll checks what a scenario has left: the records by their first
// letters; "?" may be b, or nothing.
func holdsAll(t *testing.T, root, want string) {
	t.Helper()
	l := open(t, filepath.Join(root, "log"), small)
	var got []string
	for _, rec := range read(t, l, 0) {
		got = append(got, rec[:1])
	}
	now := strings.Join(got, " ")
	if now != want && (!strings.HasSuffix(want, " ?") || now+" ?" != want && now != strings.Replace(want, "?", "b", 1)) {
		t.Errorf("the log holds %q, want %q", now, want)
	}
	add(t, l, "after")
}

// A write that comes to a part only, as on a disk that gets full in the middle:
// by a limit of the file's size. That limits wiping it out, too.
func TestShortWrite(t *testing.T) {
	tracetest.Need(t, traced)
	for _, s := range scenarios[:4] {
		if s.o.Sync == wal.SyncDirect {
			continue // the limit is no multiple of a block
		}
		t.Run(s.name, func(t *testing.T) {
			root := t.TempDir()
			tr := tracetest.Run{Scenario: s.name, Root: root, Calls: traced, Env: []string{limitEnv + "=1"}}.Do(t)
			if strings.Contains(tr.Said, "Options.Sync") {
				t.Skip(tr.Said)
			}
			if !strings.Contains(tr.Raw, ") = 475\n") && !strings.Contains(tr.Raw, " = 475\n") {
				t.Errorf("no short write\n%s", tr.Raw)
			}
			if want := "b EFBIG+unsure, c ok, close ok"; tr.Said != want {
				t.Errorf("%s, want %s\n%s", tr.Said, want, tr.Raw)
			}
			holdsAll(t, root, "a c")
		})
	}
}

// The probe takes what is fast: here, what is not slowed down by a fault.
func TestProbe(t *testing.T) {
	tracetest.Need(t, traced)
	for slow, want := range map[string]string{
		"pwritev2":  "fdatasync",
		"fdatasync": "dsync direct",
	} {
		tr, _ := trace(t, scenario{name: "auto"}, slow+":delay_enter=3000")
		if !strings.Contains(want, tr.Said) {
			t.Errorf("%s is slow, and %s was taken\n%s", slow, tr.Said, tr.Raw)
		}
	}
	// What the kernel does not know is not taken, and RWF_DSYNC has a stand-in.
	tr, _ := trace(t, scenario{name: "auto"}, "pwritev2:error=EOPNOTSUPP", "fdatasync:delay_enter=3000")
	if tr.Said == "fdatasync" || !strings.Contains(tr.Raw, "O_DSYNC") {
		t.Errorf("%s was taken\n%s", tr.Said, tr.Raw)
	}
	tr, root := trace(t, scenarios[1], "pwritev2:error=EOPNOTSUPP")
	if tr.Said != "b ok, c ok, close ok" {
		t.Error(tr.Said)
	}
	holdsAll(t, root, "a b c")
}

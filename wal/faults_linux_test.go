// The race detector is of no use to tests traced on one thread, and slows the
// start of each of these many processes.

//go:build !race

package wal_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/internal/tracetest"
	"github.com/stele-go/stele/wal"
)

func TestFaults(t *testing.T) {
	tracetest.Need(t, traced)
	const ok = "b ok, c ok, close ok"
	const poisoned = "b EIO+poisoned+unsure, c EIO+poisoned, close EIO+poisoned"
	for _, c := range []struct {
		scenario
		call  string // that fails, during b
		fault string // as strace's option inject takes it, with %d for the number of the call
		said  string
		recs  string // records of the log at the end
		more  string // another fault, after the first
	}{
		{scenario: scenarios[0], call: "pwrite64", fault: "pwrite64:error=EIO:when=%d", said: "b EIO, c ok, close ok", recs: "a c"},
		{scenario: scenarios[0], call: "pwrite64", fault: "pwrite64:error=ENOSPC:when=%d", said: "b ENOSPC, c ok, close ok", recs: "a c"},
		{scenario: scenarios[0], call: "pwrite64", fault: "pwrite64:error=EINTR:when=%d", said: ok, recs: "a b c"},
		// wipe fails once, and succeeds before c is written.
		{scenario: scenarios[0], call: "pwrite64", fault: "pwrite64:error=EIO:when=%d..%[1]d+1", said: "b EIO+unsure, c ok, close ok", recs: "a c"},
		// wipe always fails: nothing more is written.
		{scenario: scenarios[0], call: "pwrite64", fault: "pwrite64:error=EIO:when=%d+", said: "b EIO+unsure, c EIO, close EIO", recs: "a"},
		// wipe cannot be made durable.
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

// nextSync returns the fault of the first fdatasync(2) of b.
func nextSync(t *testing.T, tr tracetest.Trace) string {
	for _, call := range tr.Calls() {
		if call.Name == "fdatasync" {
			return fmt.Sprintf("fdatasync:error=EIO:when=%d", call.Nth)
		}
	}
	t.Fatal("no fdatasync")
	return ""
}

// holdsAll checks the records that a scenario has left, by their first letters;
// "?" may be b or missing.
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

// A write is short, as on a disk that fills up in the middle of it: by a limit
// on the size of the file, which also limits wipe.
func TestShortWrite(t *testing.T) {
	tracetest.Need(t, traced)
	for _, s := range scenarios[:4] {
		if s.o.Sync == wal.SyncDirect {
			continue // the limit is not a multiple of a block
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

// The probe chooses the fastest mechanism: here, the one that no fault delays.
// If the disk itself is slow at that moment, the fault must be slower.
func TestProbe(t *testing.T) {
	tracetest.Need(t, traced)
	probed := func(slow string, right func(tr tracetest.Trace) bool, faults ...string) {
		t.Helper()
		var tr tracetest.Trace
		for _, delay := range []int{3_000, 30_000, 300_000, 1_000_000} { // µs
			tr, _ = trace(t, scenario{name: "auto"}, append(faults, fmt.Sprintf("%s:delay_enter=%d", slow, delay))...)
			if right(tr) {
				return
			}
		}
		t.Errorf("%s is slow, and %s was taken\n%s", slow, tr.Said, tr.Raw)
	}
	probed("pwritev2", func(tr tracetest.Trace) bool { return tr.Said == "fdatasync" })
	probed("fdatasync", func(tr tracetest.Trace) bool { return tr.Said == "dsync" || tr.Said == "direct" })
	// A mechanism that the kernel lacks is not chosen, and RWF_DSYNC has a
	// substitute.
	probed("fdatasync", func(tr tracetest.Trace) bool {
		return tr.Said != "fdatasync" && strings.Contains(tr.Raw, "O_DSYNC")
	}, "pwritev2:error=EOPNOTSUPP")
	tr, root := trace(t, scenarios[1], "pwritev2:error=EOPNOTSUPP")
	if tr.Said != "b ok, c ok, close ok" {
		t.Error(tr.Said)
	}
	holdsAll(t, root, "a b c")
}

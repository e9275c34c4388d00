package mkdir_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/mkdir"
)

var update = flag.Bool("update", false, "write the golden traces anew")

// A scenario is what runs under strace. Only the calls of run are recorded.
type scenario struct {
	name    string
	options mkdir.Options
	before  []string // made by the Maker, so known to it
	disk    []string // made by others
	removed string   // removed by others
	inject  string   // what strace makes fail, in its words
	run     func(m *mkdir.Maker, root string) error

	// The number of calls by name, beside the golden file, which an update
	// overwrites. Nil is not checked.
	calls map[string]int
}

var (
	plain    = mkdir.Options{Level: durability.Kill, Workers: 1}
	confined = mkdir.Options{Level: durability.Kill, Workers: 1, Confined: true}
	power    = mkdir.Options{Level: durability.Power, Workers: 1}
	both     = mkdir.Options{Level: durability.Power, Workers: 1, Confined: true}
)

func all(rel string) func(*mkdir.Maker, string) error {
	return func(m *mkdir.Maker, _ string) error { return m.All(rel, 0o755) }
}

func batch(rels ...string) func(*mkdir.Maker, string) error {
	return func(m *mkdir.Maker, _ string) error {
		_, err := m.Batch(context.Background(), slices.Values(rels), 0o755)
		return err
	}
}

var shared = []string{"s/a/x", "s/a/y", "s/b/x", "s/a/x", "s/b", "t"}

var scenarios = []scenario{
	{name: "all-fresh-7", calls: map[string]int{"statx": 1, "mkdirat": 13},
		run: func(_ *mkdir.Maker, root string) error { return mkdir.All(root+"/1/2/3/4/5/6/7", 0o755) }},
	{name: "all-existing", disk: []string{"1/2/3"}, calls: map[string]int{"statx": 1},
		run: func(_ *mkdir.Maker, root string) error { return mkdir.All(root+"/1/2/3", 0o755) }},
	{name: "fresh-7", options: plain, run: all("1/2/3/4/5/6/7"), calls: map[string]int{"mkdirat": 7}},
	{name: "fresh-7-confined", options: confined, run: all("1/2/3/4/5/6/7"), calls: map[string]int{"mkdirat": 7, "openat": 6, "close": 6}},
	{name: "known", options: plain, before: []string{"1/2/3"}, run: all("1/2/3"), calls: map[string]int{}},
	{name: "known-confined-power", options: both, before: []string{"1/2/3"}, run: all("1/2"), calls: map[string]int{}},
	{name: "below-known", options: plain, before: []string{"1/2/3"}, run: all("1/2/3/4"), calls: map[string]int{"mkdirat": 1}},
	{name: "below-known-confined", options: confined, before: []string{"1/2/3"}, run: all("1/2/3/4"), calls: map[string]int{"openat2": 1, "mkdirat": 1, "close": 1}},
	{name: "below-known-confined-without-openat2", options: confined, before: []string{"1/2/3"}, inject: "openat2:error=ENOSYS", run: all("1/2/3/4")},
	{name: "first-met", options: plain, disk: []string{"1/2/3"}, run: all("1/2/3")},
	{name: "repair", options: plain, before: []string{"1/2/3"}, removed: "1/2", run: all("1/2/3/4")},
	{name: "repair-confined", options: confined, before: []string{"1/2/3"}, removed: "1/2", run: all("1/2/3/4")},
	{name: "batch", options: plain, run: batch(shared...), calls: map[string]int{"mkdirat": 7, "statx": 2}},
	{name: "batch-confined", options: confined, run: batch(shared...), calls: map[string]int{"mkdirat": 7, "statx": 2, "openat2": 4, "close": 4}},
	{name: "power-fresh-3", options: power, run: all("1/2/3"), calls: map[string]int{"mkdirat": 3, "fsync": 3, "openat": 2, "close": 2}},
	{name: "power-below-known", options: power, before: []string{"1/2"}, run: all("1/2/3"), calls: map[string]int{"mkdirat": 1, "fsync": 1, "openat": 1, "close": 1}},
	// Somebody else made all of it: nobody knows whether it was synced.
	{name: "power-first-met", options: power, disk: []string{"1/2/3"}, run: all("1/2/3"), calls: map[string]int{"mkdirat": 3, "statx": 1, "fsync": 3, "openat": 2, "close": 2}},
	{name: "power-batch", options: power, disk: []string{"s"}, run: batch(shared...), calls: map[string]int{"mkdirat": 7, "statx": 2, "fsync": 4, "openat": 3, "close": 3}},
	// A sync that fails is reported, and nothing counts as durable.
	{name: "power-sync-fails", options: power, inject: "fsync:error=EIO:when=2", run: func(m *mkdir.Maker, root string) error {
		var pe *fs.PathError
		if err := m.All("1/2/3", 0o755); !errors.Is(err, unix.EIO) || !errors.As(err, &pe) || pe.Path != root+"/1" {
			return fmt.Errorf("got %v, want EIO of the directory 1", err)
		}
		return m.All("1/2/3", 0o755)
	}, calls: map[string]int{"mkdirat": 6, "statx": 1, "fsync": 5, "openat": 3, "close": 3}},
	{name: "power-batch-sync-fails", options: power, inject: "fsync:error=EIO:when=1", run: func(m *mkdir.Maker, root string) error {
		if err := batch("1/2")(m, root); !errors.Is(err, unix.EIO) {
			return fmt.Errorf("got %v, want EIO", err)
		}
		return batch("1/2")(m, root)
	}},
	{name: "power-undo", options: power, disk: []string{"s"}, run: func(m *mkdir.Maker, _ string) error {
		c, err := m.Batch(context.Background(), slices.Values([]string{"s/a/x"}), 0o755)
		if err != nil {
			return err
		}
		mark("begin") // again: only Undo counts
		return c.Undo()
	}, calls: map[string]int{"statx": 2, "unlinkat": 2, "openat": 1, "fsync": 1, "close": 1}},
}

const traceEnv = "STELE_TRACE_SCENARIO"

// init keeps TestMain on the first thread, the only one that strace follows
// without -f: so no call of the runtime's other threads gets in between.
func init() {
	if os.Getenv(traceEnv) != "" {
		runtime.LockOSThread()
	}
}

func TestMain(m *testing.M) {
	if name := os.Getenv(traceEnv); name != "" {
		if err := runScenario(name, os.Getenv(traceEnv+"_ROOT")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func runScenario(name, root string) error {
	i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
	s := scenarios[i]
	for _, p := range s.disk {
		if err := os.MkdirAll(filepath.Join(root, p), 0o755); err != nil {
			return err
		}
	}
	m, err := mkdir.OpenRoot(root, s.options)
	if err != nil {
		return err
	}
	for _, p := range s.before {
		if err := m.All(p, 0o755); err != nil {
			return err
		}
	}
	if s.removed != "" {
		if err := os.RemoveAll(filepath.Join(root, s.removed)); err != nil {
			return err
		}
	}
	mark("begin")
	err = s.run(m, root)
	mark("end")
	return err
}

// mark makes a call that nothing else makes, to be found in the trace.
func mark(what string) { unix.Faccessat(unix.AT_FDCWD, "/stele-trace-"+what, 0, 0) }

const traced = "mkdir,mkdirat,openat,openat2,newfstatat,fstat,statx,fsync,fdatasync,sync,syncfs,unlinkat,rmdir,renameat2,close,faccessat,faccessat2"

func TestTraces(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	if out, err := exec.Command(strace, "-y", "-e", "trace="+traced, "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("strace cannot trace here: %v: %s", err, out)
	}
	self, err := os.Executable()
	must(t, err)
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			root, out := t.TempDir(), filepath.Join(t.TempDir(), "strace")
			args := []string{"-y", "-e", "signal=none", "-e", "trace=" + traced, "-o", out}
			if s.inject != "" {
				args = append(args, "-e", "inject="+s.inject)
			}
			cmd := exec.Command(strace, append(args, self)...)
			cmd.Env = append(os.Environ(), traceEnv+"="+s.name, traceEnv+"_ROOT="+root, "GOCOVERDIR="+t.TempDir())
			if msg, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, msg)
			}
			raw, err := os.ReadFile(out)
			must(t, err)
			got := normalise(string(raw), root)
			if s.calls != nil {
				n := map[string]int{}
				for line := range strings.Lines(got) {
					call, _, _ := strings.Cut(line, "(")
					n[call]++
				}
				if fmt.Sprint(n) != fmt.Sprint(s.calls) {
					t.Errorf("calls %v, want %v", n, s.calls)
				}
			}
			golden := filepath.Join("testdata", s.name+".trace")
			if *update {
				must(t, os.MkdirAll("testdata", 0o755))
				must(t, os.WriteFile(golden, []byte(got), 0o644))
				return
			}
			want, err := os.ReadFile(golden)
			must(t, err)
			if !bytes.Equal([]byte(got), want) {
				t.Errorf("system calls differ from %s (-update writes it anew)\ngot\n%swant\n%s", golden, got, want)
			}
		})
	}
}

var (
	descriptor = regexp.MustCompile(`\b(?:\d+|AT_FDCWD)<([^>]*)>`)
	statResult = regexp.MustCompile(`\{stx_mask.*\}|0x[0-9a-f]+`)
	message    = regexp.MustCompile(`( \([^()]*\))+$`)
	padding    = regexp.MustCompile(`\)\s+= `)
)

// normalise returns the calls between the last begin mark and the end, with
// directories in place of descriptors.
func normalise(raw, root string) string {
	var b strings.Builder
	for line := range strings.Lines(raw) {
		line = strings.TrimSuffix(line, "\n")
		if strings.Contains(line, "/stele-trace-begin") {
			b.Reset()
			continue
		}
		if strings.Contains(line, "/stele-trace-end") {
			break
		}
		line = strings.ReplaceAll(line, root, "ROOT")
		line = descriptor.ReplaceAllStringFunc(line, func(d string) string {
			if strings.HasPrefix(d, "AT_FDCWD") {
				return "AT_FDCWD"
			}
			return d[strings.IndexByte(d, '<'):]
		})
		line = statResult.ReplaceAllString(line, "{...}")
		line = padding.ReplaceAllString(line, ") = ")
		line = message.ReplaceAllString(line, "")
		b.WriteString(line + "\n")
	}
	return b.String()
}

package mkdir_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/tracetest"
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
	plain         = mkdir.Options{Level: durability.Kill, Workers: 1}
	confined      = mkdir.Options{Level: durability.Kill, Workers: 1, Confined: true}
	power         = mkdir.Options{Level: durability.Power, Workers: 1}
	belowRootOnly = mkdir.Options{Level: durability.Kill, Workers: 1, Root: belowRoot}
	oneMount      = mkdir.Options{Level: durability.Kill, Workers: 1, Root: belowRoot, OneMount: true}
	both          = mkdir.Options{Level: durability.Power, Workers: 1, Confined: true}
)

func all(rel string) func(*mkdir.Maker, string) error {
	return func(m *mkdir.Maker, _ string) error { return m.All(rel, 0o755) }
}

func verify(rel string) func(*mkdir.Maker, string) error {
	return func(m *mkdir.Maker, _ string) error { return m.Verify(rel, 0o755) }
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
	{name: "below-root", options: belowRootOnly, before: []string{"1/2/3"}, run: all("1/2/3/4"), calls: map[string]int{"openat2": 1, "mkdirat": 1, "close": 1}},
	{name: "below-root-one-mount", options: oneMount, run: all("1/2"), calls: map[string]int{"mkdirat": 2, "openat2": 1, "close": 1}},
	{name: "verify", options: plain, before: []string{"1/2/3"}, run: verify("1/2/3"), calls: map[string]int{"statx": 1}},
	{name: "verify-confined", options: confined, before: []string{"1/2/3"}, run: verify("1/2/3"), calls: map[string]int{"openat2": 1, "close": 1}},
	{name: "verify-removed", options: plain, before: []string{"1/2/3"}, removed: "1/2/3", run: verify("1/2/3")},
	{name: "repair", options: plain, before: []string{"1/2/3"}, removed: "1/2", run: all("1/2/3/4")},
	{name: "repair-confined", options: confined, before: []string{"1/2/3"}, removed: "1/2", run: all("1/2/3/4")},
	{name: "batch", options: plain, run: batch(shared...), calls: map[string]int{"mkdirat": 7}},
	{name: "batch-undo", options: mkdir.Options{Level: durability.Kill, Workers: 1, Undo: true}, run: batch(shared...),
		calls: map[string]int{"mkdirat": 7, "name_to_handle_at": 7}},
	{name: "batch-confined", options: confined, run: batch(shared...), calls: map[string]int{"mkdirat": 7, "openat2": 3, "close": 3}},
	{name: "power-fresh-3", options: power, run: all("1/2/3"), calls: map[string]int{"mkdirat": 3, "fsync": 3, "openat": 2, "close": 2}},
	{name: "power-below-known", options: power, before: []string{"1/2"}, run: all("1/2/3"), calls: map[string]int{"mkdirat": 1, "fsync": 1, "openat": 1, "close": 1}},
	// Another process made all of it: whether it was synced is not known.
	{name: "power-first-met", options: power, disk: []string{"1/2/3"}, run: all("1/2/3"), calls: map[string]int{"mkdirat": 3, "statx": 1, "fsync": 3, "openat": 2, "close": 2}},
	{name: "power-batch", options: power, disk: []string{"s"}, run: batch(shared...), calls: map[string]int{"mkdirat": 7, "fsync": 4, "openat": 3, "close": 3}},
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
	{name: "power-undo", options: mkdir.Options{Workers: 1, Undo: true}, disk: []string{"s"}, run: func(m *mkdir.Maker, _ string) error {
		c, err := m.Batch(context.Background(), slices.Values([]string{"s/a/x"}), 0o755)
		if err != nil {
			return err
		}
		tracetest.Begin() // again: only Undo counts
		return c.Undo()
	}, calls: map[string]int{"name_to_handle_at": 2, "unlinkat": 2, "openat": 1, "fsync": 1, "close": 1}},
}

func TestMain(m *testing.M) {
	tracetest.HandOver(runScenario)
	os.Exit(m.Run())
}

func runScenario(name, root string) (err error) {
	i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
	s := scenarios[i]
	for _, p := range s.disk {
		if err := os.MkdirAll(filepath.Join(root, p), 0o755); err != nil {
			return err
		}
	}
	top := root
	if s.options.Root == belowRoot {
		if s.options.Root, err = os.OpenRoot(root); err != nil {
			return err
		}
		top = "."
	}
	m, err := mkdir.OpenRoot(top, s.options)
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
	tracetest.Begin()
	err = s.run(m, root)
	tracetest.End()
	return err
}

const traced = "mkdir,mkdirat,name_to_handle_at,openat,openat2,newfstatat,fstat,statx,fsync,fdatasync,sync,syncfs,unlinkat,rmdir,renameat2,close"

var results = []tracetest.Rule{
	{Find: regexp.MustCompile(`\{stx_mask.*\}|\b0x[0-9a-f]+`), By: "{...}"},
	{Find: regexp.MustCompile(`\{handle_bytes=.*\}, \[\d+\], .*\) = `), By: "{...}, AT_HANDLE_FID) = "},
}

func TestTraces(t *testing.T) {
	tracetest.Need(t, traced)
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			run := tracetest.Run{Scenario: s.name, Root: t.TempDir(), Calls: traced}
			if s.inject != "" {
				run.Inject = []string{s.inject}
			}
			run.Golden(t, s.calls, *update, results...)
		})
	}
}

package newfile_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/tempfile"
	"github.com/stele-go/stele/internal/tracetest"
	"github.com/stele-go/stele/newfile"
)

var update = flag.Bool("update", false, "write the golden traces anew")

// A scenario is what runs under strace. Only the calls of run are recorded.
type scenario struct {
	name    string
	options newfile.Options
	before  func(d *newfile.Dir) error
	inject  string // what strace makes fail, in its words
	run     func(d *newfile.Dir) error

	// The number of calls by name, beside the golden file, which an update
	// overwrites. Nil is not checked.
	calls map[string]int
}

var (
	power        = newfile.Options{}
	killShards   = newfile.Options{Level: durability.Kill, Shards: 16}
	powerShards  = newfile.Options{Shards: 16}
	createAndEnd = func(d *newfile.Dir) error { return closed(d.Create("f", 0o644)) }
	touch        = func(d *newfile.Dir) error { return d.Touch("f", 0o644) }
)

func publish(give func(*newfile.File, string) error) func(*newfile.Dir) error {
	return func(d *newfile.Dir) error {
		f, err := newfile.Anonymous(d, 0o644)
		if err != nil {
			return err
		}
		return errors.Join(give(f, "f"), f.Close())
	}
}

// loan gets a file from the pool, writes into it and returns it.
func loan(p *newfile.Pool) error {
	s, err := p.Get(context.Background())
	if err != nil {
		return err
	}
	_, err = s.Write([]byte("x"))
	return errors.Join(err, s.Close())
}

func hide(d *newfile.Dir) error { newfile.WithoutUnnamed(d); return nil }

var scenarios = []scenario{
	{name: "create", options: kill, run: createAndEnd, calls: map[string]int{"openat": 1, "fcntl": 1, "close": 1}},
	{name: "touch", options: kill, run: touch, calls: map[string]int{"mknodat": 1}},
	{name: "touch-without-mknodat", options: kill, inject: "mknodat:error=EPERM", run: touch,
		calls: map[string]int{"mknodat": 1, "openat": 1, "close": 1}},
	{name: "create-power", options: power, run: createAndEnd, calls: map[string]int{"openat": 1, "fcntl": 1, "fsync": 1, "close": 1}},
	{name: "touch-power", options: power, run: touch, calls: map[string]int{"mknodat": 1, "fsync": 1}},
	{name: "create-shards", options: killShards, before: touchOther, run: createAndEnd, calls: map[string]int{"openat": 1, "fcntl": 1, "close": 1}},
	{name: "create-shards-fresh", options: killShards, run: createAndEnd,
		calls: map[string]int{"openat": 2, "mkdirat": 1, "fcntl": 1, "close": 1}},
	{name: "create-shards-power", options: powerShards, before: touchOther, run: createAndEnd,
		calls: map[string]int{"openat": 2, "fcntl": 1, "fsync": 1, "close": 2}},
	{name: "create-shards-power-fresh", options: powerShards, run: createAndEnd,
		calls: map[string]int{"mkdirat": 1, "openat": 2, "fcntl": 1, "fsync": 2, "close": 2}},
	{name: "create-sync-fails", options: power, inject: "fsync:error=EIO", run: func(d *newfile.Dir) error {
		if err := createAndEnd(d); !errors.Is(err, unix.EIO) {
			return fmt.Errorf("got %v, want EIO", err)
		}
		return nil
	}},
	{name: "sync-without-descriptors", options: powerShards, before: touchOther, run: func(d *newfile.Dir) error {
		var r unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
			return err
		}
		r.Cur = 0
		return errors.Join(unix.Setrlimit(unix.RLIMIT_NOFILE, &r), touch(d))
	}, calls: map[string]int{"mknodat": 1, "openat": 1, "syncfs": 1}},
	{name: "create-below-root", options: newfile.Options{Level: durability.Kill, Shards: 16, Root: belowRoot}, before: touchOther, run: createAndEnd,
		calls: map[string]int{"openat2": 1, "fcntl": 1, "close": 1}},
	{name: "touch-below-root", options: newfile.Options{Level: durability.Kill, Shards: 16, Root: belowRoot}, before: touchOther, run: touch,
		calls: map[string]int{"openat2": 1, "mknodat": 1, "close": 1}},
	{name: "create-below-root-power", options: newfile.Options{Shards: 16, Root: belowRoot, OneMount: true}, before: touchOther, run: createAndEnd,
		calls: map[string]int{"openat2": 2, "fcntl": 1, "fsync": 1, "close": 2}},
	{name: "batch-shards-power", options: powerShards, run: func(d *newfile.Dir) error {
		_, err := d.Batch(context.Background(), names(6), 0o644, nil)
		return err
	}},
	{name: "publish", options: kill, run: publish((*newfile.File).Publish),
		calls: map[string]int{"openat": 1, "fcntl": 1, "linkat": 1, "close": 1}},
	{name: "publish-without-privilege", options: kill, inject: "linkat:error=ENOENT:when=1", run: publish((*newfile.File).Publish),
		calls: map[string]int{"openat": 1, "fcntl": 1, "linkat": 2, "close": 1}},
	{name: "publish-power", options: power, run: publish((*newfile.File).Publish),
		calls: map[string]int{"openat": 1, "fcntl": 1, "fsync": 2, "linkat": 1, "close": 1}},
	{name: "publish-sync-fails", options: power, inject: "fsync:error=EIO:when=1", run: func(d *newfile.Dir) error {
		f, err := newfile.Anonymous(d, 0o644)
		if err != nil {
			return err
		}
		if err := f.Publish("f"); !errors.Is(err, unix.EIO) {
			return fmt.Errorf("got %v, want EIO", err)
		}
		if err := f.Publish("f"); err == nil {
			return errors.New("published after a failed sync")
		}
		return f.Close()
	}},
	{name: "replace-power", options: power, before: touch, run: publish((*newfile.File).Replace),
		calls: map[string]int{"openat": 1, "fcntl": 1, "fsync": 2, "newfstatat": 1, "flock": 2, "linkat": 1, "renameat2": 1, "close": 1}},
	{name: "replace-nothing", options: kill, run: publish((*newfile.File).Replace),
		calls: map[string]int{"openat": 1, "fcntl": 1, "newfstatat": 1, "linkat": 1, "close": 1}},
	{name: "publish-hidden-power", options: power, before: hide, run: publish((*newfile.File).Publish),
		calls: map[string]int{"openat": 1, "fcntl": 1, "fsync": 2, "flock": 2, "renameat2": 1, "close": 1}},
	{name: "publish-hidden-without-noreplace", options: kill, before: hide, inject: "renameat2:error=EINVAL", run: publish((*newfile.File).Publish),
		calls: map[string]int{"openat": 1, "fcntl": 1, "flock": 2, "renameat2": 1, "linkat": 1, "unlinkat": 1, "close": 1}},
	{name: "pool", options: kill, run: func(d *newfile.Dir) error {
		p, err := newfile.NewPool(d, 1)
		if err != nil {
			return err
		}
		if err := loan(p); err != nil {
			return err
		}
		tracetest.Begin() // again: only the second loan counts
		err = loan(p)
		tracetest.End()
		return errors.Join(err, p.Close())
	}, calls: map[string]int{"lseek": 1, "ftruncate": 1}},
	{name: "memory", run: func(*newfile.Dir) error {
		m, err := newfile.Memory("m")
		if err != nil {
			return err
		}
		return errors.Join(m.Seal(), m.Close())
	}, calls: map[string]int{"memfd_create": 1, "fcntl": 2, "close": 1}},
}

// touchOther creates a file in the sub-directory of "f".
func touchOther(d *newfile.Dir) error {
	for i := 0; ; i++ {
		if name := fmt.Sprint(i); filepath.Dir(d.Path(name)) == filepath.Dir(d.Path("f")) {
			return d.Touch(name, 0o644)
		}
	}
}

func TestMain(m *testing.M) {
	tracetest.HandOver(runScenario)
	if dir := os.Getenv(replacerEnv); dir != "" {
		replaceForEver(dir)
	}
	os.Exit(m.Run())
}

func runScenario(name, root string) error {
	runtime.GOMAXPROCS(1) // keeps a batch on the traced thread
	i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
	s := scenarios[i]
	top := root
	if s.options.Root == belowRoot {
		var err error
		if s.options.Root, err = os.OpenRoot(root); err != nil {
			return err
		}
		top = "."
	}
	d, err := newfile.OpenDir(top, s.options)
	if err != nil {
		return err
	}
	if s.before != nil {
		if err := s.before(d); err != nil {
			return err
		}
	}
	tempfile.Warm()
	tracetest.Begin()
	err = s.run(d)
	tracetest.End()
	return err
}

const traced = "openat,openat2,flock,fcntl,mknodat,mkdirat,close,fsync,fdatasync,syncfs,linkat,renameat,renameat2,unlinkat,ftruncate,lseek,memfd_create,epoll_ctl,epoll_create1,eventfd2,newfstatat,fstat,statx"

// rules replace the names and numbers that differ from run to run.
var rules = []tracetest.Rule{
	{Find: regexp.MustCompile(`\b0x[0-9a-f]+`), By: "{...}"}, // flags
	{Find: regexp.MustCompile(`#\d+>\(deleted\)`), By: "UNNAMED>"},
	{Find: regexp.MustCompile(`\.stele-[0-9a-z-]+\.tmp`), By: "HIDDEN"},
	{Find: regexp.MustCompile(`/proc/self/fd/\d+`), By: "/proc/self/fd/N"},
}

func TestTraces(t *testing.T) {
	tracetest.Need(t, traced)
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			run := tracetest.Run{Scenario: s.name, Root: t.TempDir(), Calls: traced}
			if s.inject != "" {
				run.Inject = []string{s.inject}
			}
			run.Golden(t, s.calls, *update, rules...)
		})
	}
}

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

// A scenario runs under strace: it appends "a", then, traced, "b", then "c",
// and prints the results of b, c and Close.
type scenario struct {
	name  string
	o     wal.Options
	calls int // of b, apart from the golden file, which an update overwrites
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

// limitEnv makes b run with a limit on the size of a file.
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

// limitFiles makes writes beyond size fail; the one across it is short.
func limitFiles(size uint64) (restore func() error, err error) {
	signal.Ignore(syscall.SIGXFSZ)
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		return nil, err
	}
	return func() error { return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old) },
		syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: old.Max})
}

// said describes err in a few words.
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

// trace runs a scenario, and also returns its directory.
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

// blocks matches sizes that depend on the disk: those of writes of whole
// blocks.
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

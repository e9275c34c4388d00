package wal

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/internal/tracetest"
)

var updateDisk = flag.Bool("update-disk-traces", false, "write the golden traces of the store anew")

// tracedDisk are the calls that change a directory, or make it durable.
const tracedDisk = "mkdirat,openat,renameat,renameat2,unlinkat,pwrite64,write,fallocate,ftruncate,fdatasync,fsync,flock"

// Scenarios of the store, each in a process under strace. No goroutine runs in
// the background (Spares is 0), so the order of the calls is fixed.
var diskScenarios = map[string]func(dir string) error{
	"make": func(dir string) error {
		tracetest.Begin()
		s, _, err := openStore(dir, bare())
		tracetest.End()
		return ended(s, err)
	},
	"advance": func(dir string) error {
		return written(dir, 1, func(s *store, off int64, next Position) error {
			tracetest.Begin()
			_, err := s.advance(off, off, next)
			tracetest.End()
			return err
		})
	},
	"truncate": func(dir string) error {
		return written(dir, 2, func(s *store, off int64, next Position) error {
			tracetest.Begin()
			err := s.truncate(next)
			tracetest.End()
			return err
		})
	},
	"recycle": func(dir string) error {
		return written(dir, 2, func(s *store, off int64, next Position) error {
			if err := s.truncate(next); err != nil {
				return err
			}
			// As if the file had been kept for recycling.
			old := &segment{path: s.path(segmentName(1)), size: minSegmentSize}
			if err := os.WriteFile(old.path, make([]byte, old.size), 0o666); err != nil {
				return err
			}
			s.free = append(s.free, 1)
			tracetest.Begin()
			g, err := s.createSegment(3)
			tracetest.End()
			if err == nil {
				err = g.close()
			}
			return err
		})
	},
	"close": func(dir string) error {
		return written(dir, 1, func(s *store, off int64, next Position) error {
			tracetest.Begin()
			err := s.mark(off, next)
			tracetest.End()
			return err
		})
	},
	// Opened after a kill between the end record and its sync: the log
	// continues in the next segment, and everything before must be durable by
	// then.
	"reopen": func(dir string) error {
		err := written(dir, 1, func(s *store, off int64, next Position) error {
			_, err := s.advance(off, off, next)
			return err
		})
		if err != nil {
			return err
		}
		tracetest.Begin()
		s, _, err := openStore(dir, bare())
		tracetest.End()
		return ended(s, err)
	},
}

func bare() Options { return Options{SegmentSize: minSegmentSize} }

func ended(s *store, err error) error {
	if err != nil {
		return err
	}
	return s.close(0, 0, false)
}

// written runs do on a log of that many segments with a record each.
func written(dir string, segments int, do func(s *store, off int64, next Position) error) error {
	s, _, err := openStore(dir, bare())
	if err != nil {
		return err
	}
	g, off, next := s.tail()
	for i := range segments {
		if i > 0 {
			if g, err = s.advance(off, off, next); err != nil {
				return err
			}
			off = firstOffset
		}
		rec := g.appendRecord(nil, off, typeData, next, 0, checksum(payload(next)), payload(next))
		if err := errors.Join(g.write(rec, off), g.sync()); err != nil {
			return err
		}
		off += int64(len(rec))
		next++
	}
	return errors.Join(do(s, off, next), s.close(0, 0, false))
}

func init() {
	name, root := tracetest.Scenario()
	if do := diskScenarios[strings.TrimPrefix(name, "disk-")]; do != nil && strings.HasPrefix(name, "disk-") {
		if err := do(filepath.Join(root, "log")); err != nil {
			fmt.Print(err)
		}
		os.Exit(0)
	}
}

func traceDisk(t *testing.T, name string, inject ...string) (tracetest.Trace, string) {
	t.Helper()
	root := t.TempDir()
	tr := tracetest.Run{Scenario: "disk-" + name, Root: root, Calls: tracedDisk, Inject: inject}.Do(t)
	if tr.Exit != 0 {
		t.Fatal(tr.Said)
	}
	return tr, root
}

// The calls that make files and names durable, in order.
func TestDiskTraces(t *testing.T) {
	tracetest.Need(t, tracedDisk)
	rules := []tracetest.Rule{{Find: regexp.MustCompile(`"(?:\\.|[^"\\])*"\.\.\., `), By: "DATA, "},
		{Find: regexp.MustCompile(`write64\((.*)>, "(?:\\.|[^"\\])*", `), By: "write64($1>, DATA, ", Groups: true},
		{Find: regexp.MustCompile(`LOCK>, DATA, \d+, 0\) = \d+`), By: "LOCK>, PID, 0)"}}
	for name := range diskScenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "make" && neverInPlace(t.TempDir()) {
				t.Skip("this file system never writes in place, so a new file is not filled with zeros")
			}
			tr, root := traceDisk(t, name)
			if tr.Said != "" {
				t.Fatal(tr.Said)
			}
			tracetest.Golden(t, "disk-"+name, tr.Normal(root, rules...), *updateDisk)
		})
	}
}

// Whichever call fails, with EIO or ENOSPC, the log opens afterwards, with the
// records that it had.
func TestDiskFaults(t *testing.T) {
	tracetest.Need(t, tracedDisk)
	kinds := []string{"fsync", "fdatasync", "renameat", "renameat2"}
	if os.Getenv("STELE_LONG") != "" {
		kinds = strings.Split(tracedDisk, ",")
	}
	records := map[string]Position{"make": 0, "advance": 1, "truncate": 2, "recycle": 2, "close": 1, "reopen": 1}
	for name := range diskScenarios {
		tr, _ := traceDisk(t, name)
		for _, call := range tr.Calls() {
			if !slices.Contains(kinds, call.Name) {
				continue
			}
			fault := fmt.Sprintf("%s:error=%s:when=%d", call.Name, []string{"EIO", "ENOSPC"}[call.Nth%2], call.Nth)
			t.Run(name+"/"+fault, func(t *testing.T) {
				t.Parallel()
				tr, root := traceDisk(t, name, fault)
				// The log works without these calls, which are for full disks and for
				// other processes.
				optional := call.Name == "unlinkat" || strings.Contains(call.Line, lockName) || call.Name == "openat" || call.Name == "fallocate"
				if tr.Said == "" && !optional {
					t.Errorf("the failure is not reported:\n%s", tr.Raw)
				}
				dir := filepath.Join(root, "log")
				p, rep := openPen(t, dir, small())
				if first := rep.First; rep.Next != records[name]+1 || first != 1 && first != rep.Next {
					t.Errorf("%+v after %s", rep, tr.Said)
				}
				p.fill(2)
				p.close()
				if _, err := Verify(dir); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

package claims

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

const (
	c14Coded   = "os.Stat and os.OpenFile in /dev/shm"
	c14Openat2 = "openat2 in /dev/shm"
	c14Memory  = "/dev/shm"
)

func c14(first bool) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "C14-later", Question: "How many system calls does a temporary file take?",
		Op: "one temporary file, created and closed", Ops: 1000, MaxRounds: lab.MinRounds,
		Variants: []lab.Variant{
			{Name: c8Named, Doc: "os.CreateTemp and Close", Promise: kill, Baseline: true, Run: inDir(func(b *lab.B) error {
				for b.Loop() {
					f, err := os.CreateTemp(".", "c14-*")
					if err != nil {
						return err
					}
					if err := f.Close(); err != nil {
						return err
					}
				}
				return nil
			})},
			{Name: c14Coded, Doc: "as coded: os.Stat of the directory, which is made if it is missing, os.OpenFile with O_EXCL and a name of time and random number, and Close", Promise: kill, Run: runFastTemp},
			{Name: c14Openat2, Doc: "as told: openat2(2) with O_CREAT and O_EXCL, in a directory in memory, and Close", Promise: kill, Run: runOpenat2},
		},
	}
	if first {
		e.Name, e.Ops = "C14-first", 1
		e.Op = "the first temporary file of a process, created and closed"
	}
	return e
}

func claimC14() Claim {
	first, later := c14(true), c14(false)
	return Claim{
		ID: "C14",
		Source: reportC.source("ch. 5, Kernel-level optimisation",
			"os.CreateTemp makes three statx calls to check the parent and seven calls in all, openat2 in /dev/shm three; the delay is getdents64's."),
		Statement:   "system calls of os.CreateTemp (A), and of its replacement in /dev/shm (B), as coded and with openat2, which the code does not call",
		Claimed:     "7 with three statx; 3; a getdents64",
		Promise:     killText + "; files in /dev/shm are lost at a reboot",
		Experiments: []lab.Experiment{first, later},
		judge:       func(ev *evidence) judgement { return judgeC14(ev, first.ID(), later.ID()) },
	}
}

// runFastTemp is the report's code.
func runFastTemp(b *lab.B) error {
	if _, err := os.Stat(c14Memory); err != nil {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	dir := filepath.Join(c14Memory, fmt.Sprintf("stele-c14-%d", os.Getpid()))
	defer os.RemoveAll(dir)
	for b.Loop() {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
		}
		name := filepath.Join(dir, fmt.Sprintf("tmp_%d_%d", time.Now().UnixNano(), b.Rand.Int64()))
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

// runOpenat2 works outside the block's directory and removes its files at the end.
func runOpenat2(b *lab.B) (err error) {
	dir, err := os.MkdirTemp(c14Memory, "stele-c14-*")
	if err != nil {
		return fmt.Errorf("%w: make a directory in %s: %w", errors.ErrUnsupported, c14Memory, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close() // nothing is written
	names := allPaths(b.N, strconv.Itoa)
	for b.Loop() {
		f, err := fileop.CreateNewBeneath(d, names[b.I()])
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

// tempCalls are the calls of one temporary file, the Go runtime's own left out.
type tempCalls struct {
	all, looks, lists, closes float64
	list                      string
}

// tempCalls returns the calls of a file, or NaN and why they were not counted.
func (ev *evidence) tempCalls(id, variant string) (c tempCalls, why string) {
	if n, why := ev.counted(id, variant); math.IsNaN(n) {
		return tempCalls{n, n, n, n, ""}, why
	}
	var names []string
	for name, n := range ev.variant(id, variant).Syscalls {
		if run.RuntimeSyscall(name) || n < 0.01 { // of the Go runtime, or rare
			continue
		}
		c.all += n
		names = append(names, fmt.Sprintf("%.2g %s", n, name))
		switch {
		case slices.Contains(statCalls, name):
			c.looks += n
		case name == "getdents64":
			c.lists += n
		case name == "close":
			c.closes += n
		}
	}
	slices.Sort(names)
	c.list = strings.Join(names, ", ")
	return c, ""
}

// judgeC14 compares the numbers of calls with the claimed ones, with the close and without it.
func judgeC14(ev *evidence, first, later string) judgement {
	// A name that is taken by chance, or a descriptor that is moved, costs another call
	// now and then.
	is := func(n, want float64) bool { return math.Abs(n-want) < 0.1 }
	either := func(c tempCalls, want float64) bool { return is(c.all, want) || is(c.all-c.closes, want) }
	var parts []part
	for _, c := range []struct{ cond, id string }{{"first file of a process", first}, {"later files", later}} {
		a, why := ev.tempCalls(c.id, c8Named)
		parts = append(parts,
			fact("os.CreateTemp makes three calls that look at the parent", is(a.looks, 3), fmt.Sprintf("%.2f", a.looks)).under(c.cond).needs(why),
			fact("os.CreateTemp makes 7 calls", either(a, 7), fmt.Sprintf("%.2f (%s)", a.all, a.list)).under(c.cond).needs(why),
			fact("os.CreateTemp lists the directory (getdents64)", a.lists >= 1, fmt.Sprintf("%.2f", a.lists)).under(c.cond).needs(why))
		for _, v := range []struct{ name, how string }{{c14Coded, "as coded, "}, {c14Openat2, "with openat2, "}} {
			b, why := ev.tempCalls(c.id, v.name)
			parts = append(parts, fact("the replacement makes 3 calls", either(b, 3), fmt.Sprintf("%.2f (%s)", b.all, b.list)).under(v.how+c.cond).needs(why))
		}
	}
	return ruling("Calls count with the one that closes the file or without it; the Go runtime's own do not. "+ev.place.Environment.Go, parts...)
}

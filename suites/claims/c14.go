package claims

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

const (
	c14Openat2 = "openat2 in /dev/shm"
	c14Memory  = "/dev/shm"
)

func claimC14() Claim {
	e := lab.Experiment{
		Suite: "claims", Name: "C14", Question: "How many system calls does a temporary file take?",
		Op: "one temporary file, created and closed", MaxOps: 5_000,
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
			{Name: c14Openat2, Doc: "openat2(2) with O_CREAT and O_EXCL, in a directory in memory, and Close", Promise: kill, Run: runOpenat2},
		},
	}
	return Claim{
		ID: "C14",
		Source: reportC.source("ch. 5, Kernel-level optimisation",
			"os.CreateTemp makes three statx calls to check the parent and seven calls in all, openat2 in /dev/shm three."),
		Statement:   "system calls of os.CreateTemp; of openat2 in /dev/shm with O_EXCL",
		Claimed:     "7 with three statx; 3",
		Promise:     killText + "; files in /dev/shm are lost at a reboot",
		Experiments: []lab.Experiment{e},
		judge:       func(ev *evidence) judgement { return judgeC14(ev, e.ID()) },
	}
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

// judgeC14 compares the numbers of calls with the claimed ones, with the close and without it.
func judgeC14(ev *evidence, id string) judgement {
	count := func(v string) (calls float64, list string, statx float64) {
		r := ev.variant(id, v)
		ev.calls(id, v) // notes what is missing
		if r == nil {
			return 0, "", 0
		}
		var names []string
		for name, n := range r.Syscalls {
			if run.RuntimeSyscall(name) || n < 0.01 { // of the Go runtime, or rare
				continue
			}
			calls += n
			names = append(names, fmt.Sprintf("%.2g %s", n, name))
			if slices.Contains(statCalls, name) {
				statx += n
			}
		}
		slices.Sort(names)
		return calls, strings.Join(names, ", "), statx
	}
	named, namedList, statx := count(c8Named)
	memory, memoryList, _ := count(c14Openat2)
	text := fmt.Sprintf("os.CreateTemp and Close: %.2f calls (%s). openat2 in /dev/shm and Close: %.2f (%s).", named, namedList, memory, memoryList)
	// A name that is taken by chance, or a descriptor that is moved, costs another call
	// now and then.
	is := func(n, want float64) bool { return math.Abs(n-want) < 0.1 }
	either := func(n, want float64) answer { return answerIf(is(n, want) || is(n-1, want)) }
	return decide(text, "There had to be 7 calls, three of them lookups of a path, and 3, with the one that closes the file or without it. The Go runtime's own calls do not count.",
		"which figure is compared", either(named, 7), answerIf(is(statx, 3)), either(memory, 3))
}

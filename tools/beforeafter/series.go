package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A leaf is a benchmark without benchmarks below it.
type leaf struct {
	pkg, name string
	single    [2]sample // one iteration, of each side
	first     []pair    // of the series before the one that counts, where there were two
	pairs     []pair
}

// A pair is a leaf measured on both sides, one right after the other.
type pair struct{ before, after sample }

// A series measures leaves in rounds.
type series struct {
	o      options
	where  string
	dir    string // for the benchmarks' files
	sides  [2]side
	rng    *rand.Rand
	stderr io.Writer
}

// discover lists the leaves that both sides have, by running each once.
func (s *series) discover(ctx context.Context, packages []string, stdout io.Writer) ([]*leaf, error) {
	var leaves []*leaf
	for _, p := range packages {
		var names [2][]string
		for i, side := range s.sides {
			fmt.Fprintf(s.stderr, "%s: %s: the benchmarks %s\n", s.where, p, side.name)
			found, _, err := s.process(ctx, side, p, s.o.bench, "1x")
			if err != nil {
				return leaves, err
			}
			for _, f := range found {
				names[i] = append(names[i], f.name)
			}
		}
		for _, n := range names[0] {
			if slices.Contains(names[1], n) {
				leaves = append(leaves, &leaf{pkg: p, name: n})
			} else {
				fmt.Fprintf(stdout, "%s %s: only before\n", p, n)
			}
		}
		for _, n := range names[1] {
			if !slices.Contains(names[0], n) {
				fmt.Fprintf(stdout, "%s %s: only after\n", p, n)
			}
		}
	}
	for _, l := range leaves {
		for i, side := range s.sides {
			one, err := s.one(ctx, side, l, "1x")
			if err != nil {
				return leaves, err
			}
			l.single[i] = one
		}
	}
	return leaves, nil
}

// rounds measures each leaf n times as a pair.
func (s *series) rounds(ctx context.Context, leaves []*leaf, n int, what string) error {
	if len(leaves) == 0 {
		return nil
	}
	begun := time.Now()
	order := slices.Clone(leaves)
	for r := range n {
		left := ""
		if r > 0 {
			left = fmt.Sprintf(", about %v left", (time.Since(begun) / time.Duration(r) * time.Duration(n-r)).Round(time.Second))
		}
		fmt.Fprintf(s.stderr, "%s: %sround %d of %d, benchmarks: %d%s\n", s.where, what, r+1, n, len(leaves), left)
		s.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, l := range order {
			p, err := s.pair(ctx, l)
			if err != nil {
				return err
			}
			l.pairs = append(l.pairs, p)
		}
	}
	return nil
}

// pair measures both sides of a leaf, in a random order.
func (s *series) pair(ctx context.Context, l *leaf) (pair, error) {
	var got [2]sample
	first := s.rng.IntN(2)
	for _, i := range []int{first, 1 - first} {
		one, err := s.one(ctx, s.sides[i], l, s.o.benchtime)
		if err != nil {
			return pair{}, err
		}
		one.cpu = cpuEach(one, l.single[i])
		got[i] = one
	}
	return pair{got[0], got[1]}, nil
}

// cpuEach returns the CPU time of an iteration, less that of a run of one.
func cpuEach(many, one sample) float64 {
	if many.n <= 1 || many.cpu <= one.cpu {
		return 0 // too little to tell
	}
	return (many.cpu - one.cpu) / float64(many.n-1)
}

// one runs a leaf in a process of its own. The CPU time of the sample is that
// of the whole process.
func (s *series) one(ctx context.Context, side side, l *leaf, benchtime string) (sample, error) {
	samples, cpu, err := s.process(ctx, side, l.pkg, exactly(l.name), benchtime)
	if err != nil {
		return sample{}, err
	}
	i := slices.IndexFunc(samples, func(x sample) bool { return x.name == l.name })
	if i < 0 {
		return sample{}, fmt.Errorf("%s: %s %s: no result", side.name, l.pkg, l.name)
	}
	samples[i].cpu = cpu
	return samples[i], nil
}

// exactly returns the pattern of go test for the benchmark of this name.
func exactly(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// process runs benchmarks in a fresh directory, and returns their results and the
// CPU time of the process in nanoseconds.
func (s *series) process(ctx context.Context, side side, pkg, bench, benchtime string) (samples []sample, cpu float64, err error) {
	tmp, err := os.MkdirTemp(s.dir, "")
	if err != nil {
		return nil, 0, err
	}
	defer func() {
		if e := os.RemoveAll(tmp); err == nil {
			err = e
		}
	}()
	shared := filepath.Join(s.dir, "shared-"+side.name)
	if err := os.MkdirAll(shared, 0o777); err != nil {
		return nil, 0, err
	}
	c := command(ctx, filepath.Join(side.tree, pkg), side.binary(pkg),
		"-test.run=^$", "-test.bench="+bench, "-test.benchtime="+benchtime, "-test.benchmem", "-test.timeout=10m")
	c.Env = append(os.Environ(), "TMPDIR="+tmp, "STELE_BENCH_DIR="+tmp, "STELE_DIR="+tmp, "STELE_BENCH_SHARED="+shared)
	out, err := output(c)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", side.name, err)
	}
	samples, err = results(out)
	return samples, float64(c.ProcessState.UserTime() + c.ProcessState.SystemTime()), err
}

// Package gobench measures an existing function for testing.B, unchanged, as a variant
// of an experiment: in interleaved blocks, each a process of its own, beside others.
//
// It is apart from package lab because it links package testing.
//
// Benchmarks are functions of a test file, so the program that measures is the test
// itself, and its TestMain asks lab.IsBlock first; see the example.
//
// # The figures of a benchmark
//
// The number of operations is the lab's choice (as by -benchtime=100x), and the time is
// that of the benchmark's timer: StopTimer, StartTimer, ResetTimer and B.Loop do what
// they do under go test. A benchmark that counts to b.N runs once with N = 1 before the
// run that is the figure, as it does there. SetBytes gives bytes a second, and
// ReportMetric a metric under the name of its unit. B.TempDir is below the directory of
// the block, so it is on the file system that is measured.
//
// Latencies of single operations are not known. Allocations are those of the
// benchmark's timer; system calls, CPU time and other figures of the process include
// the work that is not timed.
package gobench

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

// Variant returns a variant that runs the benchmark f. p is what an operation of f
// promises. An operation that fails (B.Fatal, B.Error) is the error of the block; a
// benchmark that is skipped is not supported in this place. A benchmark with
// sub-benchmarks is an error: make a variant of each.
func Variant(name string, p run.Promise, f func(*testing.B)) lab.Variant {
	return lab.Variant{Name: name, Promise: p, Run: func(b *lab.B) error {
		var r testing.BenchmarkResult
		err := b.Timed(func() (took time.Duration, err error) {
			r, err = benchmark(b.Dir, b.N, f)
			return r.T, err
		})
		if err == nil {
			report(b, r)
		}
		return err
	}}
}

// benchmark runs f for n operations, with directories for temporary files below dir.
func benchmark(dir string, n int64, f func(*testing.B)) (r testing.BenchmarkResult, err error) {
	restore, err := prepare(dir, n)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, restore()) }()
	var ran outcome
	r = testing.Benchmark(func(tb *testing.B) {
		defer ran.look(tb) // also after FailNow and SkipNow, which end the goroutine
		f(tb)
	})
	switch {
	case ran.failed:
		return r, errors.New(cmp.Or(ran.text, "the benchmark failed without a word"))
	case ran.skipped:
		return r, fmt.Errorf("the benchmark was skipped: %s: %w", cmp.Or(ran.text, "without a reason"), errors.ErrUnsupported)
	case ran.subs:
		return r, errors.New("gobench: the benchmark calls B.Run; want a variant for each sub-benchmark")
	case int64(r.N) != n:
		return r, fmt.Errorf("gobench: the benchmark did %d of %d operations", r.N, n)
	case r.T <= 0:
		return r, errors.New("gobench: the benchmark's timer did not run")
	}
	return r, nil
}

// prepare sets what testing.Benchmark takes from flags and from the environment.
func prepare(dir string, n int64) (restore func() error, err error) {
	testing.Init() // the flags; does nothing in a test
	if !flag.Parsed() {
		// testing.Short and others want it. A block has no arguments.
		if err := flag.CommandLine.Parse(nil); err != nil {
			return nil, err
		}
	}
	benchtime := flag.Lookup("test.benchtime")
	undo := []func() error{}
	had := benchtime.Value.String()
	if err := benchtime.Value.Set(strconv.FormatInt(n, 10) + "x"); err != nil {
		return nil, err
	}
	undo = append(undo, func() error { return benchtime.Value.Set(had) })
	for _, name := range []string{"TMPDIR", "GOTMPDIR"} { // B.TempDir uses the second one since Go 1.26
		was, set := os.LookupEnv(name)
		if err := os.Setenv(name, dir); err != nil {
			return nil, err
		}
		undo = append(undo, func() error {
			if set {
				return os.Setenv(name, was)
			}
			return os.Unsetenv(name)
		})
	}
	return func() error {
		var errs []error
		for _, u := range undo {
			errs = append(errs, u())
		}
		return errors.Join(errs...)
	}, nil
}

// An outcome is how the calls of a benchmark ended.
type outcome struct {
	failed, skipped, subs bool
	text                  string // what it logged
}

// look takes the outcome of a call. The log and the mark of sub-benchmarks are in
// fields of testing.B that no method shows.
func (o *outcome) look(tb *testing.B) {
	o.failed = o.failed || tb.Failed()
	o.skipped = o.skipped || tb.Skipped()
	v := reflect.ValueOf(tb).Elem()
	if output := v.FieldByName("output"); output.IsValid() && output.Kind() == reflect.Slice && (o.failed || o.skipped) {
		o.text = strings.TrimSpace(string(output.Bytes()))
	}
	if sub := v.FieldByName("hasSub"); sub.IsValid() && sub.Kind() == reflect.Struct {
		if set := sub.FieldByName("v"); set.IsValid() && set.CanUint() {
			o.subs = o.subs || set.Uint() != 0
		}
	}
}

// report gives the lab the figures of the benchmark.
func report(b *lab.B, r testing.BenchmarkResult) {
	n := float64(r.N)
	b.Report("allocs_per_op", float64(r.MemAllocs)/n)
	b.Report("alloc_bytes_per_op", float64(r.MemBytes)/n)
	if r.Bytes > 0 {
		b.Report("bytes_per_second", float64(r.Bytes)*n/r.T.Seconds())
	}
	for unit, x := range r.Extra {
		b.Report(unit, x)
	}
}

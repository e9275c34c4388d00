package main

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
)

// A sample is one result of one benchmark.
type sample struct {
	name   string
	n      int64 // iterations
	ns     float64
	bytes  float64
	allocs float64
	cpu    float64 // nanoseconds
}

// results reads the lines of the Go benchmark format.
func results(out string) ([]sample, error) {
	var all []sample
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		n, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			continue // the name alone, when the benchmark logs
		}
		s := sample{name: f[0], n: n}
		if g := runtime.GOMAXPROCS(0); g > 1 {
			s.name = strings.TrimSuffix(s.name, "-"+strconv.Itoa(g))
		}
		for i := 2; i+1 < len(f); i += 2 {
			v, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				return nil, fmt.Errorf("benchmark line %q: %w", strings.TrimSpace(line), err)
			}
			switch f[i+1] {
			case "ns/op":
				s.ns = v
			case "B/op":
				s.bytes = v
			case "allocs/op":
				s.allocs = v
			}
		}
		all = append(all, s)
	}
	return all, nil
}

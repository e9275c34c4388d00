package claims

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/dirs"
)

const (
	variantPathByPath = "path by path"
	variantSorted     = "sorted, each prefix once"
)

// A d5Size is the size of a batch.
type d5Size struct{ n, depth int }

// d5Sizes has every n with every depth, so that the growth over one shows without the
// other. The largest is the last.
var d5Sizes = func() (all []d5Size) {
	for _, n := range []int{64, 256, 1024} {
		for _, depth := range []int{4, 8, 16} {
			all = append(all, d5Size{n, depth})
		}
	}
	return all
}()

// sharedPaths returns n paths of depth levels. Groups of four share the upper half.
func sharedPaths(n, depth int) []string {
	paths := make([]string, n)
	for i := range paths {
		parts := make([]string, depth)
		for level := range parts {
			if level < depth/2 {
				parts[level] = fmt.Sprintf("g%d", i/4)
			} else {
				parts[level] = fmt.Sprintf("p%d", i)
			}
		}
		paths[i] = strings.Join(parts, "/")
	}
	return paths
}

// A callCounter counts the system calls of sortedBatch.
type callCounter struct{ stats, mkdirs int64 }

func (c *callCounter) exists(path string) bool {
	c.stats++
	_, err := os.Stat(path)
	return err == nil
}

func (c *callCounter) mkdir(path string) error {
	c.mkdirs++
	return os.Mkdir(path, dirs.Perm)
}

// sortedBatch is the published improvement in its plain form: sort the paths, and look up
// each distinct prefix once.
func (c *callCounter) sortedBatch(paths []string) error {
	paths = slices.Clone(paths)
	slices.Sort(paths)
	seen := map[string]struct{}{}
	for _, path := range paths {
		for i := 1; i <= len(path); i++ {
			if i < len(path) && path[i] != '/' {
				continue
			}
			prefix := path[:i]
			if _, ok := seen[prefix]; ok {
				continue
			}
			seen[prefix] = struct{}{}
			if c.exists(prefix) {
				continue
			}
			if err := c.mkdir(prefix); err != nil {
				return err
			}
		}
	}
	return nil
}

func d5(s d5Size) lab.Experiment {
	// Each operation makes the batch below a directory of its own.
	each := func(batch func([]string) error) func(b *lab.B) error {
		return inDir(func(b *lab.B) error {
			rel := sharedPaths(s.n, s.depth)
			batches := make([][]string, b.N)
			for i := range batches {
				root := strconv.Itoa(i)
				if err := os.Mkdir(root, dirs.Perm); err != nil {
					return err
				}
				for _, r := range rel {
					batches[i] = append(batches[i], root+"/"+r)
				}
			}
			for b.Loop() {
				if err := batch(batches[b.I()]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return lab.Experiment{
		Suite: "claims", Name: "D5", Params: run.Params{"n": strconv.Itoa(s.n), "depth": strconv.Itoa(s.depth)},
		Question: "How do the calls of a batch grow with its paths and their depth?",
		Op:       fmt.Sprintf("%d new paths of %d levels, groups of four sharing the upper half", s.n, s.depth),
		Ops:      1,
		Variants: []lab.Variant{
			{
				Name: variantPathByPath, Doc: "A: os.MkdirAll of each", Promise: kill, Baseline: true,
				Run: each(func(paths []string) error {
					for _, p := range paths {
						if err := os.MkdirAll(p, dirs.Perm); err != nil {
							return err
						}
					}
					return nil
				}),
			},
			{
				Name: variantSorted, Doc: "B: sort, then stat and mkdir of each distinct prefix", Promise: kill,
				Run: func(b *lab.B) error {
					var c callCounter
					if err := each(c.sortedBatch)(b); err != nil {
						return err
					}
					b.Report("path_calls_per_op", float64(c.stats+c.mkdirs)/float64(b.N))
					return nil
				},
			},
		},
	}
}

func claimD5() Claim {
	return Claim{
		ID: "D5",
		Source: reportD.source("3.1",
			"Sorting paths and remembering what was made turns O(n d^2) into O(N d), with one stat per distinct segment."),
		Statement:   "a batch of nested paths with shared prefixes: path by path (A); sorted, de-duplicated, each prefix looked up once (B)",
		Claimed:     "from O(n*d^2) to O(N*d), N = path segments in all: count calls over n and d",
		Promise:     killText,
		Experiments: experiments(d5, d5Sizes...),
		judge:       judgeD5,
	}
}

// judgeD5 fits calls = c * n^x * d^y to both variants.
func judgeD5(ev *evidence) judgement {
	var a, b []point
	fewer := true
	for _, s := range d5Sizes {
		id := idOf(d5(s))
		pa := point{float64(s.n), float64(s.depth), ev.calls(id, variantPathByPath, slices.Concat(statCalls, mkdirCalls)...)}
		pb := point{float64(s.n), float64(s.depth), ev.metric(id, variantSorted, "path_calls_per_op").Median}
		a, b = append(a, pa), append(b, pb)
		fewer = fewer && pb.calls < pa.calls
	}
	ga, gb := fitGrowth(a), fitGrowth(b)
	last := len(d5Sizes) - 1
	largest := d5Sizes[last]
	j := judgement{measured: fmt.Sprintf("A grows as %s, B as %s; %d paths of %d levels: A %.0f calls, B %.0f, %s the speed.", ga, gb,
		largest.n, largest.depth, a[last].calls, b[last].calls, factor(ev.speedup(idOf(d5(largest)), variantSorted)))}
	const note = " N is n*d, so the claimed O(N*d) of B would be the same as the claimed O(n*d^2) of A."
	switch {
	case max(ga.residual, gb.residual) > 0.2:
		j.verdict, j.why = CannotTest, fmt.Sprintf("cannot tell: the counts follow no such law; they are off by up to %.0f %%.", 100*max(ga.residual, gb.residual))
	case ga.d > 1.75 && fewer:
		j.verdict, j.why = Holds, "A's calls grow with the square of the depth, and B needs fewer at every size."+note
	case ga.d > 1.75:
		j.verdict, j.why = DoesNotHold, "A's calls grow with the square of the depth, but B does not need fewer at every size."+note
	case ga.d < 1.5:
		j.verdict, j.why = DoesNotHold, "A's calls grow with the depth, not with its square: a level is looked up once and made once."+note
	default:
		j.verdict, j.why = Depends, "on the depth: A's growth lies between the depth and its square."+note
	}
	return j
}

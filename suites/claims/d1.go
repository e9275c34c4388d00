package claims

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/dirs"
	"github.com/stele-go/stele/suites/internal/trees"
)

// The variants of D1.
const (
	variantAll  = "os.MkdirAll"
	variantLoop = "loop of os.Mkdir"
)

// publishedDepth is the number of components of tmp/<8 letters>/x/y/z/w/v/u.
const publishedDepth = 8

// relativeMkdir returns a variant that makes the published paths, cut to depth components.
// existing: it makes the same path again and again, the first time before the timer starts.
func relativeMkdir(name, doc string, make func(string) error, depth int, existing bool) lab.Variant {
	return lab.Variant{Name: name, Doc: doc, Promise: kill, Run: inDir(func(b *lab.B) error {
		n := b.N
		if existing {
			n = 1
		}
		paths := trees.FreshPaths(b.Rand, n, depth-1)
		for i := range paths {
			paths[i] = "tmp/" + paths[i]
		}
		if existing {
			if err := make(paths[0]); err != nil {
				return err
			}
		}
		for b.Loop() {
			path := paths[0]
			if !existing {
				path = paths[b.I()]
			}
			if err := make(path); err != nil {
				return err
			}
		}
		return nil
	})}
}

func relativeMkdirVariants(depth int, existing bool) []lab.Variant {
	return firstIsBaseline(
		relativeMkdir(variantAll, "A: the standard library",
			func(p string) error { return os.MkdirAll(p, dirs.Perm) }, depth, existing),
		relativeMkdir(variantLoop, `B: os.Mkdir of each prefix, ignoring "exists"`,
			func(p string) error { return dirs.MakeEach(p, 1) }, depth, existing))
}

const d1Question = "Is a loop of os.Mkdir faster than os.MkdirAll, as published?"

func d1Fresh() lab.Experiment {
	return lab.Experiment{
		Suite: "claims", Name: "D1-fresh", Question: d1Question,
		Op:  "one relative path of 8 components, 7 of them new",
		Ops: publishedOps, MaxRounds: 8, Env: asPublished(), Variants: relativeMkdirVariants(publishedDepth, false),
	}
}

func d1Existing() lab.Experiment {
	return lab.Experiment{
		Suite: "claims", Name: "D1-existing", Question: d1Question,
		Op:        "one relative path of 8 components that exists already",
		Stateless: true, Env: asPublished(), Variants: relativeMkdirVariants(publishedDepth, true),
	}
}

func d1Depth(depth int) lab.Experiment {
	return lab.Experiment{
		Suite: "claims", Name: "D1-depth", Params: run.Params{"depth": strconv.Itoa(depth)}, Question: d1Question,
		Op:  fmt.Sprintf("one relative path of %d components, all but the first new", depth),
		Ops: 500, Env: asPublished(), Variants: relativeMkdirVariants(depth, false),
	}
}

func claimD1() Claim {
	fresh, existing := d1Fresh(), d1Existing()
	c := Claim{
		ID: "D1",
		Source: reportD.source("ch. 1, Key implementations; Results",
			"A loop of os.Mkdir makes 100,000 nested paths almost twice as fast as os.MkdirAll (967 against 1,842 ns), with 80 B and 2 allocations against 128 B and 3."),
		Statement:   "100,000 nested relative paths, 8 components: os.MkdirAll (A); loop of os.Mkdir over each prefix, ignoring \"exists\" (B)",
		Claimed:     "A 1,842 ns, 128 B, 3 allocs; B 967 ns, 80 B, 2 allocs: B 1.9x faster, marked from depth 5 on",
		Promise:     killText,
		Experiments: []lab.Experiment{fresh, existing},
	}
	var deep []string
	for depth := 2; depth <= publishedDepth; depth++ {
		e := d1Depth(depth)
		c.Experiments = append(c.Experiments, e)
		if depth >= 5 {
			deep = append(deep, e.ID())
		}
	}
	c.judge = func(ev *evidence) judgement { return judgeD1(ev, fresh.ID(), existing.ID(), deep) }
	return c
}

func judgeD1(ev *evidence, fresh, existing string, deep []string) judgement {
	const claimed = 1.9
	var m strings.Builder
	describe := func(what, id string) run.Estimate {
		s := ev.speedup(id, variantLoop)
		fmt.Fprintf(&m, "%s: A %s, %.0f B, %.0f allocs; B %s, %.0f B, %.0f allocs; B is %s as fast. ", what,
			nanos(ev.time(id, variantAll)), ev.metric(id, variantAll, "alloc_bytes_per_op").Median, ev.metric(id, variantAll, "allocs_per_op").Median,
			nanos(ev.time(id, variantLoop)), ev.metric(id, variantLoop, "alloc_bytes_per_op").Median, ev.metric(id, variantLoop, "allocs_per_op").Median,
			factor(s))
		return s
	}
	answers := []answer{
		claimedFactor(describe("New paths", fresh), claimed),
		claimedFactor(describe("Existing path", existing), claimed),
	}
	m.WriteString("New paths by depth from 5 on:")
	for _, id := range deep {
		s := ev.speedup(id, variantLoop)
		answers = append(answers, claimedFactor(s, claimed))
		fmt.Fprintf(&m, " %s", factor(s))
	}
	m.WriteString(".")
	why := fmt.Sprintf("B had to be at least %.2fx as fast (the claim less %.0f %%), for new paths, for an existing one and at each depth from 5 on.",
		claimed*(1-slack), 100*slack) + ev.fewerOps(fresh, variantAll)
	return decide(m.String(), why, "whether the path is new, and on its depth", answers...)
}

package claims

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/dirs"
	"github.com/stele-go/stele/suites/internal/trees"
)

// The variants of D1.
const (
	variantAll       = "os.MkdirAll"
	variantLoopCoded = "loop of os.Mkdir (as coded)"
	variantLoop      = "loop of os.Mkdir (as meant)"
)

// publishedDepth is the number of components of tmp/<8 letters>/x/y/z/w/v/u.
const publishedDepth = 8

// d1Paths is how many paths a block of D1 makes. The published 100,000 are 700,000 directories,
// more than many a file system has room for; the time of one hardly depends on their number.
const d1Paths = 500

// makeAsCoded is the report's loop. It splits and joins the path anew for each level, loses the
// empty first element of an absolute path, so that the tree is made below the working
// directory, and takes a file where a directory should be for success.
func makeAsCoded(path string) error {
	parts := strings.Split(path, "/")
	for i := 1; i <= len(parts); i++ {
		current := filepath.Join(parts[:i]...)
		if current == "" {
			continue
		}
		if err := os.Mkdir(current, dirs.Perm); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// makeAsMeant makes each prefix of a path, relative or absolute.
func makeAsMeant(path string) error {
	from := 1
	if len(path) > 1 && os.IsPathSeparator(path[0]) {
		from = 2
	}
	return dirs.MakeEach(path, from)
}

// A d1Case is paths of some depth, the first levels of which exist already. The first of all,
// "tmp", exists from the second path on: the report empties the root before each test.
type d1Case struct{ depth, existing int }

// relativeMkdir returns a variant that makes the published paths.
func (c d1Case) relativeMkdir(name, doc string, make func(string) error) lab.Variant {
	return lab.Variant{Name: name, Doc: doc, Promise: kill, Run: inDir(func(b *lab.B) error {
		paths, err := c.prepare(b)
		if err != nil {
			return err
		}
		for b.Loop() {
			if err := make(paths[b.I()%int64(len(paths))]); err != nil {
				return err
			}
		}
		return nil
	})}
}

// prepare returns the paths of a block, and makes what exists of them. Of paths that exist
// wholly there are 64.
func (c d1Case) prepare(b *lab.B) ([]string, error) {
	n := b.N
	if c.existing == c.depth {
		n = min(n, 64)
	}
	paths := make([]string, n)
	if c.depth == 1 {
		for i := range paths {
			paths[i] = fmt.Sprintf("d%07d", i)
		}
		return paths, nil
	}
	paths = trees.FreshPaths(b.Rand, n, c.depth-1)
	for i := range paths {
		paths[i] = "tmp/" + paths[i]
		if c.existing > 0 {
			parts := strings.Split(paths[i], "/")
			if err := os.MkdirAll(strings.Join(parts[:c.existing], "/"), dirs.Perm); err != nil {
				return nil, err
			}
		}
	}
	return paths, nil
}

func (c d1Case) variants() []lab.Variant {
	return firstIsBaseline(
		c.relativeMkdir(variantAll, "A: the standard library",
			func(p string) error { return os.MkdirAll(p, dirs.Perm) }),
		c.relativeMkdir(variantLoopCoded, `B: strings.Split, filepath.Join of the first elements and os.Mkdir for each level, "exists" ignored; absolute paths land below the working directory, and a file in the way passes for a directory`,
			makeAsCoded),
		c.relativeMkdir(variantLoop, `B: os.Mkdir of each prefix, "exists" ignored; a file in the way of the last level passes for a directory`, makeAsMeant))
}

const d1Question = "Is a loop of os.Mkdir faster than os.MkdirAll, as published?"

func d1Fresh() lab.Experiment {
	return lab.Experiment{
		Suite: "claims", Name: "D1-fresh", Question: d1Question,
		Op:  "one relative path of 8 components, 7 of them new",
		Ops: d1Paths, MaxRounds: 12, Env: asPublished(), Variants: d1Case{publishedDepth, 0}.variants(),
	}
}

func d1Existing() lab.Experiment {
	return lab.Experiment{
		Suite: "claims", Name: "D1-existing", Question: d1Question,
		Op:        "one relative path of 8 components that exists already",
		Stateless: true, MaxRounds: 12, Env: asPublished(), Variants: d1Case{publishedDepth, publishedDepth}.variants(),
	}
}

// d1Half has paths of which the upper half exists.
func d1Half() lab.Experiment {
	return lab.Experiment{
		Suite: "claims", Name: "D1-half", Question: d1Question,
		Op:  "one relative path of 8 components, of which the last 4 are new",
		Ops: 300, MaxRounds: 12, Env: asPublished(), Variants: d1Case{publishedDepth, publishedDepth / 2}.variants(),
	}
}

func d1Depth(depth int) lab.Experiment {
	op := fmt.Sprintf("one relative path of %d components, all but the first new", depth)
	if depth == 1 {
		op = "one new directory"
	}
	return lab.Experiment{
		Suite: "claims", Name: "D1-depth", Params: run.Params{"depth": strconv.Itoa(depth)}, Question: d1Question,
		Op: op, Ops: 200, MaxRounds: 12, Env: asPublished(), Variants: d1Case{depth, 0}.variants(),
	}
}

// d1Wrong shows the defects of the loops: where an absolute path lands, and what they return
// for a file in the way.
func d1Wrong() lab.Experiment {
	variant := func(name, doc string, make func(string) error) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: kill, Run: inDir(func(b *lab.B) error { return runD1Wrong(b, make) })}
	}
	return lab.Experiment{
		Suite: "claims", Name: "D1-wrong", Question: "Do the loops make the directories that were asked for?",
		Op: "one absolute path of 2 new levels, and one where a file is in the way", Ops: 1, MaxRounds: lab.MinRounds,
		Variants: firstIsBaseline(
			variant(variantAll, "A: the standard library", func(p string) error { return os.MkdirAll(p, dirs.Perm) }),
			variant(variantLoopCoded, "B as coded", makeAsCoded),
			variant(variantLoop, "B as meant", makeAsMeant)),
	}
}

// Metrics of d1Wrong: 1 for yes, 0 for no.
const (
	d1Misplaced = "absolute_path_misplaced"
	d1FilePass  = "file_taken_for_directory"
)

func runD1Wrong(b *lab.B, make func(string) error) error {
	if err := os.WriteFile("file", nil, 0o644); err != nil {
		return err
	}
	abs := filepath.Join(b.Dir, "new", "path")
	var placed, file error
	for b.Loop() {
		placed = make(abs)
		file = make("file")
	}
	if placed != nil {
		return placed
	}
	_, err := os.Stat(abs)
	b.Report(d1Misplaced, oneIf(errors.Is(err, fs.ErrNotExist)))
	b.Report(d1FilePass, oneIf(file == nil))
	return nil
}

// d1Depths are the depths that D1 varies besides the published one.
var d1Depths = []int{1, 2, 4, 5, 6, 12}

func claimD1() Claim {
	fresh, half, existing, wrong := d1Fresh(), d1Half(), d1Existing(), d1Wrong()
	depths := experiments(d1Depth, d1Depths...)
	return Claim{
		ID: "D1",
		Source: reportD.source("ch. 1, Key implementations; Results",
			"A loop of os.Mkdir makes 100,000 nested paths almost twice as fast as os.MkdirAll (967 against 1,842 ns), with 80 B and 2 allocations against 128 B and 3."),
		Statement:   "100,000 nested relative paths, 8 components: os.MkdirAll (A); loop of os.Mkdir over each prefix, ignoring \"exists\" (B), as coded and as meant",
		Claimed:     "A 1,842 ns, 128 B, 3 allocs; B 967 ns, 80 B, 2 allocs: B 1.9x faster, marked from depth 5 on",
		Promise:     killText,
		Experiments: append([]lab.Experiment{fresh, half, existing, wrong}, depths...),
		judge: func(ev *evidence) judgement {
			return judgeD1(ev, fresh.ID(), half.ID(), existing.ID(), wrong.ID(), depths)
		},
	}
}

func judgeD1(ev *evidence, fresh, half, existing, wrong string, depths []lab.Experiment) judgement {
	const faster, fewer = 1842. / 967, "B allocates less than A"
	var parts []part
	for _, l := range []struct{ name, how string }{{variantLoopCoded, "as coded"}, {variantLoop, "as meant"}} {
		speed := func(id string) part { return claimed("speed of B against A", ev.speedup(id, l.name), faster) }
		parts = append(parts, speed(fresh).underNamed(l.how+", 8 levels, new"),
			speed(half).under(l.how+", 8 levels, half of them new"), speed(existing).under(l.how+", 8 levels that exist"))
		for i := range depths {
			parts = append(parts, speed(depths[i].ID()).under(l.how+", "+depths[i].Params["depth"]+" levels, new"))
		}
		for _, m := range []struct{ metric, unit string }{{"alloc_bytes_per_op", "B"}, {"allocs_per_op", "allocations"}} {
			a, b := ev.metric(fresh, variantAll, m.metric), ev.metric(fresh, l.name, m.metric)
			parts = append(parts, fact(fewer+" ("+m.unit+")", b.Median < a.Median, fmt.Sprintf("A %.0f, B %.0f", a.Median, b.Median)).under(l.how))
		}
		parts = append(parts, figureOf("wrong results ("+l.how+")", fmt.Sprintf("an absolute path lands %s; a file in the way is taken for a directory: %s",
			eitherText(ev.metric(wrong, l.name, d1Misplaced), "below the working directory", "in its place"),
			eitherText(ev.metric(wrong, l.name, d1FilePass), "yes", "no"))))
	}
	parts = append(parts, figureOf("a new path of 8 levels", fmt.Sprintf("A %s, B as coded %s, as meant %s", nanos(ev.time(fresh, variantAll)),
		nanos(ev.time(fresh, variantLoopCoded)), nanos(ev.time(fresh, variantLoop)))))
	return ruling("The report's condition is a new relative path of 8 levels, with the loop as coded and as meant; other depths and paths that exist are shown."+
		ev.fewerOps(fresh, variantAll), parts...)
}

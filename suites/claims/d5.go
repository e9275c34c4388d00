package claims

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/dirs"
)

// The variants of D5.
const (
	variantEachLevel   = "mkdir -p of each path"
	variantAllOfEach   = "os.MkdirAll of each path"
	variantSortedCoded = "sorted, each prefix once (as coded)"
	variantSorted      = "sorted, each prefix once (as meant)"
)

// A d5Size is the size of a batch, and how many levels of its paths are shared: groups of
// four paths have them in common.
type d5Size struct {
	n, depth int
	sharing  string
}

// How much of a path D5's groups share.
const (
	shareNone = "none"
	shareHalf = "half"
	shareMost = "all but the last"
)

func (s d5Size) shared() int {
	return map[string]int{shareNone: 0, shareHalf: s.depth / 2, shareMost: s.depth - 1}[s.sharing]
}

// d5Paths is the number of paths of a batch where the depth varies.
const d5Paths = 64

// d5Depths are the depths over which growth is judged.
var d5Depths = [...]int{4, 8, 16}

// d5Counts are the numbers of paths over which growth is shown, d5CountDepth levels deep.
var d5Counts = [...]int{16, d5Paths, 256}

const d5CountDepth = 8

// d5Sizes has every depth with every sharing, and every number of paths.
var d5Sizes = func() (all []d5Size) {
	for _, sharing := range []string{shareNone, shareHalf, shareMost} {
		for _, depth := range d5Depths {
			all = append(all, d5Size{d5Paths, depth, sharing})
		}
	}
	for _, n := range d5Counts {
		if n != d5Paths {
			all = append(all, d5Size{n, d5CountDepth, shareHalf})
		}
	}
	return all
}()

// paths returns the paths of the batch. Each begins with the group's directories.
func (s d5Size) paths() []string {
	paths := make([]string, s.n)
	for i := range paths {
		parts := make([]string, s.depth)
		for level := range parts {
			if level < s.shared() {
				parts[level] = fmt.Sprintf("g%d", i/4)
			} else {
				parts[level] = fmt.Sprintf("p%d", i)
			}
		}
		paths[i] = strings.Join(parts, "/")
	}
	return paths
}

// A walkCounter makes directories and counts the calls and the path elements that the kernel
// walks for them.
type walkCounter struct{ looks, mkdirs, elements int64 }

func elementsOf(path string) int64 { return 1 + int64(strings.Count(path, "/")) }

func (c *walkCounter) exists(path string) bool {
	c.looks++
	c.elements += elementsOf(path)
	_, err := os.Stat(path)
	return err == nil
}

func (c *walkCounter) mkdir(path string) error {
	c.mkdirs++
	c.elements += elementsOf(path)
	return os.Mkdir(path, dirs.Perm)
}

// eachLevel makes each level of each path, existing or not.
func (c *walkCounter) eachLevel(paths []string) error {
	for _, p := range paths {
		for i := 1; i <= len(p); i++ {
			if i < len(p) && p[i] != '/' {
				continue
			}
			if err := c.mkdir(p[:i]); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
	}
	return nil
}

// mkdirAll calls os.MkdirAll, and counts the calls that it makes on a path of which the first
// levels exist: a look at each level from the last to the first that exists, and a mkdir of
// each that does not. judgeD5 compares their number with the kernel's.
func (c *walkCounter) mkdirAll(paths []string) error {
	made := map[string]bool{}
	for _, p := range paths {
		level := p
		for ; level != "." && !made[level]; level = path.Dir(level) {
			c.looks, c.mkdirs, c.elements = c.looks+1, c.mkdirs+1, c.elements+2*elementsOf(level)
			made[level] = true
		}
		if level != "." {
			c.looks, c.elements = c.looks+1, c.elements+elementsOf(level)
		}
		if err := os.MkdirAll(p, dirs.Perm); err != nil {
			return err
		}
	}
	return nil
}

// distinctPrefixes returns each distinct prefix of the sorted paths once, parents first.
func distinctPrefixes(paths []string) (list []string) {
	paths = slices.Sorted(slices.Values(paths))
	seen := map[string]struct{}{}
	for _, p := range paths {
		for i := 1; i <= len(p); i++ {
			if i < len(p) && p[i] != '/' {
				continue
			}
			if _, ok := seen[p[:i]]; !ok {
				seen[p[:i]] = struct{}{}
				list = append(list, p[:i])
			}
		}
	}
	return list
}

// sortedCoded is the report's batch: for each new prefix a look whether it exists, and
// Python's makedirs, which looks at the parent before it makes the last level.
func (c *walkCounter) sortedCoded(paths []string) error {
	for _, prefix := range distinctPrefixes(paths) {
		prefix = strings.TrimPrefix(prefix, "/") // the report's code strips it
		if c.exists(prefix) {
			continue
		}
		if parent := path.Dir(prefix); parent != "." && !c.exists(parent) {
			return fmt.Errorf("make %s: its parent should have been made before", prefix)
		}
		if err := c.mkdir(prefix); err != nil {
			return err
		}
	}
	return nil
}

// sortedMeant makes each distinct prefix once.
func (c *walkCounter) sortedMeant(paths []string) error {
	for _, prefix := range distinctPrefixes(paths) {
		if err := c.mkdir(prefix); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// Metrics of D5, of a batch.
const (
	d5Elements = "elements_walked"
	d5Looks    = "look_ups"
	d5Calls    = "path_calls"
)

func d5(s d5Size) lab.Experiment {
	variant := func(name, doc string, batch func(*walkCounter, []string) error) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: kill, Run: inDir(func(b *lab.B) error { return s.run(b, batch) })}
	}
	return lab.Experiment{
		Suite: "claims", Name: "D5", Params: run.Params{"n": strconv.Itoa(s.n), "depth": strconv.Itoa(s.depth), "shared": s.sharing},
		Question: "How do the calls of a batch, and the path elements that they walk, grow with the depth?",
		Op:       fmt.Sprintf("%d new paths of %d levels, groups of four sharing %s of the levels", s.n, s.depth, s.sharing),
		Ops:      1, MaxRounds: lab.MinRounds, // facts
		Variants: firstIsBaseline(
			variant(variantEachLevel, "A: os.Mkdir of each level of each path, as mkdir -p does", (*walkCounter).eachLevel),
			variant(variantAllOfEach, "A: the standard library", (*walkCounter).mkdirAll),
			variant(variantSortedCoded, "B as coded: a look at each distinct prefix, one at its parent, and a mkdir; it strips the slash of an absolute path, and takes a file in the way for a directory", (*walkCounter).sortedCoded),
			variant(variantSorted, "B as meant: a mkdir of each distinct prefix", (*walkCounter).sortedMeant)),
	}
}

// run makes the batch in each operation, in a directory of its own.
func (s d5Size) run(b *lab.B, batch func(*walkCounter, []string) error) error {
	var c walkCounter
	paths := s.paths()
	roots := allPaths(b.N, strconv.Itoa)
	for _, root := range roots {
		if err := os.Mkdir(root, dirs.Perm); err != nil {
			return err
		}
	}
	for b.Loop() {
		if err := os.Chdir(roots[b.I()]); err != nil {
			return err
		}
		if err := batch(&c, paths); err != nil {
			return err
		}
		if err := os.Chdir(".."); err != nil {
			return err
		}
	}
	b.Report(d5Elements, float64(c.elements)/float64(b.N))
	b.Report(d5Looks, float64(c.looks)/float64(b.N))
	b.Report(d5Calls, float64(c.looks+c.mkdirs)/float64(b.N))
	return nil
}

func claimD5() Claim {
	return Claim{
		ID: "D5",
		Source: reportD.source("3.1",
			"Sorting paths and remembering what was made turns O(n d^2) into O(N d), with one stat per distinct segment."),
		Statement:   "a batch of nested paths with shared prefixes: path by path (A); sorted, de-duplicated, each prefix once (B)",
		Claimed:     "from O(n*d^2) to O(N*d), N = path segments in all, with one look-up for each distinct segment",
		Promise:     killText,
		Experiments: experiments(d5, d5Sizes...),
		judge:       judgeD5,
	}
}

// growsAsSquare is the least exponent that counts as growth with the square.
const growsAsSquare = 1.8

// judgeD5 fits the elements walked = c * d^x to A, and counts B's look-ups.
func judgeD5(ev *evidence) judgement {
	var parts []part
	for _, sharing := range []string{shareNone, shareHalf, shareMost} {
		for _, a := range []string{variantEachLevel, variantAllOfEach} {
			parts = append(parts, ev.growthOf(a, sharing))
		}
	}
	for _, b := range []struct{ name, how string }{{variantSortedCoded, "as coded"}, {variantSorted, "as meant"}} {
		for _, s := range d5Sizes {
			if s.depth != d5Depths[len(d5Depths)-1] {
				continue
			}
			distinct := float64(len(distinctPrefixes(s.paths())))
			looks := ev.metric(idOf(d5(s)), b.name, d5Looks)
			parts = append(parts, fact("B makes at most one look-up for each distinct prefix", looks.Median <= distinct, fmt.Sprintf("%.0f for %.0f prefixes", looks.Median, distinct)).
				under(b.how+", shared: "+s.sharing))
		}
	}
	last := d5Size{d5Paths, d5Depths[len(d5Depths)-1], shareHalf}
	id := idOf(d5(last))
	parts = append(parts,
		figureOf(fmt.Sprintf("B as meant against os.MkdirAll, %d paths of %d levels, half shared", last.n, last.depth), factor(ev.ratio(id, variantAllOfEach, variantSorted))),
		figureOf(fmt.Sprintf("path elements walked, by the number n of paths, %d to %d of %d levels, half shared", d5Counts[0], d5Counts[len(d5Counts)-1], d5CountDepth),
			fmt.Sprintf("%s as n^%.2f, %s as n^%.2f, B as meant as n^%.2f", variantEachLevel, ev.growthWithCount(variantEachLevel),
				variantAllOfEach, ev.growthWithCount(variantAllOfEach), ev.growthWithCount(variantSorted))))
	return ruling(fmt.Sprintf("Growth with the square is an exponent of the depth of %.1f or more, from %d to %d levels. N is n d, so the two orders that were published are the same.", growsAsSquare, d5Depths[0], d5Depths[len(d5Depths)-1]), parts...)
}

// growthOf returns the part that asks how the elements that A walks grow with the depth.
func (ev *evidence) growthOf(a, sharing string) part {
	var points []point
	lack := ""
	for _, depth := range d5Depths {
		s := d5Size{d5Paths, depth, sharing}
		id := idOf(d5(s))
		points = append(points, point{float64(depth), ev.metric(id, a, d5Elements).Median})
		lack = cmp.Or(lack, ev.otherCalls(id, a))
	}
	x := fitGrowth(points)
	p := fact("path elements that A walks grow with the square of the depth", x >= growsAsSquare, fmt.Sprintf("as d^%.2f", x)).under(a + ", shared: " + sharing)
	return p.needs(lack)
}

// growthWithCount returns the exponent of the number of paths with which the elements that a
// way walks grow.
func (ev *evidence) growthWithCount(way string) float64 {
	var points []point
	for _, n := range d5Counts {
		points = append(points, point{float64(n), ev.metric(idOf(d5(d5Size{n, d5CountDepth, shareHalf})), way, d5Elements).Median})
	}
	return fitGrowth(points)
}

// otherCalls returns what is missing where the kernel counted other calls than D5 supposes.
func (ev *evidence) otherCalls(id, name string) string {
	supposed := ev.metric(id, name, d5Calls).Median
	if name != variantAllOfEach || ev.variant(id, name) == nil {
		return ""
	}
	n, uncounted := ev.counted(id, name, slices.Concat(statCalls, mkdirCalls)...)
	if uncounted != "" {
		return uncounted
	}
	if n < 0.98*supposed || n > 1.02*supposed {
		return fmt.Sprintf("an os.MkdirAll that looks at each missing level once: the kernel counted %.0f calls, that would be %.0f", n, supposed)
	}
	return ""
}

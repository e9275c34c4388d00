package claims

import (
	"fmt"
	"os"
	"strconv"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/dirs"
)

const (
	variantFile4   = "file, 4 deep"
	variantMkdir3  = "os.Mkdir, 3 deep"
	variantLevels3 = "os.MkdirAll, 3 new levels"
)

func claimD4() Claim {
	// As coded: a single operation of a fresh process.
	once := d4("D4-once", 1)
	many := d4("D4-many", 500)
	return Claim{
		ID: "D4",
		Source: reportD.source("2.3, Parent traversal and permission checks",
			"mkdir /a/b/c takes 127 us, mostly three look-ups and three permission checks, and touch /a/b/c/d 94 us, set by the depth of the path."),
		Statement:   "one fresh mkdir 3 deep; one file created 4 deep",
		Claimed:     "127 us; 94 us",
		Promise:     killText,
		Experiments: []lab.Experiment{once, many},
		judge:       func(ev *evidence) judgement { return judgeD4(ev, once.ID(), many.ID()) },
	}
}

func d4(name string, ops int64) lab.Experiment {
	variant := func(name, doc string, dir string, path func(i int) string, make func(string) error) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: kill, Run: inDir(func(b *lab.B) error {
			if err := os.MkdirAll(dir, dirs.Perm); err != nil {
				return err
			}
			paths := allPaths(b.N, path)
			for b.Loop() {
				if err := make(paths[b.I()]); err != nil {
					return err
				}
			}
			return nil
		})}
	}
	return lab.Experiment{
		Suite: "claims", Name: name, Question: "Does a directory cost more than a file?",
		Op: "one new entry", Ops: ops,
		Variants: firstIsBaseline(
			variant(variantFile4, "create and close a/b/c/<new>, whose parents exist", "a/b/c",
				func(i int) string { return "a/b/c/f" + strconv.Itoa(i) },
				func(p string) error { return touch(p, os.O_CREATE|os.O_EXCL|os.O_WRONLY) }),
			variant(variantMkdir3, "os.Mkdir of a/b/<new>, whose parents exist", "a/b",
				func(i int) string { return "a/b/d" + strconv.Itoa(i) },
				func(p string) error { return os.Mkdir(p, dirs.Perm) }),
			variant(variantLevels3, "os.MkdirAll of <new>/b/c", ".",
				func(i int) string { return "a" + strconv.Itoa(i) + "/b/c" },
				func(p string) error { return os.MkdirAll(p, dirs.Perm) }),
		),
	}
}

// judgeD4 compares the ratio with the claimed one, for either reading of "3 deep", in the
// first operation of a process and in many.
func judgeD4(ev *evidence, once, many string) judgement {
	const claimed = 127.0 / 94
	var text string
	var readings [2][]answer
	for _, c := range []struct{ what, id string }{{"First operation of a process", once}, {"In a row", many}} {
		text += fmt.Sprintf("%s: file %s", c.what, nanos(ev.time(c.id, variantFile4)))
		for i, v := range []string{variantMkdir3, variantLevels3} {
			cost := inverse(ev.speedup(c.id, v))
			text += fmt.Sprintf(", %s %s (%s)", v, nanos(ev.time(c.id, v)), factor(cost))
			readings[i] = append(readings[i], near(cost, claimed))
		}
		text += ". "
	}
	return decide(text,
		fmt.Sprintf("A directory had to cost the claimed %.2fx of a file to within 25 %%, read as one new directory below two that exist and as three new levels.", claimed),
		"what \"3 deep\" means, and whether it is the first operation of its process",
		append(readings[0], readings[1]...)...)
}

package claims

import (
	"fmt"
	"os"
	"strconv"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/dirs"
)

// The variants of D4.
const (
	variantMkdir3    = "mkdir a/b/c"
	variantFile4     = "touch a/b/c/d"
	variantMkdirHere = "mkdir c in an open a/b"
	variantFileHere  = "touch d in an open a/b/c"
)

// A d4Entry is where the new entry of an operation goes: the parent below the block's
// directory, and the name in it.
type d4Entry struct{ parent, name string }

// d4Make makes one entry each operation. cold: each is the first of its parents, which were
// made before the block and which no call has walked since; their names are in the kernel's
// cache. here: it is made relative to its parent, which is open.
func d4Make(b *lab.B, file, cold, here bool) error {
	entries := make([]d4Entry, b.N)
	for i := range entries {
		e := d4Entry{parent: "a/b", name: "c" + strconv.Itoa(i)}
		if file {
			e = d4Entry{parent: "a/b/c", name: "d" + strconv.Itoa(i)}
		}
		if cold {
			e.parent = "a" + strconv.Itoa(i) + e.parent[1:]
		}
		if cold || i == 0 {
			if err := os.MkdirAll(e.parent, dirs.Perm); err != nil {
				return err
			}
		}
		entries[i] = e
	}
	make := func(d sys.Dir, path string) error { return d.Mkdir(path, dirs.Perm) }
	if file {
		make = func(d sys.Dir, path string) error { return d.TouchFile(path, 0o644) }
	}
	if !here {
		paths := allPaths(b.N, func(i int) string { return entries[i].parent + "/" + entries[i].name })
		for b.Loop() {
			if err := make(sys.CurrentDir(), paths[b.I()]); err != nil {
				return err
			}
		}
		return nil
	}
	return d4InOpen(b, entries, make)
}

// d4InOpen makes entries in parents that are opened before.
func d4InOpen(b *lab.B, entries []d4Entry, make func(sys.Dir, string) error) (err error) {
	open := map[string]sys.Dir{}
	defer func() {
		for _, d := range open {
			if closed := d.Close(); err == nil {
				err = closed
			}
		}
	}()
	for _, e := range entries {
		if _, ok := open[e.parent]; ok {
			continue
		}
		d, err := sys.OpenDir(e.parent, sys.ForPath)
		if err != nil {
			return err
		}
		open[e.parent] = d
	}
	for b.Loop() {
		e := entries[b.I()]
		if err := make(open[e.parent], e.name); err != nil {
			return err
		}
	}
	return nil
}

func d4(cold bool) lab.Experiment {
	variant := func(name, doc string, file, here bool) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: kill, Run: inDir(func(b *lab.B) error { return d4Make(b, file, cold, here) })}
	}
	e := lab.Experiment{
		Suite: "claims", Name: "D4-warm", Question: "What do a directory and a file cost, and how much of it is the path?",
		Op: "one new entry, all in one directory", Ops: 500,
		Variants: firstIsBaseline(
			variant(variantFile4, "B: create and close, by the path from the top", true, false),
			variant(variantMkdir3, "A: mkdir, by the path from the top", false, false),
			variant(variantFileHere, "create and close, relative to the descriptor of the parent", true, true),
			variant(variantMkdirHere, "mkdir, relative to the descriptor of the parent", false, true)),
	}
	if cold {
		e.Name, e.Op = "D4-cold", "one new entry, the first of its parents, which are new too"
	}
	return e
}

func claimD4() Claim {
	cold, warm := d4(true), d4(false)
	return Claim{
		ID: "D4",
		Source: reportD.source("2.3, Parent traversal and permission checks",
			"mkdir /a/b/c takes 127 us, mostly three look-ups and three permission checks, and touch /a/b/c/d 94 us, set by the depth of the path."),
		Statement:   "one directory made 3 deep (A), one file 4 deep (B), by path and relative to the open parent",
		Claimed:     "127 us; 94 us; mostly the walk along the path",
		Promise:     killText,
		Experiments: []lab.Experiment{cold, warm},
		judge:       func(ev *evidence) judgement { return judgeD4(ev, cold.ID(), warm.ID()) },
	}
}

func judgeD4(ev *evidence, cold, warm string) judgement {
	var parts []part
	for _, c := range []struct{ how, id string }{{"cold: the first of its parents", cold}, {"warm: in a row", warm}} {
		parts = append(parts, figureOf("times ("+c.how+")", fmt.Sprintf("mkdir %s, touch %s", nanos(ev.time(c.id, variantMkdir3)), nanos(ev.time(c.id, variantFile4)))))
		cost := ev.ratio(c.id, variantMkdir3, variantFile4)
		parts = append(parts, inRange("time of a directory against that of a file", cost, 1.2, 1.5, factor(cost), "want 1.20x to 1.50x (claimed 1.35x)").under(c.how))
		for _, k := range []struct{ what, path, here string }{{"mkdir", variantMkdir3, variantMkdirHere}, {"touch", variantFile4, variantFileHere}} {
			share := ev.ratio(c.id, k.here, k.path)
			parts = append(parts, most("time of "+k.what+" relative to the open parent against by path", share, 0.5, factor).under(c.how))
		}
	}
	return ruling("The walk is the main cost if the call takes less than half relative to the parent's descriptor.", parts...)
}

package claims

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/newfile"
	"github.com/stele-go/stele/suites/files"
	"github.com/stele-go/stele/suites/job"
)

const (
	variantNamed    = "os.Create"
	variantUnnamed  = "O_TMPFILE"
	variantInShm    = "O_TMPFILE in /dev/shm"
	variantGivenOne = "O_TMPFILE + linkat"
	variantCheckOn  = "check every 180 days"
	variantCheckOff = "check off (tune2fs -i 0)"
)

// c3 compares os.Create with files that have no name, and with files that get theirs late.
func c3() lab.Experiment {
	anonymous := func(name, doc string, p run.Promise, publish bool) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: p, Run: func(b *lab.B) error {
			return inOpenDir(b, func(d *newfile.Dir) error { return createAnonymous(b, d, publish) })
		}}
	}
	return lab.Experiment{
		Suite: "claims", Name: "C3-unnamed", Question: "How much faster are files that have no name?",
		Op: "one new empty file, closed again, by 1,000 goroutines", Ops: publishedFiles, Env: eightThreads(),
		Variants: []lab.Variant{
			{Name: variantNamed, Doc: "os.Create of a new name", Promise: kept, Baseline: true, Run: inDir(createMany)},
			anonymous(variantUnnamed, "a file that has no name and is gone once it is closed",
				lost, false),
			{Name: variantInShm, Doc: "the same on tmpfs, where the report says such files are", Promise: lost, Run: anonymousInShm},
			anonymous(variantGivenOne, "a file that gets its name before it is closed", kept, true),
		},
	}
}

// createAnonymous makes files without a name. publish: each gets one before it is closed.
func createAnonymous(b *lab.B, d *newfile.Dir, publish bool) error {
	if err := files.NeedUnnamed(d); err != nil {
		return err
	}
	names := distinctNames(b)
	return deal(b, publishedFiles, func(i int64) error {
		f, err := newfile.Anonymous(d, 0o666)
		if err != nil {
			return err
		}
		if publish {
			err = f.Publish(names[i])
		}
		return errors.Join(err, f.Close())
	})
}

// anonymousInShm makes files without a name in /dev/shm.
func anonymousInShm(b *lab.B) error {
	return inShm(func(dir string) error {
		d, err := newfile.OpenDir(dir, newfile.Options{Level: durability.Kill})
		if err != nil {
			return err
		}
		return errors.Join(createAnonymous(b, d, false), d.Close())
	})
}

// c3Check is os.Create on two file systems that differ only in the interval of the
// periodic check. Each block makes its own file system.
func c3Check() lab.Experiment {
	variant := func(name, doc, interval string) lab.Variant {
		return lab.Variant{
			Name: name, Doc: doc, Promise: kept, Baseline: interval != "0",
			Run: func(b *lab.B) error { return onExt4(b, []string{"-i", interval}, createMany) },
		}
	}
	return lab.Experiment{
		Suite: "claims", Name: "C3-check", Question: "Does ext4's periodic check cost anything while files are created?",
		Op:  "os.Create and Close of a new name on a new ext4 of 256 MiB, by 1,000 goroutines",
		Ops: publishedFiles, Env: eightThreads(),
		Variants: []lab.Variant{
			variant(variantCheckOn, "os.Create, after tune2fs -i 180d", "180d"),
			variant(variantCheckOff, "os.Create, after tune2fs -i 0, the default of mkfs.ext4", "0"),
		},
	}
}

// onExt4 runs f with a new ext4, in an image in the block's directory, as working
// directory.
//
// The mount is detached at once and the file system lives on because the working directory
// is on it. So nothing stays mounted if this process is killed.
func onExt4(b *lab.B, tune []string, f func(b *lab.B) error) (err error) {
	p, err := scratch.Image(b.Context(), scratch.Options{FS: "ext4", Size: 256 << 20, Store: b.Dir, Tune: tune})
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, exec.ErrNotFound) || errors.Is(err, syscall.ENODEV) {
		return job.Unsupported("%s", err.Error())
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	was, err := os.Getwd()
	if err != nil {
		return err
	}
	if err := os.Chdir(p.Path); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Chdir(was)) }()
	if out, err := exec.Command("umount", "--lazy", filepath.Dir(p.Path)).CombinedOutput(); err != nil {
		return fmt.Errorf("umount: %w: %s", err, out)
	}
	return f(b)
}

func claimC3() Claim {
	unnamed, check := c3(), c3Check()
	return Claim{
		ID: "C3",
		Source: reportC.source("ch. 1, Optimisations",
			"O_TMPFILE lowers the 210 ms of 1,000 goroutines to 14.5 ms, and tune2fs -i 0 to 89 ms."),
		Statement:   "1,000 files from 1,000 goroutines, as C1: with O_TMPFILE; with ext4's periodic check turned off (tune2fs -i 0)",
		Claimed:     "210 ms become 14.5 ms; 89 ms",
		Promise:     "os.Create, O_TMPFILE + linkat: kill, old or new; O_TMPFILE alone: none, the file has no name and is gone once it is closed",
		Experiments: []lab.Experiment{unnamed, check},
		judge:       func(ev *evidence) judgement { return judgeC3(ev, unnamed.ID(), check.ID()) },
	}
}

func judgeC3(ev *evidence, unnamed, check string) judgement {
	const what = "speed of O_TMPFILE against os.Create, 1,000 files of 1,000 goroutines"
	lack := ev.processors(c1Processors)
	against := func(v, how string) part {
		return claimed(what, ev.ratio(unnamed, variantNamed, v), 210/14.5).under(how).needs(lack).note(notSameJob + ": no name is made")
	}
	parts := []part{
		against(variantUnnamed, "in the same directory"), against(variantInShm, "on tmpfs"),
		figureOf("O_TMPFILE that gets its name by linkat, against os.Create", factor(ev.speedup(unnamed, variantGivenOne))),
		figureOf("1,000 files", fmt.Sprintf("os.Create %s, O_TMPFILE %s, on tmpfs %s", total(ev.time(unnamed, variantNamed)),
			total(ev.time(unnamed, variantUnnamed)), total(ev.time(unnamed, variantInShm)))),
	}
	const off = "speed of os.Create after tune2fs -i 0"
	if why := ev.failed(check); why != "" {
		parts = append(parts, lacking(off, "an ext4 of its own: "+why))
	} else {
		parts = append(parts, claimed(off, ev.speedup(check, variantCheckOff), 210./89).needs(lack))
	}
	return ruling("tune2fs -i sets the interval between checks by fsck; nothing reads it while files are created. "+onFS(ev), parts...)
}

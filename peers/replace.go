package peers

import (
	"bytes"
	"path/filepath"
	"slices"

	"github.com/moby/sys/atomicwriter"
	"github.com/natefinch/atomic"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/suites/replace"
)

// filePerm is the mode of the files of suite replace.
const filePerm = 0o644

// replaceWays are the peers of package atomicfile. All of them sync the content before
// the rename, and none the directory after it: a power cut leaves old or new, but it may
// leave the old after the new was acknowledged. So their level is Kill, beside ways that
// sync nothing at all.
func replaceWays() []replace.Way {
	return append(renameioWays(),
		replaceWay("natefinch/atomic.WriteFile", "from an io.Reader, with the old file's permissions",
			func(path string, data []byte) error { return atomic.WriteFile(path, bytes.NewReader(data)) }),
		replaceWay("moby/atomicwriter.WriteFile", "moby/sys/atomicwriter, Docker's",
			func(path string, data []byte) error { return atomicwriter.WriteFile(path, data, filePerm) }),
	)
}

func replaceWay(name, doc string, write func(path string, data []byte) error) replace.Way {
	return replace.Way{
		Name: name, Promise: job.Promise(durability.Kill, durability.OldOrNew),
		Doc: doc + "; syncs the content, not the directory",
		Open: func(at job.Site) (replace.Replacer, error) {
			return replace.Replacer{Write: func(name string, data []byte) error {
				return write(filepath.Join(at.Dir, name), data)
			}}, nil
		},
	}
}

// renameioDefault is the baseline of BesideRenameio.
const renameioDefault = "renameio.WriteFile"

// BesideRenameio returns an experiment for each one of suite replace that replaces single
// files: Stele's ways of level Power beside the peers, with renameio's default as the
// baseline. The peers promise less, so the lab compares only if comparisons across
// promises are asked for.
func BesideRenameio() []lab.Experiment {
	var list []lab.Experiment
	for _, j := range replace.Jobs() {
		if j.Name != "single" {
			continue
		}
		e := j.Build()
		beside := j.Experiment
		beside.Name = "beside-renameio"
		beside.Question = "What does it cost to sync the directory too, which renameio does not?"
		for _, w := range replaceWays() {
			w.Baseline = w.Name == renameioDefault
			beside.Variants = append(beside.Variants, j.Variant(w))
		}
		if beside.Variant(renameioDefault) == nil {
			continue // it does not exist on this system
		}
		stele := []string{"atomicfile.WriteFile", "Dir.WriteFile", "Dir.WriteFile SyncEach"}
		for _, v := range e.Variants {
			if slices.Contains(stele, v.Name) {
				beside.Variants = append(beside.Variants, v)
			}
		}
		list = append(list, beside)
	}
	return list
}

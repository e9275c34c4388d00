package claims

import (
	"errors"
	"fmt"
	"os"

	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/job"
)

// The variants of C8.
const (
	c8Named   = "os.CreateTemp"
	c8Unnamed = "O_TMPFILE"
	c8Memory  = "memfd_create"
)

const (
	c8Bytes = 1 << 20 // of each file
	c8Files = 8       // open at once
)

func tempNamed() (*os.File, error) {
	f, err := os.CreateTemp(".", "c8-*")
	if err != nil {
		return nil, err
	}
	// Services do so, to leave nothing behind.
	return f, os.Remove(f.Name())
}

// c8 makes temporary files, writes and reads them and closes them. kept: the file system is
// synced while they are open. The kernel does the same after some 30 seconds, at a sync(2),
// or when a journal commits.
func c8(kept bool) lab.Experiment {
	variant := func(name, doc string, open func() (*os.File, error)) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: inDir(func(b *lab.B) error {
			chunk := headers.Head(c8Bytes)
			b.SetBytes(c8Files * c8Bytes)
			for b.Loop() {
				if err := scratchFiles(open, chunk, kept); err != nil {
					return err
				}
			}
			return nil
		})}
	}
	e := lab.Experiment{
		Suite: "claims", Name: "C8-short", Question: "Does a temporary file without a name cost disk I/O?",
		Op:     fmt.Sprintf("%d temporary files of 1 MiB, written, read and closed at once", c8Files),
		MaxOps: 50,
		Variants: firstIsBaseline(
			variant(c8Named, "a file with a name, which is removed at once", tempNamed),
			variant(c8Unnamed, "a file without a name in the directory", func() (*os.File, error) { return sys.OpenTmpfile(".") }),
			variant(c8Memory, "a file in memory", func() (*os.File, error) { return fileop.Memfd("c8") })),
	}
	if kept {
		e.Name = "C8-kept"
		e.Op = fmt.Sprintf("%d temporary files of 1 MiB, written, still open while the file system is synced, read and closed", c8Files)
	}
	return e
}

func scratchFiles(open func() (*os.File, error), chunk []byte, kept bool) (err error) {
	var files []*os.File
	defer func() {
		for _, f := range files {
			err = errors.Join(err, f.Close())
		}
	}()
	for range c8Files {
		f, err := open()
		if f != nil {
			files = append(files, f)
		}
		if err != nil {
			return err
		}
		if _, err := f.Write(chunk); err != nil {
			return err
		}
	}
	if kept {
		if err := fileop.Syncfs("."); err != nil {
			return err
		}
	}
	var head [4 << 10]byte
	for _, f := range files {
		if _, err := f.ReadAt(head[:], 0); err != nil {
			return err
		}
	}
	return nil
}

func claimC8() Claim {
	short, kept := c8(false), c8(true)
	return Claim{
		ID: "C8",
		Source: reportC.source("3.3",
			"Files made with O_TMPFILE and memfd_create are memory only, without disk I/O, and an O_TMPFILE descriptor cannot be passed to another process."),
		Statement:   "temp files through O_TMPFILE and memfd_create: disk I/O counted",
		Claimed:     "none",
		Promise:     "none: the file is gone once its last descriptor is closed",
		Experiments: []lab.Experiment{short, kept},
		Needs: func(e run.Environment) string {
			if e.Device == "" {
				return "a directory on a device, whose I/O can be counted"
			}
			return ""
		},
		judge: func(ev *evidence) judgement { return judgeC8(ev, short.ID(), kept.ID()) },
	}
}

// judgeC8 asks how much of the written bytes reaches the device. A hundredth counts as
// nothing: the device serves other programs too.
func judgeC8(ev *evidence, short, kept string) judgement {
	const written, hardly = c8Files * c8Bytes, 0.01
	var answers []answer
	text := ""
	for _, c := range []struct{ what, id string }{{"Closed at once", short}, {"Open while the file system is synced", kept}} {
		share := func(v string) run.Estimate {
			return scaled(ev.metric(c.id, v, "device_write_bytes_per_op"), 1./written)
		}
		unnamed, memory, named := share(c8Unnamed), share(c8Memory), share(c8Named)
		answers = append(answers, within(unnamed, 0, hardly), within(memory, 0, hardly))
		text += fmt.Sprintf("%s, the disk gets %.1f %% of the written bytes with O_TMPFILE, %.1f %% with memfd_create, and %.1f %% with a name that was removed. ", c.what,
			100*unnamed.Median, 100*memory.Median, 100*named.Median)
	}
	return decide(text, "The device's writes are counted; reads come from the page cache. Up to 1 % counts as none, since the device serves other programs too. A file without a name is written back like any other once it is old enough or the file system is synced; a file in memory never is, except by swapping.",
		"how long the files live, and on their kind", answers...)
}

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

// What C8 writes into each file, and how many are open at once.
const (
	c8Bytes = 1 << 20
	c8Files = 8
)

func tempNamed() (*os.File, error) {
	f, err := os.CreateTemp(".", "c8-*")
	if err != nil {
		return nil, err
	}
	// As services do, so that nothing is left of it.
	return f, os.Remove(f.Name())
}

// c8 makes temporary files, writes and reads them and closes them. kept: the
// system syncs the file system while they are open, as it does by itself some
// 30 seconds later, when somebody calls sync, or when a journal commits.
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
	named := variant(c8Named, "a file with a name, which is removed at once", tempNamed)
	named.Baseline = true
	e := lab.Experiment{
		Suite: "claims", Name: "C8-short", Question: "Does a temporary file without a name cost disk I/O?",
		Op:     fmt.Sprintf("%d temporary files of 1 MiB, written, read and closed at once", c8Files),
		MaxOps: 50,
		Variants: []lab.Variant{named,
			variant(c8Unnamed, "a file without a name in the folder", func() (*os.File, error) { return sys.OpenTmpfile(".") }),
			variant(c8Memory, "a file in memory", func() (*os.File, error) { return fileop.Memfd("c8") })},
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
		Promise:     "none: nothing is left when the last descriptor is closed",
		Experiments: []lab.Experiment{short, kept},
		Needs: func(e run.Environment) string {
			if e.Device == "" {
				return "a folder on a device, whose I/O can be counted"
			}
			return ""
		},
		judge: func(ev *evidence) judgement { return judgeC8(ev, short.ID(), kept.ID()) },
	}
}

// judgeC8 counts what reaches the device as a share of what was written. A
// hundredth is none: the device serves others too.
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
		text += fmt.Sprintf("%s, of what was written reaches the disk: %.1f %% with O_TMPFILE, %.1f %% with memfd_create, %.1f %% of a file with a name that was removed. ", c.what,
			100*unnamed.Median, 100*memory.Median, 100*named.Median)
	}
	verdict, why := decide("Counted is what the device writes; what is read back comes from the page cache. None is up to 1 %, since the device serves others too. A file without a name is written back as any other once it is old enough, or the file system is synced; one in memory never, but for swapping.",
		"how long the files live, and of which kind they are", answers...)
	return judgement{text[:len(text)-1], verdict, why}
}

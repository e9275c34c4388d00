// Package headers asks which way of writing before a file's first byte is fastest:
// suite header.
package headers

import (
	"bytes"
	"fmt"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// bytesPerBlock bounds what a block writes before its timed part, which needs a file
// for each operation. More would take the disk's time from the rounds; less would
// leave too few files of 10 MiB, which the bars are about.
const bytesPerBlock = 128 << 20

// The sizes and headers of the suite, by the names of the parameters.
var sizes = []struct {
	name  string
	bytes int64
}{{"1KiB", 1 << 10}, {"1MiB", 1 << 20}, {"10MiB", 10 << 20}, {"100MiB", 100 << 20}}

// Full returns the experiments of the suite.
func Full() []lab.Experiment { return job.Build(Jobs()) }

// Quick returns the experiment that shows best what the suite is about.
func Quick() []lab.Experiment {
	j := insert("10MiB", "128", datafile.Warm)
	return []lab.Experiment{job.Only(j.Build(), "copy and rename", "Insert atomic padded", "Insert by shift", "Insert into a slot")}
}

// Jobs returns the jobs of the suite.
func Jobs() []job.Job[Inserter] {
	var list []job.Job[Inserter]
	for _, size := range sizes {
		for _, head := range []string{"128", "4096"} {
			for _, cache := range []string{datafile.Warm, datafile.Cold} {
				list = append(list, insert(size.name, head, cache))
			}
		}
	}
	for _, cache := range []string{datafile.Warm, datafile.Cold} {
		list = append(list, insertAndRead("10MiB", "128", cache))
	}
	return append(list, inject(injectFiles))
}

// insert is one insertion into each file. The next read of a file is part of the cost
// of an insertion, because a shift drops the file's pages: it is measured after the
// timed part, as next_read_ns.
func insert(size, head, cache string) job.Job[Inserter] {
	sizeBytes, err := sizeOf(size)
	if err != nil {
		panic(err) // sizes are written in this file
	}
	ways := insertWays()
	if head == "4096" {
		ways = append(ways, tornSlot())
	}
	return job.Job[Inserter]{
		Experiment: lab.Experiment{
			Suite: "header", Name: "insert",
			Params:   run.Params{"size": size, "header": head, "cache": cache},
			Question: fmt.Sprintf("Which way of putting %s bytes before a file of %s is fastest?", head, size),
			Op: fmt.Sprintf("%s bytes before the first byte of a file of %s of its own, which is %s",
				head, size, map[string]string{datafile.Warm: "in the page cache", datafile.Cold: "not in the page cache"}[cache]),
			MaxOps: min(2_000, max(2, bytesPerBlock/sizeBytes)),
		},
		Ways: ways,
		Run:  func(b *lab.B, at job.Site, i Inserter) error { return runInsert(b, at, i, false) },
	}
}

// insertAndRead is insert with the next read as a part of the operation.
func insertAndRead(size, head, cache string) job.Job[Inserter] {
	j := insert(size, head, cache)
	j.Name = "insert-read"
	j.Question = fmt.Sprintf("Which way of putting %s bytes before a file of %s is fastest when the file is read next?", head, size)
	j.Op += ", and the next read of all of it"
	j.Run = func(b *lab.B, at job.Site, i Inserter) error { return runInsert(b, at, i, true) }
	return j
}

// The files of experiment inject, and the headers each of them gets.
const (
	injectFiles   = 10_000
	injectPerFile = 10
	injectSize    = 1 << 10
	injectHead    = 128
)

// inject is 100,000 insertions at level Kill. Each file gets its headers one after the
// other, and so grows by little, and the slot that is reserved for all ten of them
// stays small.
func inject(files int64) job.Job[Inserter] {
	return job.Job[Inserter]{
		Experiment: lab.Experiment{
			Suite: "header", Name: "inject",
			Params:   run.Params{"count": fmt.Sprint(files * injectPerFile), "header": fmt.Sprint(injectHead)},
			Question: "Which way of many small insertions is fastest?",
			Op:       fmt.Sprintf("%d bytes before the first byte of a file of %d bytes and up to %d headers", injectHead, injectSize, injectPerFile-1),
			Ops:      files * injectPerFile, MaxRounds: lab.MinRounds,
		},
		Ways: injectWays(),
		Run:  runInject,
	}
}

func sizeOf(name string) (int64, error) {
	for _, s := range sizes {
		if s.name == name {
			return s.bytes, nil
		}
	}
	return 0, setting.Wrong("suites: parameter size", name, "1KiB, 1MiB, 10MiB or 100MiB")
}

// Head returns a header of n bytes: lines of text.
func Head(n int) []byte {
	line := []byte("// what stands here stands before the first byte of the old file\n")
	return append(bytes.Repeat(line, n/len(line)+1)[:n-1:n-1], '\n')
}

// runInsert inserts into each file once.
func runInsert(b *lab.B, at job.Site, in Inserter, thenRead bool) error {
	n, err := job.Int(b, "header", 1, 1<<20)
	if err != nil {
		return err
	}
	size, err := sizeOf(b.Params["size"])
	if err != nil {
		return err
	}
	head := Head(n)
	files, err := makeFiles(at.Dir, b.N, size, int64(n), in.Prepare, b.Params["cache"] == datafile.Cold)
	if err != nil {
		return err
	}
	b.SetBytes(int64(n))
	for b.Loop() {
		name := files.names[b.I()]
		if err := in.Insert(name, head); err != nil {
			return err
		}
		if thenRead {
			if err := files.read(name, head); err != nil {
				return err
			}
		}
	}
	if !thenRead {
		next, err := files.readAll(head)
		if err != nil {
			return err
		}
		b.Report("next_read_ns", float64(next))
	}
	return nil
}

// runInject takes the files in turn, so that no two insertions into one file follow
// each other.
func runInject(b *lab.B, at job.Site, in Inserter) error {
	n := max(1, (b.N+injectPerFile-1)/injectPerFile)
	files, err := makeFiles(at.Dir, n, injectSize, injectPerFile*injectHead, in.Prepare, false)
	if err != nil {
		return err
	}
	head := Head(injectHead)
	b.SetBytes(injectHead)
	for b.Loop() {
		if err := in.Insert(files.names[b.I()%n], head); err != nil {
			return err
		}
	}
	_, err = files.readAll(head)
	return err
}

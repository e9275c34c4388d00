package claims

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/internal/measure/pagecache"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/headers"
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

// Metrics of C8.
const (
	c8Written = "written_back_share" // of the bytes of the files
	c8Passed  = "passed_to_child"    // 1 for yes
	c8Swap    = "swap_bytes"         // of the machine
)

func tempNamed() (*os.File, error) {
	f, err := os.CreateTemp(".", "c8-*")
	if err != nil {
		return nil, err
	}
	// Services do so, to leave nothing behind.
	return f, os.Remove(f.Name())
}

// c8 makes temporary files, writes and reads them and closes them. synced: each is synced.
func c8(synced bool) lab.Experiment {
	variant := func(name, doc string, open func() (*os.File, error)) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: lost, Run: inDir(func(b *lab.B) error { return runC8(b, open, synced) })}
	}
	e := lab.Experiment{
		Suite: "claims", Name: "C8-short", Question: "Does a temporary file without a name cost disk I/O?",
		Op:     fmt.Sprintf("%d temporary files of 1 MiB, written, read and closed at once", c8Files),
		MaxOps: 50, MaxRounds: lab.MinRounds,
		Variants: firstIsBaseline(
			variant(c8Named, "a file with a name, which is removed at once", tempNamed),
			variant(c8Unnamed, "a file without a name in the directory", func() (*os.File, error) { return sys.OpenTmpfile(".") }),
			variant(c8Memory, "a file in memory", func() (*os.File, error) { return fileop.Memfd("c8") })),
	}
	if synced {
		e.Name = "C8-synced"
		e.Op = fmt.Sprintf("%d temporary files of 1 MiB, written, synced, read and closed", c8Files)
	}
	return e
}

func runC8(b *lab.B, open func() (*os.File, error), synced bool) error {
	chunk := headers.Head(c8Bytes)
	var back written
	b.SetBytes(c8Files * c8Bytes)
	for b.Loop() {
		if err := scratchFiles(open, chunk, synced, &back); err != nil {
			return err
		}
	}
	back.report(b, c8Written)
	if swap, err := pagecache.Swap(); err != nil {
		b.ReportMissing(c8Swap, err.Error())
	} else {
		b.Report(c8Swap, float64(swap))
	}
	passed, err := passToChild(open)
	if err != nil {
		b.ReportMissing(c8Passed, err.Error())
		return nil
	}
	b.Report(c8Passed, oneIf(passed))
	return nil
}

// writtenBack returns how many bytes of a file have been written: those that are dirty no more,
// of so many before, or those of a file in memory that are in swap.
func writtenBack(f *os.File, dirty int64) (int64, error) {
	now, err := pagecache.Dirty(f)
	if err != nil {
		return 0, err
	}
	swapped, err := pagecache.Evicted(f)
	return max(dirty-now, swapped), err
}

// written counts the bytes of files, and those of them that have been written back.
type written struct {
	all, back int64
	err       error // the kernel does not say
}

func (w *written) report(b *lab.B, metric string) {
	if w.err != nil {
		b.ReportMissing(metric, w.err.Error())
		return
	}
	b.Report(metric, float64(w.back)/float64(max(1, w.all)))
}

// add counts n bytes of a file that had so many dirty ones before.
func (w *written) add(f *os.File, dirty, n int64) {
	back, err := writtenBack(f, dirty)
	w.err = cmp.Or(w.err, err)
	w.all, w.back = w.all+n, w.back+back
}

func scratchFiles(open func() (*os.File, error), chunk []byte, synced bool, back *written) (err error) {
	var files []*os.File
	defer func() {
		for _, f := range files {
			err = errors.Join(err, f.Close())
		}
	}()
	var head [4 << 10]byte
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
		dirty, err := pagecache.Dirty(f)
		back.err = cmp.Or(back.err, err)
		if synced {
			if err := f.Sync(); err != nil {
				return err
			}
		}
		if _, err := f.ReadAt(head[:], 0); err != nil {
			return err
		}
		back.add(f, dirty, int64(len(chunk)))
	}
	return nil
}

// passToChild reports whether another process can read the file through its descriptor.
func passToChild(open func() (*os.File, error)) (passed bool, err error) {
	f, err := open()
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	const text = "read by another process"
	if _, err := f.WriteString(text); err != nil {
		return false, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	cmd := exec.Command("cat")
	cmd.Stdin = f
	out, err := cmd.Output()
	if err != nil {
		return false, fmt.Errorf("a child that reads the file: %w", err)
	}
	return string(out) == text, nil
}

const (
	c8Waiting = "files that stay open past the age of write-back"
	// c8AgedBytes is the size of each of the two files.
	c8AgedBytes = 64 << 20
)

// c8Aged keeps files of 64 MiB open past the age at which the kernel writes pages back
// (vm.dirty_expire_centisecs, 30 s unless set). It waits once a run.
func c8Aged() lab.Experiment {
	return lab.Experiment{
		Suite: "claims", Name: "C8-aged", Question: "Does a temporary file without a name cost disk I/O once it is old?",
		Op:  "a file of 64 MiB without a name and one in memory, open past the age of write-back; the wait is before the block, and once a run",
		Ops: 1, MaxRounds: lab.MinRounds,
		Variants: []lab.Variant{{Name: c8Waiting, Doc: "O_TMPFILE in the directory, and memfd_create", Promise: lost, Baseline: true, Run: runAged}},
	}
}

// An aged is the outcome for one file.
type aged struct {
	Share   float64 // of its bytes that were written back
	Seconds float64 // waited
	Why     string  // there is no figure
}

func runAged(b *lab.B) error {
	const result = "result.json"
	dir, err := b.Shared("c8-aged", func(dir string) error {
		age, err := pagecache.WriteBackAge()
		if err != nil {
			return err
		}
		both := map[string]aged{}
		unnamed, err := sys.OpenTmpfile(dir)
		if err != nil {
			return err
		}
		memory, err := fileop.Memfd("c8")
		if err != nil {
			return errors.Join(err, unnamed.Close())
		}
		both[c8Unnamed], both[c8Memory], err = ageFiles(b, unnamed, memory, age)
		if err := errors.Join(err, unnamed.Close(), memory.Close()); err != nil {
			return err
		}
		text, err := json.Marshal(both)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, result), text, 0o644)
	})
	if err != nil {
		return err
	}
	for b.Loop() {
	}
	text, err := os.ReadFile(filepath.Join(dir, result))
	if err != nil {
		return err
	}
	both := map[string]aged{}
	if err := json.Unmarshal(text, &both); err != nil {
		return err
	}
	for name, metric := range map[string]string{c8Unnamed: "unnamed_" + c8Written, c8Memory: "memory_" + c8Written} {
		if a := both[name]; a.Why != "" {
			b.ReportMissing(metric, a.Why)
		} else {
			b.Report(metric, a.Share)
		}
	}
	b.Report("waited_seconds", both[c8Unnamed].Seconds)
	return nil
}

// ageFiles writes both files and waits for age, and as long again while something of the first
// is still dirty: the kernel looks for old pages at intervals.
func ageFiles(b *lab.B, unnamed, memory *os.File, age time.Duration) (u, m aged, err error) {
	chunk := headers.Head(1 << 20)
	files := []*os.File{unnamed, memory}
	var dirty [2]int64
	for i, f := range files {
		for range c8AgedBytes / len(chunk) {
			if _, err := f.Write(chunk); err != nil {
				return u, m, err
			}
		}
		if dirty[i], err = pagecache.Dirty(f); err != nil {
			return aged{Why: err.Error()}, aged{Why: err.Error()}, nil
		}
	}
	begun := time.Now()
	for now := dirty[0]; time.Since(begun) < age || now > 0 && time.Since(begun) < 2*age; {
		select {
		case <-b.Context().Done():
			return u, m, b.Context().Err()
		case <-time.After(100 * time.Millisecond):
		}
		if now, err = pagecache.Dirty(unnamed); err != nil {
			return u, m, err
		}
	}
	took := time.Since(begun).Seconds()
	share := func(i int) (aged, error) {
		back, err := writtenBack(files[i], dirty[i])
		return aged{Share: float64(back) / c8AgedBytes, Seconds: took}, err
	}
	if u, err = share(0); err == nil {
		m, err = share(1)
	}
	return u, m, err
}

func claimC8() Claim {
	short, synced, old := c8(false), c8(true), c8Aged()
	return Claim{
		ID: "C8",
		Source: reportC.source("3.3",
			"Files made with O_TMPFILE and memfd_create are memory only, without disk I/O, and an O_TMPFILE descriptor cannot be passed to another process."),
		Statement:   "temporary files through O_TMPFILE and memfd_create: bytes written back to the device, and a descriptor passed to another process",
		Claimed:     "none; it cannot be passed",
		Promise:     "none: the file is gone once its last descriptor is closed",
		Experiments: []lab.Experiment{short, synced, old},
		judge:       func(ev *evidence) judgement { return judgeC8(ev, short.ID(), synced.ID(), old.ID()) },
	}
}

// hardly is the share of the bytes that counts as none written back.
const hardly = 0.01

func judgeC8(ev *evidence, short, synced, old string) judgement {
	const unnamed, memory = "nothing of an O_TMPFILE file is written to the device", "nothing of a memfd_create file is written to the device"
	var parts []part
	none := func(what, cond, id, variant, metric string) {
		share, why := ev.known(id, variant, metric)
		if why != "" {
			why = "counted write-back: " + why
		}
		parts = append(parts, fact(what, share.Median <= hardly, fmt.Sprintf("%.1f %% of its bytes", 100*share.Median)).under(cond).needs(why))
	}
	swap := ""
	switch e, _ := ev.known(short, c8Memory, c8Swap); {
	case e.Median > 0:
		swap = ", swap on"
	case e.Median == 0:
		swap = ", swap off"
	}
	for _, c := range []struct{ cond, id string }{{"8 MiB, closed at once", short}, {"8 MiB, fsync", synced}} {
		none(unnamed, c.cond, c.id, c8Unnamed, c8Written)
		none(memory, c.cond+swap, c.id, c8Memory, c8Written)
	}
	past := "64 MiB, open past the age of write-back"
	none(unnamed, past, old, c8Waiting, "unnamed_"+c8Written)
	none(memory, past+swap, old, c8Waiting, "memory_"+c8Written)
	passed, why := ev.known(short, c8Unnamed, c8Passed)
	parts = append(parts, fact("an O_TMPFILE descriptor cannot be passed to another process", passed.Median == 0,
		eitherText(passed, "a child has read the file through it", "a child could not read the file")).needs(why))
	for _, c := range []struct{ cond, id string }{{"closed at once", short}, {"fsync", synced}} {
		if bytes, why := ev.known(c.id, c8Unnamed, "device_write_bytes_per_op"); why == "" {
			parts = append(parts, figureOf("bytes sent to the device, 8 files of 1 MiB, "+c.cond, fmt.Sprintf("O_TMPFILE %.2f MiB", bytes.Median/(1<<20))))
		}
	}
	return ruling("Pages that were dirty and are dirty no more have been written, and so have pages of a file in memory that are in swap (cachestat(2)). "+onFS(ev), parts...)
}

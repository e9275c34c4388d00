package iojob

import (
	"fmt"
	"os"
	"time"

	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/internal/datafile"
)

// A target is what a job works on: a file, or a stand-in for tests.
type target interface {
	ReadAt(p []byte, off int64) (int, error)
	WriteAt(p []byte, off int64) (int, error)
	Sync() error
}

// dataSynced is a file whose Sync is fdatasync(2).
type dataSynced struct{ *os.File }

func (f dataSynced) Sync() error { return fileop.Fdatasync(f.File) }

func targetOf(j *Job, f *os.File) target {
	if j.sync() == syncData {
		return dataSynced{f}
	}
	return f
}

// A thread does the operations of one thread, one at a time.
type thread struct {
	*lab.Worker
	source  *source
	arrive  *arrivals
	on      target
	buf     []byte
	every   int64 // writes to a sync; 0 is never
	unsaved int64
	tally   *tally
}

// run does operations until Loop ends.
func (t *thread) run(b *lab.B) error {
	for first := true; t.Loop(); first = false {
		var begin time.Time
		if t.arrive != nil {
			if first {
				t.arrive.begin()
			}
			begin = t.arrive.next()
			t.arrive.take()
			waitUntil(b.Context(), begin)
		} else if t.tally.split {
			begin = time.Now()
		}
		o := t.source.next()
		if err := t.do(o); err != nil {
			return err
		}
		t.tally.bytes += int64(o.n)
		if begin.IsZero() {
			continue
		}
		took := time.Since(begin)
		if t.arrive != nil {
			t.Took(took)
		}
		t.tally.add(o, took)
	}
	return nil
}

func (t *thread) do(o operation) error {
	p := t.buf[:o.n]
	if !o.write {
		if n, err := t.on.ReadAt(p, o.off); n < o.n {
			return fmt.Errorf("read %d of %d bytes at offset %d: %w", n, o.n, o.off, err)
		}
		return nil
	}
	if _, err := t.on.WriteAt(p, o.off); err != nil {
		return err
	}
	t.unsaved++
	if t.every == 0 || t.unsaved < t.every {
		return nil
	}
	t.unsaved = 0
	return t.on.Sync()
}

// buffer returns memory for direct I/O whose bytes do not compress.
func buffer(n int) []byte {
	p := sys.AlignedBuffer(n, datafile.PageSize)
	datafile.Noise()(p)
	return p
}

package fileio

import (
	"errors"
	"fmt"
	"time"

	"github.com/stele-go/stele/internal/memory"
	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/sys"
)

// Advice is the expected use of a part of a file. It changes how fast reads are, never
// their results.
type Advice uint8

const (
	AdviceNormal     Advice = iota // no expectation
	AdviceSequential               // read from the start to the end
	AdviceRandom                   // read anywhere: nothing is read ahead
	AdviceWillNeed                 // read soon: read into the page cache now, without waiting
	AdviceDontNeed                 // not read soon: clean pages leave the page cache
	AdviceNoReuse                  // read once: these pages push out no others (Linux 6.3)
)

// noMadvise marks an advice that madvise(2) does not have.
const noMadvise = -1

var advices = [...]struct {
	name      string
	file, mem int
}{
	{"normal", sys.AdviseNormal, sys.MemNormal},
	{"sequential", sys.AdviseSequential, sys.MemSequential},
	{"random", sys.AdviseRandom, sys.MemRandom},
	{"will need", sys.AdviseWillNeed, sys.MemWillNeed},
	{"don't need", sys.AdviseDontNeed, sys.MemDontNeed},
	{"no reuse", sys.AdviseNoReuse, noMadvise},
}

func (a Advice) String() string {
	if int(a) < len(advices) {
		return advices[a].name
	}
	return fmt.Sprintf("Advice(%d)", uint8(a))
}

// Advise tells the kernel the expected use of n bytes at off; n = 0 is up to the end.
// Linux applies AdviceNormal, AdviceSequential and AdviceRandom to the whole Reader
// regardless of the range, except for a mapping. AdviceSequential and AdviceRandom
// also stop this package's own readahead; AdviceNormal restarts it.
//
// The kernel truncates an AdviceWillNeed of more than the device's readahead, so
// Advise splits it, and limits it to the free memory: a sparse file may have any size.
// AdviceDontNeed keeps pages that are dirty, locked or mapped by other processes.
//
// A Reader that bypasses the page cache ignores advice and returns nil. Off Linux the
// error is errors.ErrUnsupported.
func (r *Reader) Advise(off, n int64, a Advice) error {
	if int(a) >= len(advices) {
		return r.offsetError("advise", off, setting.Wrong("fileio: Advice", a, "AdviceNormal to AdviceNoReuse"))
	}
	if off < 0 || n < 0 {
		return r.offsetError("advise", off, errNegative)
	}
	if !r.gate.Enter() {
		return r.closedError("advise")
	}
	defer r.gate.Leave()
	if r.way == Direct {
		return nil
	}
	start := r.startTime()
	err := r.advise(off, n, a)
	if err != nil {
		err = r.offsetError("advise", off, err)
	}
	r.traceOp(OpAdvise, off, n, start, err)
	return err
}

func (r *Reader) advise(off, n int64, a Advice) error {
	if r.ra != nil {
		switch a {
		case AdviceNormal:
			r.ra.reset()
			r.ra.off.Store(false)
		case AdviceSequential, AdviceRandom:
			r.ra.off.Store(true)
		}
	}
	size, err := r.sizeNow()
	if err != nil {
		return err
	}
	if n == 0 {
		n = size
	}
	n = min(n, size-off)
	how := advices[a]
	mem := r.mem[min(off, int64(len(r.mem))):]
	mem = mem[:max(0, min(n, int64(len(mem))))]
	switch a {
	case AdviceWillNeed:
		for n = min(n, adviseLimit(n)); n > 0; off, n = off+piece, n-piece {
			if err := sys.Fadvise(r.f, off, min(n, piece), how.file); err != nil {
				return err
			}
		}
		return nil
	case AdviceDontNeed:
		// Mapped pages stay in the cache: unmap them first.
		if err := sys.Madvise(mem, how.mem); err != nil || n <= 0 {
			return err
		}
		return sys.Fadvise(r.f, off, n, how.file)
	}
	r.advised.Store(true)
	err = sys.Fadvise(r.f, off, max(n, 0), how.file)
	if how.mem != noMadvise {
		err = errors.Join(err, sys.Madvise(mem, how.mem))
	}
	return err
}

// adviseLimit returns how many of n bytes to read ahead: no more than free memory.
func adviseLimit(n int64) int64 {
	if n <= 64<<20 {
		return n
	}
	if available, known := memory.Available(); known {
		return available
	}
	return 1 << 30
}

// fadvise gives the kernel advice that the caller did not ask for.
func (r *Reader) fadvise(off, n int64, advice int) error {
	start := r.startTime()
	err := sys.Fadvise(r.f, off, n, advice)
	if advice != sys.AdviseWillNeed {
		r.advised.Store(true)
	}
	r.traceOp(OpAdvise, off, n, start, err)
	return err
}

func (r *Reader) madvise(mem []byte, advice int) error {
	if len(mem) == 0 {
		return nil
	}
	start := r.startTime()
	err := sys.Madvise(mem, advice)
	r.traceOp(OpAdvise, int64(len(r.mem)-cap(mem)), int64(len(mem)), start, err)
	return err
}

// startTime returns the time if operations are traced.
func (r *Reader) startTime() (t time.Time) {
	if r.trace != nil {
		t = time.Now()
	}
	return t
}

func (r *Reader) traceOp(k OpKind, off, n int64, start time.Time, err error) {
	if r.trace != nil {
		r.trace(Op{Kind: k, Name: r.name, Offset: off, Bytes: n, Start: start, Duration: time.Since(start), Err: err})
	}
}

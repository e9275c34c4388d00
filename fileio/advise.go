package fileio

import (
	"errors"
	"fmt"
	"time"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/sys"
)

// Advice is what will be done with a part of a file. It changes how fast reads
// are, never what they return.
type Advice uint8

const (
	AdviceNormal     Advice = iota // nothing special
	AdviceSequential               // read from the start to the end
	AdviceRandom                   // read anywhere: nothing is read ahead
	AdviceWillNeed                 // read soon: read into the page cache now, without waiting
	AdviceDontNeed                 // not read soon: clean pages leave the page cache
	AdviceNoReuse                  // read once: these pages push out no others (Linux 6.3)
)

// noMemAdvice: madvise(2) has none like it.
const noMemAdvice = -1

var advices = [...]struct {
	name      string
	file, mem int
}{
	{"normal", sys.AdviseNormal, sys.MemNormal},
	{"sequential", sys.AdviseSequential, sys.MemSequential},
	{"random", sys.AdviseRandom, sys.MemRandom},
	{"will need", sys.AdviseWillNeed, sys.MemWillNeed},
	{"don't need", sys.AdviseDontNeed, sys.MemDontNeed},
	{"no reuse", sys.AdviseNoReuse, noMemAdvice},
}

func (a Advice) String() string {
	if int(a) < len(advices) {
		return advices[a].name
	}
	return fmt.Sprintf("Advice(%d)", uint8(a))
}

// Advise tells the kernel what will be done with n bytes at off; n = 0 is up to
// the end. Linux takes AdviceNormal, AdviceSequential and AdviceRandom for the
// whole Reader whatever the range, but for a mapping. AdviceSequential and
// AdviceRandom also end this package's own readahead; AdviceNormal begins it
// anew.
//
// AdviceWillNeed of more than the device's readahead is cut by the kernel, so
// it goes there in pieces, and as much of it as there is free memory: a file may
// be sparse and say that it is of any size. AdviceDontNeed keeps pages that are dirty, locked or
// mapped by others.
//
// A Reader that goes past the page cache has no use for advice and returns
// nil. Outside of Linux the error is errors.ErrUnsupported.
func (r *Reader) Advise(off, n int64, a Advice) error {
	if int(a) >= len(advices) {
		return r.fail("advise", off, setting.Wrong("fileio: Advice", a, "AdviceNormal to AdviceNoReuse"))
	}
	if off < 0 || n < 0 {
		return r.fail("advise", off, errNegative)
	}
	if !r.gate.Enter() {
		return r.closed("advise")
	}
	defer r.gate.Leave()
	if r.way == Direct {
		return nil
	}
	start := r.start()
	err := r.advise(off, n, a)
	if err != nil {
		err = r.fail("advise", off, err)
	}
	r.tell(OpAdvise, off, n, start, err)
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
		for n = min(n, roomFor(n)); n > 0; off, n = off+piece, n-piece {
			if err := sys.Fadvise(r.f, off, min(n, piece), how.file); err != nil {
				return err
			}
		}
		return nil
	case AdviceDontNeed:
		// Pages that are mapped stay in the cache: unmapped first.
		if err := sys.Madvise(mem, how.mem); err != nil || n <= 0 {
			return err
		}
		return sys.Fadvise(r.f, off, n, how.file)
	}
	r.told.Store(true)
	err = sys.Fadvise(r.f, off, max(n, 0), how.file)
	if how.mem != noMemAdvice {
		err = errors.Join(err, sys.Madvise(mem, how.mem))
	}
	return err
}

// roomFor is how many of n bytes it makes sense to have read ahead.
func roomFor(n int64) int64 {
	if n <= 64<<20 {
		return n
	}
	if free, known := freeMemory("/"); known {
		return free
	}
	return 1 << 30
}

// fadvise is advice that the Reader gives on its own account.
func (r *Reader) fadvise(off, n int64, advice int) error {
	start := r.start()
	err := sys.Fadvise(r.f, off, n, advice)
	if advice != sys.AdviseWillNeed {
		r.told.Store(true)
	}
	r.tell(OpAdvise, off, n, start, err)
	return err
}

func (r *Reader) madvise(mem []byte, advice int) error {
	if len(mem) == 0 {
		return nil
	}
	start := r.start()
	err := sys.Madvise(mem, advice)
	r.tell(OpAdvise, int64(len(r.mem)-cap(mem)), int64(len(mem)), start, err)
	return err
}

// start is when an operation begins, if anybody wants to know.
func (r *Reader) start() (t time.Time) {
	if r.trace != nil {
		t = time.Now()
	}
	return t
}

func (r *Reader) tell(k OpKind, off, n int64, start time.Time, err error) {
	if r.trace != nil {
		r.trace(Op{Kind: k, Name: r.name, Offset: off, Bytes: n, Start: start, Duration: time.Since(start), Err: err})
	}
}

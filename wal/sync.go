package wal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/stele-go/stele/internal/sys"
)

// An output makes bytes durable in one segment after the other, by one
// mechanism. It belongs to whoever has the right to flush.
type output struct {
	way
	file *os.File // the segment's
	own  *os.File // opened besides by ways that need it, else nil
}

// A way is a mechanism as the file system has it.
type way struct {
	mech Mechanism
	// align, of SyncDirect, is what offset, length and address of a write must
	// be multiples of, in bytes. Else it is 1.
	align int64
	// opened: RWF_DSYNC is not known here, so a descriptor with O_DSYNC is
	// written to, which promises the same (open(2)).
	opened bool
}

// use has the output write to f from now on.
func (o *output) use(f *os.File) error {
	o.close()
	o.file = f
	if o.mech != SyncDirect && !o.opened {
		return nil
	}
	own, err := sys.Reopen(f, o.mech == SyncDirect, o.opened)
	if err != nil {
		return err
	}
	o.own = own
	return nil
}

func (o *output) close() {
	if o.own != nil {
		o.own.Close() // each write through it was durable
	}
	o.file, o.own = nil, nil
}

// write writes b at off and makes it durable, and at SyncFdatasync all else in
// the file. If lost is set with an error, nobody knows what of the file is on
// the disk, nor will: see poison.
func (o *output) write(b []byte, off int64) (err error, lost bool) {
	if o.mech == SyncFdatasync {
		if _, err := o.file.WriteAt(b, off); err != nil {
			return err, false
		}
		return sys.SyncData(o.file), true
	}
	f := o.file
	if o.own != nil {
		f = o.own
	}
	if o.opened {
		_, err = f.WriteAt(b, off)
	} else {
		_, err = sys.WriteDurably(f, b, off)
	}
	return err, !beforeWriting(err)
}

// beforeWriting reports whether err of a synchronous write is one that it gets
// while it looks for room, rather than from the device: after that the write
// may be tried again.
func beforeWriting(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// The probe: so many synced writes by each mechanism, in all at most so long.
const (
	probeRounds = 5
	probeTime   = 100 * time.Millisecond
	probeWrite  = 1024
	probeSpan   = 64 << 10 // bytes of the probe's file that belong to one mechanism
	maxAlign    = firstOffset
)

// chooseMethod returns the way in which the log in dir is to make bytes durable: by
// want, or an error if the file system cannot do that; by the one that proves
// fastest if want is SyncAuto.
func chooseMethod(dir string, want Mechanism) (way, error) {
	if want == SyncFdatasync {
		return way{mech: want, align: 1}, nil
	}
	f, remove, err := probeFile(dir)
	if err != nil {
		if want == SyncAuto { // the folder is full, perhaps: any will do
			return way{mech: SyncFdatasync, align: 1}, nil
		}
		return way{}, err
	}
	defer remove()
	if want != SyncAuto {
		c, err := newCandidate(f, want, 0)
		if err != nil {
			return way{}, fmt.Errorf("wal: %s: the file system cannot write as Options.Sync=%q wants: %w", dir, want, err)
		}
		defer c.close()
		return c.way, nil
	}
	var all []*candidate
	for i, m := range []Mechanism{SyncFdatasync, SyncDsync, SyncDirect} {
		if c, err := newCandidate(f, m, int64(i)*probeSpan); err == nil {
			defer c.close()
			all = append(all, c)
		}
	}
	return fastest(all), nil
}

// A candidate is a way that is being measured.
type candidate struct {
	output
	off  int64
	buf  []byte
	took []time.Duration
}

// newCandidate finds out by a first write whether f can be written by m.
func newCandidate(f *os.File, m Mechanism, off int64) (*candidate, error) {
	c := &candidate{output: output{way: way{mech: m, align: 1}}, off: off}
	if m == SyncDirect {
		st, err := sys.StatFile(f)
		switch {
		case err != nil:
			return nil, err
		case !st.DirectKnown:
			return nil, fmt.Errorf("statx(2) does not tell the alignment of direct I/O (STATX_DIOALIGN): %w", errors.ErrUnsupported)
		case st.DirectOffset == 0:
			return nil, fmt.Errorf("it has no direct I/O: %w", errors.ErrUnsupported)
		}
		c.align = int64(max(st.DirectOffset, st.DirectMem))
		if c.align > maxAlign || maxAlign%c.align != 0 {
			return nil, fmt.Errorf("its direct I/O goes by blocks of %d bytes, more than %d", c.align, maxAlign)
		}
	}
	// An aligned write of whole blocks is one that all mechanisms can do.
	c.buf = sys.AlignedBuffer(int((probeWrite+c.align-1)&^(c.align-1)), maxAlign)
	err := c.try(f)
	if sys.Absent(err) && m != SyncFdatasync {
		c.opened = true
		err = c.try(f)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *candidate) try(f *os.File) error {
	if err := c.use(f); err != nil {
		return err
	}
	return c.measure()
}

// measure does what one append does.
func (c *candidate) measure() error {
	start := time.Now()
	err, _ := c.write(c.buf, c.off)
	c.took = append(c.took, time.Since(start))
	c.off += int64(len(c.buf))
	return err
}

// fastest measures the ways in turn, so that all see the same disk, and
// returns the one with the smallest median; of two that hardly differ the
// former.
func fastest(all []*candidate) way {
	start := time.Now()
	for range probeRounds {
		for i, c := range all {
			if c.measure() != nil {
				all = slices.Delete(all, i, i+1)
				break
			}
		}
		if time.Since(start) > probeTime {
			break
		}
	}
	best, least := way{mech: SyncFdatasync, align: 1}, time.Duration(0)
	for _, c := range all {
		if len(c.took) > 1 {
			c.took = c.took[1:] // the first had to find the way
		}
		slices.Sort(c.took)
		if median := c.took[len(c.took)/2]; least == 0 || median < least-least/20 {
			best, least = c.way, median
		}
	}
	return best
}

// probeFile makes a file in dir, written ahead as segments are, without a name
// where that is possible.
func probeFile(dir string) (f *os.File, remove func(), err error) {
	remove = func() { f.Close() }
	if f, err = sys.OpenTmpfile(dir); err != nil {
		if f, err = namedProbe(dir); err != nil {
			return nil, nil, err
		}
		remove = func() {
			f.Close()
			os.Remove(f.Name())
		}
	}
	if _, err = f.WriteAt(make([]byte, 3*probeSpan), 0); err == nil {
		err = sys.SyncAll(f)
	}
	if err != nil {
		remove()
		return nil, nil, err
	}
	return f, remove, nil
}

// namedProbe makes the file under a name that Open removes, should the process
// be killed.
func namedProbe(dir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, metaName+tempExt), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
}

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

// An output writes to one segment after the other and makes the writes durable.
// Log.writeMu guards it.
type output struct {
	method
	file     *os.File // the segment's
	reopened *os.File // with other flags, if the method needs them; else nil
}

// A method is a Mechanism as the file system supports it.
type method struct {
	mech Mechanism
	// align is 1, and for SyncDirect the number of bytes of which offset, length
	// and address of a write must be multiples.
	align int64
	// dsync is set if the kernel lacks RWF_DSYNC. Then a descriptor with O_DSYNC
	// is written to, which promises the same (open(2)).
	dsync bool
}

// use makes the output write to f.
func (o *output) use(f *os.File) error {
	o.close()
	o.file = f
	if o.mech != SyncDirect && !o.dsync {
		return nil
	}
	reopened, err := sys.Reopen(f, o.mech == SyncDirect, o.dsync)
	if err != nil {
		return err
	}
	o.reopened = reopened
	return nil
}

func (o *output) close() {
	if o.reopened != nil {
		o.reopened.Close() // each write through it was durable
	}
	o.file, o.reopened = nil, nil
}

// write writes b at off and makes it durable; SyncFdatasync also makes all else
// in the file durable. If lost is set with an error, it is not known what the
// disk has of the file: see poison.
func (o *output) write(b []byte, off int64) (err error, lost bool) {
	if o.mech == SyncFdatasync {
		if _, err := o.file.WriteAt(b, off); err != nil {
			return err, false
		}
		return sys.SyncData(o.file), true
	}
	f := o.file
	if o.reopened != nil {
		f = o.reopened
	}
	if o.dsync {
		_, err = f.WriteAt(b, off)
	} else {
		_, err = sys.WriteDurably(f, b, off)
	}
	return err, !beforeWriting(err)
}

// beforeWriting reports whether err of a synchronous write comes from allocating
// space rather than from the device. After that the write may be tried again.
func beforeWriting(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// Open measures each mechanism by synced writes.
const (
	probeRounds = 5
	probeTime   = 100 * time.Millisecond // for all mechanisms
	probeWrite  = 1024                   // bytes of one write
	probeSpan   = 64 << 10               // bytes of the probe file for one mechanism
	maxAlign    = firstOffset
)

// chooseMethod returns the method for the mechanism want, or an error if the file
// system does not have it. For SyncAuto it measures all, and returns the fastest.
func chooseMethod(dir string, want Mechanism) (method, error) {
	if want == SyncFdatasync {
		return method{mech: want, align: 1}, nil
	}
	f, remove, err := probeFile(dir)
	if err != nil {
		if want == SyncAuto { // perhaps the disk is full, and any will do
			return method{mech: SyncFdatasync, align: 1}, nil
		}
		return method{}, err
	}
	defer remove()
	if want != SyncAuto {
		c, err := newCandidate(f, want, 0)
		if err != nil {
			return method{}, fmt.Errorf("wal: Options.Sync: %q; want one that the file system of %s has: %w", want, dir, err)
		}
		defer c.close()
		return c.method, nil
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

// A candidate is a method that is being measured.
type candidate struct {
	output
	off  int64
	buf  []byte
	took []time.Duration
}

// newCandidate tries mechanism m by a first write to f.
func newCandidate(f *os.File, m Mechanism, off int64) (*candidate, error) {
	c := &candidate{output: output{method: method{mech: m, align: 1}}, off: off}
	if m == SyncDirect {
		st, err := sys.StatFile(f)
		switch {
		case err != nil:
			return nil, err
		case !st.DirectKnown:
			return nil, fmt.Errorf("statx(2) does not report the alignment of direct I/O (STATX_DIOALIGN): %w", errors.ErrUnsupported)
		case st.DirectOffset == 0:
			return nil, fmt.Errorf("the file system has no direct I/O: %w", errors.ErrUnsupported)
		}
		c.align = int64(max(st.DirectOffset, st.DirectMem))
		if c.align > maxAlign || maxAlign%c.align != 0 {
			return nil, fmt.Errorf("direct I/O has blocks of %d bytes; want at most %d", c.align, maxAlign)
		}
	}
	// Every mechanism can write whole aligned blocks.
	c.buf = sys.AlignedBuffer(int((probeWrite+c.align-1)&^(c.align-1)), maxAlign)
	err := c.try(f)
	if sys.Absent(err) && m != SyncFdatasync {
		c.dsync = true
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

// measure times one synced write.
func (c *candidate) measure() error {
	start := time.Now()
	err, _ := c.write(c.buf, c.off)
	c.took = append(c.took, time.Since(start))
	c.off += int64(len(c.buf))
	return err
}

// fastest measures the candidates in turn, so that all see the same disk, and
// returns the method with the smallest median; within 5% the first.
func fastest(all []*candidate) method {
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
	best, least := method{mech: SyncFdatasync, align: 1}, time.Duration(0)
	for _, c := range all {
		if len(c.took) > 1 {
			c.took = c.took[1:] // the first write was slower
		}
		slices.Sort(c.took)
		if median := c.took[len(c.took)/2]; least == 0 || median < least-least/20 {
			best, least = c.method, median
		}
	}
	return best
}

// probeFile creates a file in dir, written ahead of use like a segment, and
// without a name if the file system can.
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

// namedProbe creates the file under a name that the next Open removes if the
// process is killed.
func namedProbe(dir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, metaName+tempExt), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
}

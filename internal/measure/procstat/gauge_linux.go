package procstat

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
)

// A Gauge reads memory figures again and again. It keeps the files of /proc open, and a
// reading makes one system call and allocates nothing. It is for one goroutine.
type Gauge struct {
	statm, meminfo *os.File
	page           int64
	buf            [4096]byte
}

// OpenGauge opens a Gauge.
func OpenGauge() (*Gauge, error) {
	statm, err := os.Open("/proc/self/statm")
	if err != nil {
		return nil, err
	}
	meminfo, err := os.Open("/proc/meminfo")
	if err != nil {
		return nil, errors.Join(err, statm.Close())
	}
	return &Gauge{statm: statm, meminfo: meminfo, page: int64(os.Getpagesize())}, nil
}

// RSS returns the resident memory of this process, in bytes. The kernel adds it up
// lazily: it may lag by 64 pages a thread.
func (g *Gauge) RSS() (int64, error) {
	n, err := g.statm.ReadAt(g.buf[:], 0)
	if n == 0 {
		return 0, err
	}
	pages, err := parseStatm(g.buf[:n])
	return pages * g.page, err
}

// Unwritten returns the bytes of the machine's page cache that are not on a device yet:
// dirty, or being written.
func (g *Gauge) Unwritten() (int64, error) {
	n, err := g.meminfo.ReadAt(g.buf[:], 0)
	if n == 0 {
		return 0, err
	}
	return parseUnwritten(g.buf[:n])
}

// Close closes the files.
func (g *Gauge) Close() error { return errors.Join(g.statm.Close(), g.meminfo.Close()) }

// parseStatm reads "size resident shared ..." in pages (proc(5)).
func parseStatm(statm []byte) (int64, error) {
	_, rest, _ := bytes.Cut(statm, []byte(" "))
	resident, _, found := bytes.Cut(rest, []byte(" "))
	if !found {
		return 0, fmt.Errorf("/proc/self/statm: cannot read %q", statm)
	}
	return strconv.ParseInt(string(resident), 10, 64)
}

// parseUnwritten adds the lines Dirty and Writeback.
func parseUnwritten(meminfo []byte) (int64, error) {
	var sum int64
	for _, name := range []string{"\nDirty:", "\nWriteback:"} {
		_, rest, found := bytes.Cut(meminfo, []byte(name))
		kb, _, ended := bytes.Cut(rest, []byte(" kB"))
		if !found || !ended {
			return 0, fmt.Errorf("/proc/meminfo has no line %q", name[1:])
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(kb)), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/meminfo: %s %w", name[1:], err)
		}
		sum += n << 10
	}
	return sum, nil
}

package claims

import "sync"

// A volatileDisk is a device with a write cache: a power cut loses all writes since the last
// flush.
type volatileDisk struct {
	mu      sync.Mutex
	cache   []byte
	durable []byte
	flushes int
}

func newVolatileDisk(size int) *volatileDisk {
	return &volatileDisk{cache: make([]byte, size), durable: make([]byte, size)}
}

// write reports whether p fits.
func (d *volatileDisk) write(p []byte, off int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if off < 0 || off > int64(len(d.cache)-len(p)) {
		return false
	}
	copy(d.cache[off:], p)
	return true
}

func (d *volatileDisk) read(p []byte, off int64) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if off < 0 || off >= int64(len(d.cache)) {
		return 0
	}
	return copy(p, d.cache[off:])
}

func (d *volatileDisk) flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	copy(d.durable, d.cache)
	d.flushes++
}

// cut is a power cut.
func (d *volatileDisk) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	copy(d.cache, d.durable)
}

// A fuseClient is a file system in user space with one file, fuseFile, on a volatile disk: the
// smallest model of a client of a network file system. It flushes the disk at an fsync. A
// write with O_SYNC or O_DSYNC is left to it: it keeps no page cache (FOPEN_DIRECT_IO), and
// for such files the kernel sends the flags with the write and no fsync after it.
type fuseClient struct {
	disk   *volatileDisk
	passes bool // flush the disk for a write with a flag

	mu     sync.Mutex
	fsyncs int // that the kernel sent
}

const fuseFile = "data"

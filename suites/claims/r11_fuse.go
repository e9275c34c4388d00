package claims

import "sync"

// A volatileDisk is a device with a write cache: what was written is there to
// be read, and after a power cut only if it was flushed since.
type volatileDisk struct {
	mu      sync.Mutex
	cache   []byte
	durable []byte
	flushes int
}

func newVolatileDisk(size int) *volatileDisk {
	return &volatileDisk{cache: make([]byte, size), durable: make([]byte, size)}
}

// write returns false if it goes past the end.
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

// cut is a power cut: all that was not flushed is gone.
func (d *volatileDisk) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	copy(d.cache, d.durable)
}

// A fuseClient is a file system in user space with one file, fuseFile, over a
// volatile disk: as small as a client of a network file system can be. On
// fsync it flushes the disk. Whether it does so too for a write with O_SYNC or
// O_DSYNC is up to it: it keeps no page cache (FOPEN_DIRECT_IO), and for such
// files the kernel sends the flags with the write and no fsync after it.
type fuseClient struct {
	disk   *volatileDisk
	passes bool // the flags on to the disk

	mu     sync.Mutex
	fsyncs int // that the kernel sent
}

const fuseFile = "data"

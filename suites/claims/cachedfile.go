package claims

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"time"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// withNoise calls use with a large file of noise, once prepare has brought its pages into
// a state.
func withNoise(b *lab.B, want int64, prepare, use func(f *datafile.File) error) error {
	f, err := datafile.Open(b, "noise", want, datafile.Noise())
	if err != nil {
		return err
	}
	defer f.Close() // nothing is written
	if err := prepare(f); err != nil {
		return err
	}
	return use(f)
}

// mapMetric is the time to map a large file and to fill the page table.
const mapMetric = "mapping_ns"

// warmMapping calls use with the mapping of a large file that is in the page cache, and
// reports mapMetric.
func warmMapping(b *lab.B, want int64, use func(data []byte) error) error {
	return withNoise(b, want, (*datafile.File).Warm, func(f *datafile.File) error {
		begun := time.Now()
		return f.Mapped(func(data []byte) error {
			b.Report(mapMetric, float64(time.Since(begun)))
			return use(data)
		})
	})
}

// A cachedRead reads pieces of a large file in the page cache, at random.
type cachedRead struct {
	file  int64 // bytes
	piece int64 // bytes of a read, and what offsets are multiples of
	span  int64 // the reads are in the first bytes of the file; 0: in all of it
	timed bool  // each read is timed by itself
}

// read returns a variant that reads into a buffer and, unless look is nil, looks at it.
func (c cachedRead) read(name, doc string, look func([]byte) uint64) lab.Variant {
	return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) error {
		return withNoise(b, c.file, (*datafile.File).Warm, func(f *datafile.File) error {
			buf := make([]byte, c.piece)
			return c.run(b, f.Size, func(off int64) (sum uint64, err error) {
				_, err = f.ReadAt(buf, off)
				if look != nil {
					sum = look(buf)
				}
				return sum, err
			})
		})
	}}
}

// mapped returns a variant that looks at pieces of a mapping.
func (c cachedRead) mapped(name, doc string, look func([]byte) uint64) lab.Variant {
	return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) error {
		return warmMapping(b, c.file, func(data []byte) error {
			return c.run(b, int64(len(data)), func(off int64) (uint64, error) { return look(data[off : off+c.piece]), nil })
		})
	}}
}

func (c cachedRead) run(b *lab.B, size int64, read func(off int64) (uint64, error)) error {
	if c.span > 0 {
		size = min(size, c.span)
	}
	at, clock, sum := randomOffsets(b, size, c.piece), job.NewTimer(), uint64(0)
	b.SetBytes(c.piece)
	for b.Loop() {
		var begin time.Time
		if c.timed {
			begin = time.Now()
		}
		got, err := read(at.at(b.I()))
		if err != nil {
			return err
		}
		sum += got
		if c.timed {
			clock.Since(begin)
		}
	}
	runtime.KeepAlive(sum)
	if c.timed {
		clock.Report(b, "read")
	}
	return nil
}

// offsets are random multiples of step at which step bytes can be read: so many that a
// block seldom reads one twice.
type offsets []int64

const offsetTable = 1 << 16 // a power of two

func randomOffsets(b *lab.B, size, step int64) offsets {
	t := make(offsets, offsetTable)
	for i := range t {
		t[i] = b.Rand.Int64N(size/step) * step
	}
	return t
}

func (t offsets) at(i int64) int64 { return t[i&(offsetTable-1)] }

// firstWord looks at four bytes.
func firstWord(p []byte) uint64 { return uint64(binary.LittleEndian.Uint32(p)) }

// smaller says so if a file is smaller than the published one.
func (ev *evidence) smaller(id, name string, published int64) string {
	if size := ev.metric(id, name, "file_bytes").Median; size < float64(published) {
		return fmt.Sprintf(" The file has %s, not the published %s: it takes at most a third of the memory, a quarter of the free disk and %v of writing, and with a larger file the figures may differ.",
			units.Decimal(size), units.Decimal(float64(published)), datafile.WriteTime)
	}
	return ""
}

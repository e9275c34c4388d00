package claims

import (
	"encoding/binary"
	"fmt"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/internal/datafile"
)

// warmFile hands use a large file that is in the page cache.
func warmFile(b *lab.B, want int64, use func(f *datafile.File) error) error {
	f, err := datafile.Open(b, "noise", want, datafile.Noise())
	if err != nil {
		return err
	}
	defer f.Close() // nothing is written
	if err := f.Warm(); err != nil {
		return err
	}
	return use(f)
}

// warmMapping hands use the mapping of such a file.
func warmMapping(b *lab.B, want int64, use func(data []byte) error) error {
	return warmFile(b, want, func(f *datafile.File) error { return f.Mapped(use) })
}

// offsets are random multiples of step at which step bytes can be read, as
// many as a block seldom reads twice.
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

// smaller says that a file is not of the published size.
func (ev *evidence) smaller(id, name string, published int64) string {
	if size := ev.metric(id, name, "file_bytes").Median; size < float64(published) {
		return fmt.Sprintf(" The file has %s, not the published %s: it is as large as a third of the memory, a quarter of the free disk and %v of writing allow, and of a larger one the figures may differ.",
			units.Decimal(size), units.Decimal(float64(published)), datafile.WriteTime)
	}
	return ""
}

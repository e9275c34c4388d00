package newfile

import (
	"errors"
	"os"

	"github.com/stele-go/stele/internal/sys"
)

// A MemoryFile is a file in memory. It is used as any other, and may be passed to
// another process. It is lost when its last descriptor is closed
// (durability.None). The zero MemoryFile is not open: its methods fail with
// fs.ErrInvalid.
type MemoryFile struct {
	*os.File
	temp string // name to be removed by Close
}

// Memory creates an empty file in memory (memfd_create(2)) and opens it for
// reading and writing. The name is for errors and /proc only, and need not be
// unique. Off Linux it is a file in os.TempDir.
func Memory(name string) (*MemoryFile, error) {
	f, err := sys.NewMemory(name)
	if err == nil {
		return &MemoryFile{File: f}, nil
	}
	if !errors.Is(err, errors.ErrUnsupported) {
		return nil, fail("memfd_create", name, err)
	}
	f, err = os.CreateTemp("", "stele-memory-*")
	if err != nil {
		return nil, limited(err)
	}
	m := &MemoryFile{File: f}
	if os.Remove(f.Name()) != nil { // Windows: not while it is open
		m.temp = f.Name()
	}
	return m, nil
}

// Seal makes the file immutable, for good and for every process that has it: it
// can be read and mapped, but not written, grown or shrunk (EPERM). Seal fails
// with EBUSY while the file is mapped for writing, and with
// errors.ErrUnsupported off Linux.
func (m *MemoryFile) Seal() error {
	if m.File == nil {
		return fail("seal", "", errNotOpen)
	}
	if err := sys.Seal(m.File); err != nil {
		return fail("seal", m.File.Name(), err)
	}
	return nil
}

// Close closes the file.
func (m *MemoryFile) Close() error {
	if m.File == nil {
		return fail("close", "", errNotOpen)
	}
	err := m.File.Close()
	if m.temp != "" {
		err = errors.Join(err, os.Remove(m.temp))
		m.temp = ""
	}
	return err
}

// Name returns the name given to Memory.
func (m *MemoryFile) Name() string {
	if m.File == nil {
		return ""
	}
	return m.File.Name()
}

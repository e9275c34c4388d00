package catalog

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/profile"
)

// A source is the file of a segment. Blocks are read by system calls, so that they
// do not count as memory of the process. Of a filter a search needs only a few bytes,
// so filters are viewed in a mapping, which is made for the first of them.
type source struct {
	*fileio.Reader
	profile *profile.Profile

	mu     sync.Mutex // for the making of mapped
	mapped atomic.Pointer[fileio.Reader]
}

func openSource(path string, p *profile.Profile) (*source, error) {
	r, err := fileio.Open(path, fileio.Options{Way: fileio.Buffered, Profile: p})
	if err != nil {
		return nil, Irregular(path, err)
	}
	return &source{Reader: r, profile: p}, nil
}

// Irregular returns an error of opening a segment that says what to do, if it is no
// regular file.
func Irregular(path string, err error) error {
	fi, bad := os.Stat(path)
	if bad != nil || fi.Mode().IsRegular() {
		return err
	}
	return fmt.Errorf("%w; it is %s under the name of a segment: move it away, and bring the segment back if there is a copy", err, sys.KindOf(fi.Mode().Type()))
}

// View is how package segment reads filters.
func (s *source) View(off int64, n int, f func([]byte) error) error {
	r := s.mapped.Load()
	if r == nil {
		r = s.mapFile()
	}
	return r.View(off, n, f)
}

// mapFile returns the mapping. If the file cannot be mapped (too many mappings,
// no address space) it returns the other reader, whose View copies.
func (s *source) mapFile() *fileio.Reader {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.mapped.Load(); r != nil {
		return r
	}
	r, err := fileio.Open(s.Name(), fileio.Options{Way: fileio.Mapped, Pattern: fileio.Random, Profile: s.profile})
	if err != nil {
		r = s.Reader
	}
	s.mapped.Store(r)
	return r
}

func (s *source) Close() error {
	if r := s.mapped.Load(); r != nil && r != s.Reader {
		r.Close() // nothing was written
	}
	return s.Reader.Close()
}

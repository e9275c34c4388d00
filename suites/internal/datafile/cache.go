package datafile

import (
	"errors"
	"io"
	"os"
	"time"

	"github.com/stele-go/stele/internal/measure/pagecache"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/suites/job"
)

// The states of a file's pages when the timer starts.
const (
	Warm = "warm" // all of them in the page cache
	Cold = "cold" // none of them
	// Direct: the page cache holds no page of the file, before or after. Reads and writes
	// bypass it.
	Direct = "direct"
)

// StateText returns a clause about the state of a file: "which is in the page cache".
func StateText(state string) string {
	return map[string]string{
		Warm:   "which is in the page cache",
		Cold:   "which is not in the page cache at the start",
		Direct: "past the page cache",
	}[state]
}

// Warm brings the whole file into the page cache and checks that it is there. If this
// process may lock so much memory, it stays there until Close.
func (f *File) Warm() error {
	if err := f.read(); err != nil || f.release != nil {
		return err
	}
	release, err := pagecache.Lock(f.File, int(f.Size))
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	f.release = release
	return err
}

// warmTries is how often read reads a file: the kernel may drop pages of it for another
// program meanwhile.
const warmTries = 5

// read brings the whole file into the page cache, from which the kernel may drop it.
func (f *File) read() error {
	cached, err := pagecache.Cached(f.File)
	for range warmTries {
		if err == nil && cached >= f.Size {
			return nil
		}
		if _, err := io.Copy(struct{ io.Writer }{io.Discard}, io.NewSectionReader(f, 0, f.Size)); err != nil {
			return err
		}
		cached, err = pagecache.Cached(f.File)
		if errors.Is(err, errors.ErrUnsupported) {
			return nil // an old kernel does not tell, and what was read just now is there
		}
	}
	if err == nil && cached < f.Size {
		err = job.Unsupported("no file of %s can be warm here: %s of it stay in the page cache", units.Decimal(float64(f.Size)), units.Decimal(float64(cached)))
	}
	return err
}

// Chill drops the whole file from the page cache and checks that it is gone.
func (f *File) Chill() error {
	if err := f.letGo(); err != nil {
		return err
	}
	return dropPages(f.File)
}

// Chill drops a file that is written back from the page cache and checks that it is
// gone. Its inode and the map of its extents stay in memory.
func Chill(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() // nothing is written
	return dropPages(f)
}

// dropPages drops the pages of f from the page cache and checks that they are gone. A
// page that another processor has just put on a list of its own stays for a moment
// (mm/fadvise.c), so dropPages tries again.
func dropPages(f *os.File) error {
	var left int64
	for try := range 10 {
		if try > 0 {
			time.Sleep(5 * time.Millisecond)
		}
		if err := pagecache.Drop(f); err != nil {
			return err
		}
		var err error
		if left, err = pagecache.Resident(f); err != nil {
			return err
		}
		if left == 0 {
			return nil
		}
	}
	if info, err := sys.StatFS(f.Name()); err == nil && sys.FSName(info.Magic) == "tmpfs" {
		return job.Unsupported("tmpfs keeps its files in the page cache, so nothing can be cold or past it")
	}
	return job.Unsupported("no file can be cold here: %d bytes of one stay in the page cache", left)
}

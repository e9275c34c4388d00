package headers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/suites/internal/datafile"
)

// A fileSet has the files that a block inserts into, one an operation, so that no
// operation finds a file that another has made longer.
type fileSet struct {
	names   []string
	size    int64 // of each, as it was made
	content byte  // each byte of it
	buf     []byte
}

// makeFiles makes n files of size bytes in dir, prepared for headers of reserved bytes
// in all. They are written back when it returns: else a sync in the timed part would
// pay for it. All pages are then in the page cache, or none if cold is set.
func makeFiles(dir string, n, size, reserved int64, prepare func(string, int64) error, cold bool) (*fileSet, error) {
	files := &fileSet{size: size, content: 'x', buf: make([]byte, 1<<20)}
	for i := range n {
		name := filepath.Join(dir, "f"+strconv.FormatInt(i, 10))
		if err := files.write(name); err != nil {
			return nil, err
		}
		if prepare != nil {
			if err := prepare(name, reserved); err != nil {
				return nil, err
			}
		}
		files.names = append(files.names, name)
	}
	if err := fileop.Syncfs(dir); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, err
	}
	for _, name := range files.names {
		if cold {
			if err := datafile.Chill(name); err != nil {
				return nil, err
			}
			continue
		}
		if err := files.read(name, nil); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func (h *fileSet) write(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	chunk := h.buf
	for i := range chunk {
		chunk[i] = h.content
	}
	for left := h.size; left > 0 && err == nil; left -= int64(len(chunk)) {
		_, err = f.Write(chunk[:min(left, int64(len(chunk)))])
	}
	return errors.Join(err, f.Close())
}

// read reads the whole file and checks that it begins with head and still has its
// content.
func (h *fileSet) read(name string, head []byte) (err error) {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() // nothing is written
	var total int64
	var last byte
	for {
		n, err := f.Read(h.buf)
		if total == 0 && !bytes.HasPrefix(h.buf[:n], head) {
			return fmt.Errorf("%s does not begin with the header that was inserted", filepath.Base(name))
		}
		if n > 0 {
			last = h.buf[n-1]
		}
		total += int64(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if least := h.size + int64(len(head)); total < least || h.size > 0 && last != h.content {
		return fmt.Errorf("%s has %d bytes, ending in %q: want %d at least, and the old content at the end", filepath.Base(name), total, last, least)
	}
	return nil
}

// readAll reads every file and returns how long one took on average.
func (h *fileSet) readAll(head []byte) (perFile time.Duration, err error) {
	start := time.Now()
	for _, name := range h.names {
		if err := h.read(name, head); err != nil {
			return 0, err
		}
	}
	return time.Since(start) / time.Duration(len(h.names)), nil
}

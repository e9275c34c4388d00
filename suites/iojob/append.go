package iojob

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/internal/datafile"
)

// An appendFile is the file of a thread that appends: empty at first, and emptied before it
// has more than size bytes.
type appendFile struct {
	file     *os.File
	on       target
	at, size int64
}

func (a *appendFile) ReadAt([]byte, int64) (int, error) { return 0, errors.ErrUnsupported }

// WriteAt appends p, wherever off is.
func (a *appendFile) WriteAt(p []byte, off int64) (int, error) {
	if a.at+int64(len(p)) > a.size {
		if err := a.file.Truncate(0); err != nil {
			return 0, err
		}
		a.at = 0
	}
	n, err := a.on.WriteAt(p, a.at)
	a.at += int64(n)
	return n, err
}

func (a *appendFile) Sync() error { return a.on.Sync() }

// runAppends runs a job that appends: each thread to a file of its own in the directory of
// the block, whose names are durable before the first write.
func runAppends(b *lab.B, j *Job) (err error) {
	flags, err := j.openFlags()
	if err != nil {
		return err
	}
	var files []target
	for i := range j.Threads {
		var f *os.File
		f, err = os.OpenFile(filepath.Join(b.Dir, fmt.Sprintf("grows-%d", i)), flags|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return j.openError(err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		files = append(files, &appendFile{file: f, on: targetOf(j, f), size: j.Size})
	}
	if err := datafile.SyncDir(b.Dir); err != nil {
		return err
	}
	return runThreads(b, j, files...)
}

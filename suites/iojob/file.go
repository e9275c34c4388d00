package iojob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// fileName returns the name of the file of that size, in the directory of Layout.
func fileName(size int64) string { return fmt.Sprintf("data-%d", size) }

// layoutSizes returns the sizes of the files that jobs work on, each once. Jobs that append
// make their own.
func layoutSizes(jobs []Job) (sizes []int64) {
	seen := map[int64]bool{}
	for _, j := range jobs {
		if j.Grow {
			continue
		}
		if !seen[j.Size] {
			sizes = append(sizes, j.Size)
		}
		seen[j.Size] = true
	}
	return sizes
}

// Layout writes the files of jobs into dir and syncs them: bytes that do not compress.
// progress is called with the bytes written of all. After an error, and once ctx is
// done, the files are incomplete.
func Layout(ctx context.Context, dir string, jobs []Job, progress func(done, of int64)) error {
	var of, done int64
	sizes := layoutSizes(jobs)
	for _, n := range sizes {
		of += n
	}
	most := of // on the disk at a time: blocks run one after the other
	for _, j := range jobs {
		if j.Grow {
			most = max(most, of+j.Size*int64(j.Threads))
		}
	}
	if info, err := sys.StatFS(dir); err == nil && info.Free < most {
		return fmt.Errorf("iojob: lay out %s in %s: %s are free; want a smaller size", units.Decimal(float64(most)), dir, units.Decimal(float64(info.Free)))
	}
	fill := datafile.Noise()
	for _, size := range sizes {
		err := layout(ctx, filepath.Join(dir, fileName(size)), size, fill, func(n int64) {
			done += n
			progress(done, of)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func layout(ctx context.Context, path string, size int64, fill func([]byte), wrote func(n int64)) error {
	const syncEvery = 64 << 20 // so that progress is that of the disk
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	chunk := make([]byte, datafile.MiB)
	for at := int64(0); at < size && err == nil; {
		p := chunk[:min(size-at, int64(len(chunk)))]
		fill(p)
		if _, err = f.Write(p); err == nil {
			at += int64(len(p))
			wrote(int64(len(p)))
			if at%syncEvery == 0 {
				err = f.Sync()
			}
			err = errors.Join(err, context.Cause(ctx))
		}
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// SizeOf returns the bytes of an existing file or block device.
func SizeOf(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil && size == 0 {
		err = fmt.Errorf("iojob: %s is empty; want a file with content, or a block device", path)
	}
	return size, err
}

// openFlags returns the flags to open the file of the job with.
func (j *Job) openFlags() (flags int, err error) {
	flags = os.O_RDONLY
	if j.writes() {
		flags = os.O_RDWR
	}
	switch j.sync() {
	case syncOpen:
		flags |= os.O_SYNC
	case syncOpData:
		if fileop.DataSync == 0 {
			return 0, job.Unsupported("no O_DSYNC here")
		}
		flags |= fileop.DataSync
	}
	if j.Direct {
		if fileop.DirectFlag == 0 {
			return 0, job.Unsupported("no O_DIRECT here")
		}
		flags |= fileop.DirectFlag
	}
	return flags, nil
}

// openError is the error of opening the file of the job: one of a file system without
// O_DIRECT says that the job cannot be done there.
func (j *Job) openError(err error) error {
	if j.Direct && sys.Absent(err) {
		return job.Unsupported("no O_DIRECT here: %v", errors.Unwrap(err))
	}
	return err
}

// openFile opens the file of a job and brings it into the state that the job asks for.
// settle must be called at the end.
func openFile(j *Job, path string) (f *os.File, settle func() error, err error) {
	flags, err := j.openFlags()
	if err != nil {
		return nil, nil, err
	}
	plain, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	state := &datafile.File{File: plain, Size: j.Size}
	if j.cache() == datafile.Warm {
		err = state.Warm()
	} else {
		err = state.Chill()
	}
	if err == nil {
		if f, err = os.OpenFile(path, flags, 0); err != nil {
			err = j.openError(err)
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, state.Close())
	}
	return f, func() error { return errors.Join(f.Close(), state.Close()) }, nil
}

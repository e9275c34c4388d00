package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/newfile"
	"github.com/stele-go/stele/suites/job"
)

// leftOverPrefix begins the names of left-overs, and of nothing else.
const leftOverPrefix = "left-over-"

// restoredLeftOvers returns a directory with as many empty files as the parameter left says,
// and a function that removes everything else from it.
func restoredLeftOvers(b *lab.B) (dir string, restore func() error, err error) {
	n, err := job.Int(b, "left", 1, 100_000_000)
	if err != nil {
		return "", nil, err
	}
	dir, err = leftOvers(b, n)
	return dir, func() error { return removeAllBut(dir, leftOverPrefix) }, err
}

// LeftOvers is restoredLeftOvers without the function: the block removes what it adds, which is
// faster than to read the whole directory.
func LeftOvers(b *lab.B) (dir string, err error) {
	n, err := job.Int(b, "left", 1, 100_000_000)
	if err != nil {
		return "", err
	}
	return leftOvers(b, n)
}

// leftOvers returns a directory with n empty files. Blocks share it, since making
// millions of files takes half a minute or more: a block must remove what it adds.
func leftOvers(b *lab.B, n int) (dir string, err error) {
	return b.Shared(leftOverPrefix+strconv.Itoa(n), func(dir string) error {
		if err := roomFor(dir, int64(n)); err != nil {
			return err
		}
		d, err := newfile.OpenDir(dir, newfile.Options{Level: durability.Kill})
		if err != nil {
			return err
		}
		for i := 0; i < n && err == nil; i++ {
			if i%1000 == 0 && b.Context().Err() != nil {
				err = b.Context().Err()
				break
			}
			err = d.Touch(leftOverPrefix+strconv.Itoa(i), 0o600)
		}
		return errors.Join(err, d.Close())
	})
}

// roomFor fails at once if making so many files would fail after half a minute.
func roomFor(dir string, files int64) error {
	info, err := sys.StatFS(dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
	// What blocks make comes on top.
	if want := files + PerBlock; info.Inodes > 0 && info.FreeInodes < want {
		return job.Unsupported("%d files need as many inodes, and %d are free; an image of ext4 has one for every 4 KiB (--image-size 12G)",
			want, info.FreeInodes)
	}
	return nil
}

// removeAllBut removes all files of a directory but those whose names begin with
// prefix. It reads the directory piece by piece, because it may be large.
func removeAllBut(dir, prefix string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	var extra []string
	for {
		names, err := f.Readdirnames(4096)
		for _, name := range names {
			if !strings.HasPrefix(name, prefix) {
				extra = append(extra, name)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	// Not while reading: readdir(3) does not say which entries of a changing directory it
	// returns.
	for _, name := range extra {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

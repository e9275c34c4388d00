// Package scratch makes directories to measure and test in, and removes them even
// when their maker was killed: a private directory on an existing disk (Dir), or a
// file system of its own on a loop device (Image). It is what xfstests calls
// SCRATCH_MNT and SCRATCH_DEV.
//
// A scratch directory has a name of a fixed form:
//
//	stele-bench-0123456789abcdef/   mode 0700
//	    owner     the process that made it; locked while that process lives
//	    work/     the directory to measure in (Dir)
//	    image     the sparse file under the loop device (Image, not tmpfs)
//	    mnt/      the mount point; mnt/work is the directory to measure in (Image)
//	    blkio/    the mounted controller that limits the device (Image with a Limit, cgroup v1)
//	    cgroup    names the group that limits the device (Image with a Limit, cgroup v2)
//
// A killed process leaves its scratch directories behind. The kernel drops its
// lock on owner, by which Sweep recognises them later.
//
// # Mistakes to avoid
//
//   - Leaving out Close: an image stays mounted after the process has exited, until
//     a later Sweep.
//   - Taking an Image for the disk below it. Its file system is real and its device
//     is a file: every write goes through two file systems. Compare variants on it,
//     and take absolute times from Dir.
//   - A Store in memory. /tmp is a tmpfs on many machines; an image there measures
//     memory.
//   - Sweep during a measurement of the same program. It spares the directories of
//     living processes, but it reads directories and unmounts: call it before the
//     first scratch directory is made.
package scratch

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"

	"github.com/stele-go/stele/internal/sys"
)

// Names in the layout above.
const (
	prefix    = "stele-bench-"
	ownerName = "owner"
	workName  = "work"
	imageName = "image"
	mountName = "mnt"
)

var nameForm = regexp.MustCompile(`^` + prefix + `[0-9a-f]{16}$`)

// A Directory is an empty directory to measure in, and everything it stands on.
type Directory struct {
	// Path is the directory to measure in: empty at first, absolute, free of symlinks.
	Path string
	// Name is the directory given to Dir, or the file system of an Image.
	Name string

	root  string   // the stele-bench- directory
	owner *os.File // open and locked until Close

	mu     sync.Mutex
	closed bool
}

// Dir makes a scratch directory in parent, which must exist.
func Dir(parent string) (*Directory, error) {
	p, err := claim(parent, "directory")
	if err != nil {
		return nil, err
	}
	p.Name = parent
	p.Path = filepath.Join(p.root, workName)
	if err := os.Mkdir(p.Path, 0o700); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Close unmounts the file system, detaches its loop device and removes the directory.
// After an error it can be called again; after success it does nothing.
func (p *Directory) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	if runtime.GOOS == "windows" { // removes no open file, and had no lock
		p.owner.Close()
	}
	if err := demolish(p.root); err != nil {
		return err
	}
	p.closed = true
	p.owner.Close() // synced when it was written
	return nil
}

// Leave releases the lock and keeps the files: for a directory on a file system that
// is about to be thrown away, where removing millions of files first only takes
// time. Close does nothing afterwards.
func (p *Directory) Leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closed = true
		p.owner.Close() // synced when it was written
	}
}

// claim makes the directory in parent and the locked owner file in it. kind is
// "directory" or the file system of an image.
func claim(parent, kind string) (*Directory, error) {
	abs, err := filepath.Abs(parent)
	if err != nil {
		return nil, err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return nil, fmt.Errorf("scratch: make a directory in %s: %w", parent, err)
	}
	for range 8 {
		var random [8]byte
		rand.Read(random[:])
		root := filepath.Join(abs, prefix+hex.EncodeToString(random[:]))
		if err := os.Mkdir(root, 0o700); errors.Is(err, fs.ErrExist) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("scratch: make a directory in %s: %w", parent, err)
		}
		f, err := takeOwnership(root, kind)
		if errors.Is(err, errSwept) {
			continue
		}
		if err != nil {
			return nil, errors.Join(err, demolish(root))
		}
		return &Directory{root: root, owner: f}, nil
	}
	return nil, fmt.Errorf("scratch: make a directory in %s: removed by others right after it was made, 8 times", abs)
}

// errSwept reports that a concurrent Sweep removed a directory just made.
var errSwept = errors.New("swept")

// takeOwnership writes the owner file and locks it. Until it is locked, a
// Sweep may lock it first or remove the directory, which is empty or holds an empty
// owner file. So its maker looks again afterwards.
func takeOwnership(root, kind string) (*os.File, error) {
	path := filepath.Join(root, ownerName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errSwept
	}
	if err != nil {
		return nil, err
	}
	locked, err := sys.TryLock(f)
	if err == nil && !locked {
		f.Close()
		return nil, errSwept
	}
	// An error means that there are no locks here. Sweep then relies on the
	// process recorded in the owner file.
	if !sameFile(f, path) {
		f.Close()
		return nil, errSwept
	}
	if err := writeOwner(f, newOwner(kind, locked)); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func sameFile(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Lstat(path)
	return err == nil && os.SameFile(a, b)
}

// Package place makes folders to measure in, and removes them whatever
// happens: a private folder on a disk that is there, or a file system of its
// own on a loop device.
//
// A place is one folder with a name of a fixed form:
//
//	stele-bench-0123456789abcdef/   mode 0700
//	    owner     who made it; locked as long as its maker lives
//	    work/     the folder to measure in (Dir)
//	    image     the sparse file under the loop device (Image, not tmpfs)
//	    mnt/      the mount point; mnt/work is the folder to measure in (Image)
//	    blkio/    where the controller is mounted that limits the device (Image with a Limit)
//
// A maker that is killed leaves its places behind. The kernel drops its lock
// on owner, by which Sweep knows them later.
//
// # Mistakes to avoid
//
//   - Leaving out Close: an image stays mounted after the process has ended. Sweep
//     removes it then, but somebody has to call it.
//   - Taking an Image for the disk below it. Its file system is real and its device
//     is a file: every write goes through two file systems. Compare variants on it,
//     and take absolute times from Dir.
//   - A Store in memory. /tmp is a tmpfs on many machines; an image there measures
//     memory.
//   - Sweep in the middle of a program's own measurement. It spares what a living
//     process holds, but is for the moment before the first place is made.
package place

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

// A Place is a folder to measure in.
type Place struct {
	// Path is the folder, empty at first, absolute and free of symlinks.
	Path string
	// Name is what was asked for: a directory as given to Dir, or the file
	// system of an Image.
	Name string

	root  string   // the stele-bench- folder
	owner *os.File // open and locked until Close

	mu     sync.Mutex
	closed bool
}

// Dir makes a place in the directory parent, which must be there.
func Dir(parent string) (*Place, error) {
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

// Close unmounts, detaches and removes all that the place is made of. After
// an error it may be called again; after success it does nothing.
func (p *Place) Close() error {
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
	p.owner.Close() // what was written to it was synced long ago
	return nil
}

// Leave lets go of the place and leaves all that is in it where it is: for a
// folder on a file system that is thrown away whole, where removing millions
// of files first would only take time. Close does nothing afterwards.
func (p *Place) Leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closed = true
		p.owner.Close() // what was written to it was synced long ago
	}
}

// claim makes the private folder in parent and the locked owner file in it.
func claim(parent, kind string) (*Place, error) {
	abs, err := filepath.Abs(parent)
	if err != nil {
		return nil, err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return nil, fmt.Errorf("no folder to measure in: %w", err)
	}
	for range 8 {
		var random [8]byte
		rand.Read(random[:])
		root := filepath.Join(abs, prefix+hex.EncodeToString(random[:]))
		if err := os.Mkdir(root, 0o700); errors.Is(err, fs.ErrExist) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("no folder to measure in: %w", err)
		}
		f, err := takeOwnership(root, kind)
		if errors.Is(err, errSwept) {
			continue
		}
		if err != nil {
			return nil, errors.Join(err, demolish(root))
		}
		return &Place{root: root, owner: f}, nil
	}
	return nil, fmt.Errorf("no folder to measure in: every name tried in %s was taken away", abs)
}

// errSwept says that a Sweep took the young folder for an abandoned one.
var errSwept = errors.New("swept")

// takeOwnership writes the owner file and locks it. Until it is locked a
// Sweep may lock it first, or remove the folder, which is then empty or
// holds an empty owner file: so whoever made it looks again afterwards.
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
	// An error means that this file system or system has no locks. Then
	// Sweep goes by the process that is written down.
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

package states

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/stele-go/stele/crashtest/states/internal/tree"
)

// An FS is a file system in memory, for a program that takes its file system
// as an interface: the interface declares the methods that the program uses, and
// tests give it an FS. Names are those of io/fs: relative to the root, with
// slashes. Errors are *fs.PathError or *os.LinkError with the errno that Linux
// returns. Methods may be called by many goroutines at once.
//
// A crash loses whatever was not made durable by File.Sync, File.Datasync,
// SyncDir, SyncFS, or a flag of OpenFile. An FS checks no permissions and follows
// no symlinks. A file has at most 1 GiB.
type FS struct {
	tree *tree.Tree
}

// NewFS returns an empty file system.
func NewFS() *FS { return &FS{tree: tree.New()} }

// A File is an open file or directory of an FS.
type File struct {
	fs   *FS
	name string
	id   uint64
	flag int

	// Guarded by the lock of the tree.
	off    int64
	closed bool
	rest   []fs.DirEntry // of ReadDir
	listed bool
}

func pathError(call, name string, err error) error {
	if err == nil {
		return nil
	}
	if err == syscall.EEXIST {
		err = existsError{} // elsewhere than on Unix the errno is not fs.ErrExist
	}
	return &fs.PathError{Op: call, Path: name, Err: err}
}

// An existsError is EEXIST that is fs.ErrExist on every system.
type existsError struct{}

func (existsError) Error() string        { return syscall.EEXIST.Error() }
func (existsError) Is(target error) bool { return target == fs.ErrExist || target == syscall.EEXIST }

// node returns the inode of a name. The lock of the tree must be held.
func (f *FS) node(name string) (*tree.Node, error) {
	if !fs.ValidPath(name) {
		return nil, fs.ErrInvalid
	}
	n := f.tree.Nodes[tree.Root]
	if name == "." {
		return n, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		next, err := f.tree.Lookup(n.ID, part)
		if err != nil {
			return nil, err
		}
		n = next
	}
	return n, nil
}

// parent returns the directory of a name, and the last part of the name.
func (f *FS) parent(name string) (dir uint64, last string, err error) {
	if name == "." {
		return 0, "", fs.ErrInvalid
	}
	d, err := f.node(path.Dir(name))
	if err != nil {
		return 0, "", err
	}
	if !fs.ValidPath(name) {
		return 0, "", fs.ErrInvalid
	}
	if _, err := f.tree.Directory(d.ID); err != nil {
		return 0, "", err
	}
	return d.ID, path.Base(name), nil
}

// Open opens a file or directory for reading, as fs.FS has it. It returns a
// *File.
func (f *FS) Open(name string) (fs.File, error) {
	file, err := f.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	return file, nil
}

// Create makes a file or empties the one that is there, as os.Create does.
func (f *FS) Create(name string) (*File, error) {
	return f.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

// OpenFile is os.OpenFile, with the flags of package os and, on Linux,
// syscall.O_DSYNC. The name of a file that it creates survives a crash once
// SyncDir was called for its directory.
func (f *FS) OpenFile(name string, flag int, perm fs.FileMode) (*File, error) {
	f.tree.Mu.Lock()
	defer f.tree.Mu.Unlock()
	id, err := f.open(name, flag, perm)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return &File{fs: f, name: name, id: id, flag: flag}, nil
}

func (f *FS) open(name string, flag int, perm fs.FileMode) (uint64, error) {
	n, err := f.node(name)
	if err == syscall.ENOENT && flag&os.O_CREATE != 0 {
		dir, last, err := f.parent(name)
		if err != nil {
			return 0, err
		}
		n, err := f.tree.Create(dir, last, tree.TypeFile|uint32(perm.Perm()), 0, 0, "")
		if err != nil {
			return 0, err
		}
		return n.ID, nil
	}
	writes := flag&(os.O_WRONLY|os.O_RDWR|os.O_TRUNC) != 0
	switch {
	case err != nil:
		return 0, err
	case flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL:
		return 0, syscall.EEXIST
	case n.Is(tree.TypeLink):
		return 0, syscall.ELOOP
	case n.Is(tree.TypeDir) && writes:
		return 0, syscall.EISDIR
	}
	if err := f.tree.Open(n.ID); err != nil {
		return 0, err
	}
	if flag&os.O_TRUNC != 0 {
		return n.ID, f.tree.Truncate(n.ID, 0)
	}
	return n.ID, nil
}

// Mkdir is os.Mkdir.
func (f *FS) Mkdir(name string, perm fs.FileMode) error {
	f.tree.Mu.Lock()
	defer f.tree.Mu.Unlock()
	return pathError("mkdir", name, f.mkdir(name, perm))
}

func (f *FS) mkdir(name string, perm fs.FileMode) error {
	if name == "." {
		return syscall.EEXIST
	}
	dir, last, err := f.parent(name)
	if err != nil {
		return err
	}
	_, err = f.tree.Create(dir, last, tree.TypeDir|uint32(perm.Perm()), 0, 0, "")
	return err
}

// MkdirAll is os.MkdirAll.
func (f *FS) MkdirAll(name string, perm fs.FileMode) error {
	f.tree.Mu.Lock()
	defer f.tree.Mu.Unlock()
	if !fs.ValidPath(name) {
		return pathError("mkdir", name, fs.ErrInvalid)
	}
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '/' {
			continue
		}
		if n, err := f.node(name[:i]); err == nil && !n.Is(tree.TypeDir) {
			return pathError("mkdir", name[:i], syscall.ENOTDIR)
		} else if err == nil {
			continue
		}
		if err := f.mkdir(name[:i], perm); err != nil {
			return pathError("mkdir", name[:i], err)
		}
	}
	return nil
}

// Rename is os.Rename, which never replaces a directory. A crash may bring the
// old names back until both directories are synced.
func (f *FS) Rename(oldname, newname string) error {
	return f.two("rename", oldname, newname, func(dir uint64, name string, dir2 uint64, name2 string) error {
		if old, err := f.tree.Lookup(dir2, name2); err == nil && old.Is(tree.TypeDir) {
			if _, err := f.tree.Lookup(dir, name); err != nil {
				return err
			}
			return syscall.EEXIST
		}
		return f.tree.Rename(dir, name, dir2, name2, false, false)
	})
}

// Link is os.Link.
func (f *FS) Link(oldname, newname string) error {
	return f.two("link", oldname, newname, func(dir uint64, name string, dir2 uint64, name2 string) error {
		n, err := f.tree.Lookup(dir, name)
		if err == nil {
			_, err = f.tree.Link(n.ID, dir2, name2)
		}
		return err
	})
}

// two calls do with two names. Its error is an *os.LinkError.
func (f *FS) two(call, oldname, newname string, do func(dir uint64, name string, dir2 uint64, name2 string) error) error {
	f.tree.Mu.Lock()
	defer f.tree.Mu.Unlock()
	// In the order of the kernel: linkat(2) looks up the old name first,
	// renameat(2) both directories.
	dir, name, err := f.parent(oldname)
	if err == nil && call == "link" {
		_, err = f.tree.Lookup(dir, name)
	}
	if err == nil {
		var dir2 uint64
		var name2 string
		if dir2, name2, err = f.parent(newname); err == nil {
			err = do(dir, name, dir2, name2)
		}
	}
	if err != nil {
		if err == syscall.EEXIST {
			err = existsError{}
		}
		return &os.LinkError{Op: call, Old: oldname, New: newname, Err: err}
	}
	return nil
}

// Remove is os.Remove.
func (f *FS) Remove(name string) error {
	f.tree.Mu.Lock()
	defer f.tree.Mu.Unlock()
	n, err := f.node(name)
	if err == nil {
		var dir uint64
		var last string
		if dir, last, err = f.parent(name); err == nil {
			err = f.tree.Remove(dir, last, n.Is(tree.TypeDir))
		}
	}
	return pathError("remove", name, err)
}

// on calls do with the inode of a name, holding the lock of the tree.
func (f *FS) on(call, name string, do func(n *tree.Node) error) error {
	f.tree.Mu.Lock()
	defer f.tree.Mu.Unlock()
	n, err := f.node(name)
	if err == nil {
		err = do(n)
	}
	return pathError(call, name, err)
}

// Truncate is os.Truncate.
func (f *FS) Truncate(name string, size int64) error {
	return f.on("truncate", name, func(n *tree.Node) error { return f.tree.Truncate(n.ID, size) })
}

// Chmod is os.Chmod, for the nine permission bits.
func (f *FS) Chmod(name string, mode fs.FileMode) error {
	perm := uint32(mode.Perm())
	return f.on("chmod", name, func(n *tree.Node) error { return f.tree.SetAttr(n.ID, tree.Attrs{Mode: &perm}) })
}

// SyncDir makes the names in a directory durable: those created in it, linked
// or renamed into it or out of it, and removed. It covers neither the content of
// the files nor the name of the directory itself.
func (f *FS) SyncDir(name string) error {
	return f.on("syncdir", name, func(n *tree.Node) error {
		if !n.Is(tree.TypeDir) {
			return syscall.ENOTDIR
		}
		return f.tree.Sync(n.ID, false)
	})
}

// SyncFS makes everything durable, as syncfs(2) does.
func (f *FS) SyncFS() error {
	f.tree.Mu.Lock()
	defer f.tree.Mu.Unlock()
	return pathError("syncfs", ".", f.tree.SyncFS())
}

// Stat is os.Stat.
func (f *FS) Stat(name string) (fi fs.FileInfo, err error) {
	err = f.on("stat", name, func(n *tree.Node) error {
		fi = infoOf(n, path.Base(name))
		return nil
	})
	return fi, err
}

// ReadDir returns the entries of a directory, sorted by name.
func (f *FS) ReadDir(name string) (entries []fs.DirEntry, err error) {
	err = f.on("readdir", name, func(n *tree.Node) error {
		entries, err = f.entries(n.ID)
		return err
	})
	return entries, err
}

func (f *FS) entries(dir uint64) ([]fs.DirEntry, error) {
	names, err := f.tree.List(dir)
	if err != nil {
		return nil, err
	}
	entries := make([]fs.DirEntry, len(names))
	for i, name := range names {
		n, err := f.tree.Lookup(dir, name)
		if err != nil {
			return nil, err
		}
		entries[i] = fs.FileInfoToDirEntry(infoOf(n, name))
	}
	return entries, nil
}

// ReadFile is os.ReadFile.
func (f *FS) ReadFile(name string) (b []byte, err error) {
	err = f.on("read", name, func(n *tree.Node) error {
		if n.Is(tree.TypeDir) {
			return syscall.EISDIR
		}
		if err := f.tree.Open(n.ID); err != nil {
			return err
		}
		b = make([]byte, len(n.Data))
		_, err := f.tree.Read(n.ID, b, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// WriteFile is os.WriteFile. It syncs nothing.
func (f *FS) WriteFile(name string, data []byte, perm fs.FileMode) error {
	file, err := f.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// An info is the fs.FileInfo of an inode under one of its names.
type info struct {
	name  string
	mode  fs.FileMode
	size  int64
	mtime time.Time
}

func infoOf(n *tree.Node, name string) fs.FileInfo {
	i := info{name: name, mode: fs.FileMode(n.Mode & 0o777), size: n.Size(), mtime: n.Mtime}
	switch n.Mode & tree.TypeMask {
	case tree.TypeDir:
		i.mode |= fs.ModeDir
	case tree.TypeLink:
		i.mode |= fs.ModeSymlink
	case tree.TypeFile:
	default:
		i.mode |= fs.ModeIrregular
	}
	return i
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return i.mtime }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }

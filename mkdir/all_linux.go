package mkdir

import (
	"io/fs"
	"os"
	"syscall"

	"github.com/stele-go/stele/internal/sys"
)

// All creates the directory path and its missing parents, as os.MkdirAll does,
// with the same results and the same errors. The directories survive kill -9, not
// a power cut (durability.Kill); a crash during All leaves the path up to some
// level (durability.Prefix).
//
// An existing path costs one system call and no allocation.
func All(path string, perm fs.FileMode) error {
	cwd := sys.CurrentDir()
	if fi, err := cwd.Stat(path); err == nil {
		if fi.IsDir {
			return nil
		}
	} else if err == syscall.ENOENT && climbBack(cwd, path, perm) {
		return nil
	}
	// os.MkdirAll returns its own error.
	return os.MkdirAll(path, perm)
}

// climbBack goes up from path to the first directory that exists or can be
// created, and down again. It reports whether it created path itself.
func climbBack(cwd sys.Dir, path string, perm fs.FileMode) bool {
	end := len(path)
	for {
		err := cwd.Mkdir(path[:end], perm)
		if err == nil || err == syscall.EEXIST {
			if end == len(path) {
				return err == nil
			}
			break
		}
		up := parentEnd(path[:end])
		if err != syscall.ENOENT || up == 0 {
			return false
		}
		end = up
	}
	for end < len(path) {
		end = childEnd(path, end)
		// EEXIST on the way is "." or "..", or another process creating it.
		if err := cwd.Mkdir(path[:end], perm); err != nil && (err != syscall.EEXIST || end == len(path)) {
			return false
		}
	}
	return true
}

// parentEnd returns the length of the parent of path, without the slash after it;
// 0 if that is the root or the working directory.
func parentEnd(path string) int {
	i := len(path)
	for i > 0 && path[i-1] == '/' {
		i--
	}
	for i > 0 && path[i-1] != '/' {
		i--
	}
	return max(i-1, 0)
}

// childEnd returns the end of the element of path after its first end bytes,
// slashes at the end of the path included.
func childEnd(path string, end int) int {
	for end < len(path) && path[end] == '/' {
		end++
	}
	for end < len(path) && path[end] != '/' {
		end++
	}
	i := end
	for i < len(path) && path[i] == '/' {
		i++
	}
	if i == len(path) {
		return i
	}
	return end
}

package mkdir

import (
	"io/fs"
	"os"
	"syscall"

	"github.com/stele-go/stele/internal/sys"
)

// All makes the directory path and whatever of its parents is missing, as
// os.MkdirAll does, with the same results and the same errors. What it made
// survives kill -9, not a power cut (durability.Kill); a crash in the middle
// leaves the path up to some level (durability.Prefix).
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
	// Whatever went wrong, os.MkdirAll finds the words for it.
	return os.MkdirAll(path, perm)
}

// climbBack goes up from path until a directory can be made or is there, and
// down again. It reports whether it made path itself.
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
		// EEXIST on the way: "." or "..", or another goroutine was faster.
		if err := cwd.Mkdir(path[:end], perm); err != nil && (err != syscall.EEXIST || end == len(path)) {
			return false
		}
	}
	return true
}

// parentEnd is where the parent of path ends, without the slash between them;
// 0 if there is none but the root or the working directory.
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

// childEnd is where the element of path after the first end bytes ends,
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

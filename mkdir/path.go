package mkdir

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// maxPath is Linux's PATH_MAX, the terminating NUL included. A confined Maker
// could create a longer path level by level, but its name could not be used.
const maxPath = 4096

// invalid is an error that is fs.ErrInvalid.
type invalid string

func (e invalid) Error() string        { return string(e) }
func (e invalid) Is(target error) bool { return target == fs.ErrInvalid }

// clean returns path.Clean of rel: without empty and "." elements, with ".."
// resolved lexically. It refuses a path that leaves the root.
func clean(rel string) (string, error) {
	if os.PathSeparator != '/' {
		rel = filepath.ToSlash(rel)
	}
	if !isClean(rel) {
		switch {
		case rel == "":
			return "", invalid("path is empty")
		case rel[0] == '/':
			return "", invalid("path is absolute")
		case strings.IndexByte(rel, 0) >= 0:
			return "", invalid("path contains a NUL byte")
		}
		rel = path.Clean(rel)
		if rel == ".." || strings.HasPrefix(rel, "../") {
			return "", invalid("path leaves the root")
		}
	}
	if runtime.GOOS == "windows" && !filepath.IsLocal(filepath.FromSlash(rel)) {
		return "", invalid("path is not local")
	}
	if len(rel) >= maxPath {
		return "", errTooLong
	}
	return rel, nil
}

// isClean reports, in one pass, whether clean would return rel unchanged. The
// fuzz test compares it with path.Clean.
func isClean(rel string) bool {
	start := 0
	for i := 0; i <= len(rel); i++ {
		if i < len(rel) && rel[i] == 0 {
			return false
		}
		if i < len(rel) && rel[i] != '/' {
			continue
		}
		switch e := rel[start:i]; e {
		case "", "..":
			return false
		case ".":
			if len(rel) > 1 {
				return false
			}
		}
		start = i + 1
	}
	return true
}

// levelEnd returns the end of the level of path after its first `from` bytes.
func levelEnd(path string, from int) int {
	if from > 0 {
		from++ // the slash
	}
	if i := strings.IndexByte(path[from:], '/'); i >= 0 {
		return from + i
	}
	return len(path)
}

// parent returns path without its last element: "" for one level.
func parent(path string) string {
	return path[:max(strings.LastIndexByte(path, '/'), 0)]
}

// notThere reports whether err means that the parent is missing, or is no
// directory.
func notThere(err error) bool { return errors.Is(err, fs.ErrNotExist) || isNotDir(err) }

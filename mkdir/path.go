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

// maxPath is Linux's PATH_MAX, the terminating NUL included. Confined, a
// longer path could be made level by level, but not be used by its name.
const maxPath = 4096

// badPath is a path that no Maker takes.
type badPath string

func (e badPath) Error() string        { return string(e) }
func (e badPath) Is(target error) bool { return target == fs.ErrInvalid }

// clean returns rel without empty and "." elements and with ".." resolved by
// its words alone, which is path.Clean. It refuses what leaves the root.
func clean(rel string) (string, error) {
	if os.PathSeparator != '/' {
		rel = filepath.ToSlash(rel)
	}
	if !isClean(rel) {
		switch {
		case rel == "":
			return "", badPath("path is empty")
		case rel[0] == '/':
			return "", badPath("path is absolute")
		case strings.IndexByte(rel, 0) >= 0:
			return "", badPath("path contains a NUL byte")
		}
		rel = path.Clean(rel)
		if rel == ".." || strings.HasPrefix(rel, "../") {
			return "", badPath("path leaves the root")
		}
	}
	if runtime.GOOS == "windows" && !filepath.IsLocal(filepath.FromSlash(rel)) {
		return "", badPath("path is not local")
	}
	if len(rel) >= maxPath {
		return "", errTooLong
	}
	return rel, nil
}

// isClean reports, in one pass, whether clean would return rel unchanged.
// The fuzz test holds it to path.Clean.
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

// levelEnd is where the level of path after its first `from` bytes ends.
func levelEnd(path string, from int) int {
	if from > 0 {
		from++ // the slash
	}
	if i := strings.IndexByte(path[from:], '/'); i >= 0 {
		return from + i
	}
	return len(path)
}

// parent is path without its last element: "" for one level.
func parent(path string) string {
	return path[:max(strings.LastIndexByte(path, '/'), 0)]
}

// notThere: the parent of what was to be made is missing, or something else
// has its place.
func notThere(err error) bool { return errors.Is(err, fs.ErrNotExist) || isNotDir(err) }

package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stele-go/stele/cmd/stele/internal/follow"
	"github.com/stele-go/stele/internal/setting"
)

// A pushFile is a file to be sent, by its absolute name, or standard input, "-".
type pushFile struct {
	path string
	// older are the generations of the file that the arguments name too, the oldest first:
	// app.log.2.gz and app.log.1 of app.log.
	older []string
}

func hasPattern(name string) bool { return strings.ContainsAny(name, "*?[") }

// isGlob reports whether an argument is a pattern and not the name of a file.
func isGlob(name string) bool {
	if name == "-" || !hasPattern(name) {
		return false
	}
	_, err := os.Lstat(name)
	return err != nil
}

func checkPatterns(args []string) error {
	for _, arg := range args {
		if _, err := filepath.Match(arg, ""); err != nil && isGlob(arg) {
			return setting.Wrong("FILE...", arg, "the name of a file, or a pattern such as '/var/log/*.log'")
		}
	}
	return nil
}

// files returns the files that the arguments name and that are not known yet. At the
// first time a pattern that names none is a failure, but with --follow, and older
// generations are sent too; later the file was already followed when it got their names.
func (u *pusher) files(args []string, first bool) (files []pushFile) {
	paths := u.expand(args, first)
	named := map[string]bool{}
	for _, path := range paths {
		named[path] = true
	}
	index := map[string]int{}
	var older []string
	for _, path := range paths {
		if u.baseOf(path, args, named) != "" {
			older = append(older, path)
			continue
		}
		index[path] = len(files)
		files = append(files, pushFile{path: path})
	}
	if !first {
		return files
	}
	for _, path := range older {
		base := u.baseOf(path, args, named)
		i, ok := index[base]
		if !ok { // it is between two files of its name just now
			i = len(files)
			index[base], files = i, append(files, pushFile{path: base})
		}
		files[i].older = append(files[i].older, path)
	}
	for i := range files {
		slices.SortFunc(files[i].older, follow.OlderFirst)
	}
	return files
}

// expand returns the absolute names of the arguments that are not known yet, each once.
func (u *pusher) expand(args []string, first bool) (paths []string) {
	seen := map[string]bool{}
	for _, arg := range args {
		names := []string{arg}
		if isGlob(arg) {
			names, _ = filepath.Glob(arg) // checkPatterns has refused wrong ones
			if len(names) == 0 && first && !u.follow {
				u.fail(fmt.Errorf("%s: no file has such a name", arg))
			}
		}
		for _, path := range names {
			if path != "-" {
				abs, err := filepath.Abs(path)
				if err != nil {
					u.fail(err)
					continue
				}
				path = abs
			}
			if seen[path] || u.known[path] || len(names) > 1 && isDir(path) {
				continue
			}
			seen[path] = true
			paths = append(paths, path)
		}
	}
	return paths
}

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// baseOf returns the file of which another is an older generation, "" if it is a file of its
// own: one that is named too, or that a pattern names and that was sent before.
func (u *pusher) baseOf(path string, args []string, named map[string]bool) (base string) {
	for _, b := range follow.Bases(path) {
		if (named[b] || u.known[b] || u.wasSent(b, args)) && (base == "" || len(b) < len(base)) {
			base = b
		}
	}
	return base
}

// wasSent reports whether a pattern names a file that has bookmarks.
func (u *pusher) wasSent(path string, args []string) bool {
	return u.client != nil && slices.ContainsFunc(args, func(arg string) bool {
		pattern, err := filepath.Abs(arg)
		ok, _ := filepath.Match(pattern, path)
		return err == nil && ok && follow.HasBook(u.bookmarks, u.server(), u.sourceName(path))
	})
}

// expect adds up the sizes of the files, for the progress.
func (u *pusher) expect(files []pushFile) {
	for _, file := range files {
		for _, path := range append(slices.Clip(file.older), file.path) {
			fi, err := os.Stat(path)
			if errors.Is(err, os.ErrNotExist) && len(file.older) > 0 {
				continue
			}
			if u.follow || path == "-" || err != nil || isPacked(path) {
				u.totals.Of = 0
				return
			}
			u.totals.Of += fi.Size()
		}
	}
}

func isPacked(path string) bool {
	return slices.Contains([]string{".gz", ".zst", ".bz2"}, filepath.Ext(path))
}

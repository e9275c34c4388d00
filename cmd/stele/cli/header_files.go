package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/tempfile"
)

// A fileChoice selects the files of a call.
type fileChoice struct {
	includes, excludes []string
	skipDirs           []string
	git                bool
	include, exclude   []glob

	entered []entry // every directory that was visited
}

func (s *fileChoice) enter(dir, top string) {
	s.entered = append(s.entered, entry{path: filepath.Clean(dir), top: top})
}

func (s *fileChoice) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&s.includes, "include", nil, "select only files that match this `GLOB`; may be repeated")
	f.StringArrayVar(&s.excludes, "exclude", nil, "skip files and directories that match this `GLOB`; may be repeated")
	f.StringSliceVar(&s.skipDirs, "skip-dir", []string{".git", ".hg", ".svn", "node_modules", "vendor", ".venv"}, "do not visit directories of these `NAMES`; '' visits all")
	f.BoolVar(&s.git, "git", false, "in directories, select only files that git tracks")
}

// An entry is a file of a call, with the reason or the error for skipping it.
type entry struct {
	path   string
	top    string // the directory of its PATH: no symlink below it is followed
	reason string
	err    error
}

// collect returns the files of the paths, each once, sorted. A path is a file, a
// directory or a glob; one that matches nothing is an error.
func (s *fileChoice) collect(ctx context.Context, paths []string) ([]entry, error) {
	var err error
	if s.include, err = parseGlobs("--include", s.includes); err != nil {
		return nil, err
	}
	if s.exclude, err = parseGlobs("--exclude", s.excludes); err != nil {
		return nil, err
	}
	var all []entry
	for _, p := range paths {
		some, err := s.path(ctx, p)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	return slices.CompactFunc(all, func(a, b entry) bool { return a.path == b.path }), nil
}

func parseGlobs(flag string, patterns []string) ([]glob, error) {
	var globs []glob
	for _, p := range patterns {
		g, err := parseGlob(flag, strings.TrimSuffix(strings.TrimPrefix(p, "./"), "/"))
		if err != nil {
			return nil, err
		}
		globs = append(globs, g)
	}
	return globs, nil
}

func (s *fileChoice) path(ctx context.Context, p string) ([]entry, error) {
	info, err := os.Lstat(p)
	if err != nil && isPattern(p) {
		return s.glob(ctx, p)
	}
	if err != nil {
		return nil, err
	}
	clean := filepath.Clean(p)
	if info.Mode().Type() == fs.ModeSymlink {
		if to, err := os.Stat(p); err == nil && to.IsDir() {
			// A PATH that is a symlink is followed; symlinks below it are not.
			return s.dir(ctx, clean+string(filepath.Separator))
		}
	}
	if info.IsDir() {
		return s.dir(ctx, clean)
	}
	if !s.wanted(clean, "") {
		return nil, nil
	}
	s.enter(filepath.Dir(clean), filepath.Dir(clean))
	return []entry{file(clean, filepath.Dir(clean), info.Mode())}, nil
}

// file returns the entry of a path by its mode.
func file(path, top string, mode fs.FileMode) entry {
	f := entry{path: path, top: top}
	switch {
	case mode.Type() == fs.ModeSymlink:
		f.reason = "symbolic link"
	case !mode.IsRegular():
		f.reason = "not a regular file"
	}
	return f
}

// wanted applies --include and --exclude to a path, and to the path below root.
func (s *fileChoice) wanted(path, root string) bool {
	names := namesOf(path, root)
	return !matchAny(s.exclude, names...) && (len(s.include) == 0 || matchAny(s.include, names...))
}

func namesOf(path, root string) []string {
	names := []string{filepath.ToSlash(path)}
	if rel, err := filepath.Rel(root, path); root != "" && err == nil {
		names = append(names, filepath.ToSlash(rel))
	}
	return names
}

func (s *fileChoice) glob(ctx context.Context, pattern string) ([]entry, error) {
	pattern = strings.TrimPrefix(filepath.ToSlash(pattern), "./")
	g, err := parseGlob("PATH", pattern)
	if err != nil {
		return nil, err
	}
	all, err := s.dir(ctx, filepath.FromSlash(g.base()))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(f entry) bool { return f.err == nil && !g.match(filepath.ToSlash(f.path)) })
	if len(all) == 0 {
		return nil, setting.Wrong("PATH", pattern, "a file, a directory, or a glob that matches a file")
	}
	return all, nil
}

// dir returns the files below root.
func (s *fileChoice) dir(ctx context.Context, root string) ([]entry, error) {
	if s.git {
		return s.tracked(ctx, root)
	}
	var all []entry
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && path == root:
			return err
		case err != nil:
			all = append(all, entry{path: path, top: root, err: err})
			return nil
		case d.IsDir() && path != root && (slices.Contains(s.skipDirs, d.Name()) || matchAny(s.exclude, namesOf(path, root)...)):
			return filepath.SkipDir
		case d.IsDir():
			s.enter(path, root)
		case tempfile.Is(d.Name()):
			// Of another call, which will rename it (package atomicfile).
		case s.wanted(path, root):
			all = append(all, file(path, root, d.Type()))
		}
		return nil
	})
	return all, err
}

// tracked returns the files below root that are in git's index.
func (s *fileChoice) tracked(ctx context.Context, root string) ([]entry, error) {
	cmd := exec.CommandContext(ctx, "git", "-C", root, "ls-files", "-z")
	var diag bytes.Buffer
	cmd.Stderr = &diag
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("--git: git ls-files in %s: %w", root, err)
	}
	var all []entry
	names := bufio.NewScanner(out)
	names.Split(scanNames)
	for names.Scan() {
		name := names.Text()
		parts := strings.Split(name, "/")
		path := filepath.Join(root, filepath.FromSlash(name))
		skipped := slices.ContainsFunc(parts[:len(parts)-1], func(dir string) bool { return slices.Contains(s.skipDirs, dir) })
		if name == "" || skipped || matchAny(s.exclude, namesOf(path, root)...) {
			continue
		}
		s.enter(filepath.Dir(path), root)
		if !s.wanted(path, root) {
			continue
		}
		switch info, err := os.Lstat(path); {
		case errors.Is(err, fs.ErrNotExist): // deleted, but still in the index
		case err != nil:
			all = append(all, entry{path: path, top: root, err: err})
		case !info.IsDir(): // a submodule
			all = append(all, file(path, root, info.Mode()))
		}
	}
	if err := names.Err(); err != nil { // a name is too long
		cmd.Cancel()
		cmd.Wait()
		return nil, fmt.Errorf("--git: git ls-files in %s: %w", root, err)
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("--git: git ls-files in %s: %w: %s", root, err, strings.TrimSpace(diag.String()))
	}
	return all, nil
}

// scanNames is a bufio.SplitFunc for NUL-terminated names.
func scanNames(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if n := bytes.IndexByte(data, 0); n >= 0 {
		return n + 1, data[:n], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

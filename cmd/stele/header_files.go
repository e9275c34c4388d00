package main

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

	"github.com/stele-go/stele/internal/tempfile"
)

// A fileChoice is which files a call is about.
type fileChoice struct {
	includes, excludes []string
	skipDirs           []string
	git                bool
	include, exclude   []glob

	entered []found // folders that were looked into, whether anything in them is meant or not
}

func (s *fileChoice) enter(dir, top string) {
	s.entered = append(s.entered, found{path: filepath.Clean(dir), top: top})
}

func (s *fileChoice) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&s.includes, "include", nil, "only files that match this `GLOB`; may be repeated")
	f.StringArrayVar(&s.excludes, "exclude", nil, "no files that match this `GLOB`, and nothing in folders that do; may be repeated")
	f.StringSliceVar(&s.skipDirs, "skip-dir", []string{".git", ".hg", ".svn", "node_modules", "vendor", ".venv"}, "do not walk into folders of these `NAMES`; '' walks into all")
	f.BoolVar(&s.git, "git", false, "of the folders, only files that git tracks")
}

// A found is a file, with the reason or the error if it is not to be worked on.
type found struct {
	path   string
	top    string // the folder that was named: nothing below it is followed
	reason string
	err    error
}

// collect returns the files that the paths name, each once, in order. A path
// may be a file, a folder or a glob. What is not there is an error.
func (s *fileChoice) collect(ctx context.Context, paths []string) ([]found, error) {
	var err error
	if s.include, err = parseGlobs(s.includes); err != nil {
		return nil, fmt.Errorf("--include: %w", err)
	}
	if s.exclude, err = parseGlobs(s.excludes); err != nil {
		return nil, fmt.Errorf("--exclude: %w", err)
	}
	var all []found
	for _, p := range paths {
		some, err := s.path(ctx, p)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b found) int { return strings.Compare(a.path, b.path) })
	return slices.CompactFunc(all, func(a, b found) bool { return a.path == b.path }), nil
}

func parseGlobs(patterns []string) ([]glob, error) {
	var globs []glob
	for _, p := range patterns {
		g, err := parseGlob(strings.TrimSuffix(strings.TrimPrefix(p, "./"), "/"))
		if err != nil {
			return nil, err
		}
		globs = append(globs, g)
	}
	return globs, nil
}

func (s *fileChoice) path(ctx context.Context, p string) ([]found, error) {
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
			// Named by the caller, it is walked; what it holds is not followed.
			return s.folder(ctx, clean+string(filepath.Separator))
		}
	}
	if info.IsDir() {
		return s.folder(ctx, clean)
	}
	if !s.wanted(clean, "") {
		return nil, nil
	}
	s.enter(filepath.Dir(clean), filepath.Dir(clean))
	return []found{file(clean, filepath.Dir(clean), info.Mode())}, nil
}

// file is a file that was found, if it is one.
func file(path, top string, mode fs.FileMode) found {
	f := found{path: path, top: top}
	switch {
	case mode.Type() == fs.ModeSymlink:
		f.reason = "symbolic link"
	case !mode.IsRegular():
		f.reason = "not a regular file"
	}
	return f
}

// wanted applies --include and --exclude to a path and what it is below root.
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

func (s *fileChoice) glob(ctx context.Context, pattern string) ([]found, error) {
	pattern = strings.TrimPrefix(filepath.ToSlash(pattern), "./")
	g, err := parseGlob(pattern)
	if err != nil {
		return nil, err
	}
	all, err := s.folder(ctx, filepath.FromSlash(g.base()))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(f found) bool { return f.err == nil && !g.match(filepath.ToSlash(f.path)) })
	if len(all) == 0 {
		return nil, fmt.Errorf("%s matches no file", pattern)
	}
	return all, nil
}

// folder returns the files below root.
func (s *fileChoice) folder(ctx context.Context, root string) ([]found, error) {
	if s.git {
		return s.tracked(ctx, root)
	}
	var all []found
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && path == root:
			return err
		case err != nil:
			all = append(all, found{path: path, top: root, err: err})
			return nil
		case d.IsDir() && path != root && (slices.Contains(s.skipDirs, d.Name()) || matchAny(s.exclude, namesOf(path, root)...)):
			return filepath.SkipDir
		case d.IsDir():
			s.enter(path, root)
		case tempfile.Is(d.Name()):
			// A file that another call is about to put in place (package atomicfile).
		case s.wanted(path, root):
			all = append(all, file(path, root, d.Type()))
		}
		return nil
	})
	return all, err
}

// tracked returns the files below root that are in git's index.
func (s *fileChoice) tracked(ctx context.Context, root string) ([]found, error) {
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
	var all []found
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
		case errors.Is(err, fs.ErrNotExist): // deleted, and not yet from the index
		case err != nil:
			all = append(all, found{path: path, top: root, err: err})
		case !info.IsDir(): // a submodule
			all = append(all, file(path, root, info.Mode()))
		}
	}
	if err := names.Err(); err != nil { // no path is so long
		cmd.Cancel()
		cmd.Wait()
		return nil, fmt.Errorf("--git: git ls-files in %s: %w", root, err)
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("--git: git ls-files in %s: %w: %s", root, err, strings.TrimSpace(diag.String()))
	}
	return all, nil
}

// scanNames splits what ends with NUL.
func scanNames(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if n := bytes.IndexByte(data, 0); n >= 0 {
		return n + 1, data[:n], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

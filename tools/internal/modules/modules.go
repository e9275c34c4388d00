// Package modules reads the modules of the workspace, and writes them as a
// module proxy would serve them.
package modules

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// A Module is one module of the workspace.
type Module struct {
	Path string // "github.com/stele-go/stele/lab"
	Dir  string // below the top of the tree, with slashes: "lab", "."
	File *modfile.File
}

// Published reports whether the module is released: proofs and tools are for work
// on the tree.
func (m Module) Published() bool { return m.Dir != "proofs" && m.Dir != "tools" }

// Library reports whether other modules may require m.
func (m Module) Library() bool { return m.Published() && !strings.HasPrefix(m.Dir, "cmd/") }

// Tag returns the git tag of a version of m, as cmd/go looks it up: the
// module's directory is its prefix.
func (m Module) Tag(version string) string {
	if m.Dir == "." {
		return version
	}
	return m.Dir + "/" + version
}

// Top returns the directory of the go.work above dir.
func Top(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, "go.work")); err == nil {
			return d, nil
		} else if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("%s: no go.work here or above; want a directory of a workspace", dir)
		}
	}
}

// Load returns the modules that top/go.work uses, each after those that it
// requires. A cycle is an error.
func Load(top string) ([]Module, error) {
	name := filepath.Join(top, "go.work")
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	work, err := modfile.ParseWork(name, data, nil)
	if err != nil {
		return nil, err
	}
	var all []Module
	for _, use := range work.Use {
		dir := path.Clean(filepath.ToSlash(use.Path))
		f, err := ReadFile(filepath.Join(top, dir, "go.mod"))
		if err != nil {
			return nil, err
		}
		all = append(all, Module{Path: f.Module.Mod.Path, Dir: dir, File: f})
	}
	return inOrder(all)
}

// ReadFile parses a go.mod.
func ReadFile(name string) (*modfile.File, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(name, data, nil)
}

// Requires returns the modules of list that the go.mod of m requires.
func (m Module) Requires(list []Module) (found []Module) {
	for _, r := range m.File.Require {
		if i := slices.IndexFunc(list, func(o Module) bool { return o.Path == r.Mod.Path }); i >= 0 {
			found = append(found, list[i])
		}
	}
	return found
}

// inOrder sorts list so that each module follows all that it requires.
func inOrder(list []Module) ([]Module, error) {
	var sorted []Module
	const (
		entered = 1
		left    = 2
	)
	state := map[string]int{}
	var visit func(m Module, from []string) error
	visit = func(m Module, from []string) error {
		from = append(from, m.Path)
		switch state[m.Path] {
		case left:
			return nil
		case entered:
			return fmt.Errorf("modules require each other in a circle: %s", strings.Join(from, " -> "))
		}
		state[m.Path] = entered
		for _, r := range m.Requires(list) {
			if err := visit(r, from); err != nil {
				return err
			}
		}
		state[m.Path] = left
		sorted = append(sorted, m)
		return nil
	}
	for _, m := range list {
		if err := visit(m, nil); err != nil {
			return nil, err
		}
	}
	return sorted, nil
}

// Version returns the version that the modules of list require of each other;
// of several the highest, and v0.0.0 if none requires another.
func Version(list []Module) string {
	version := "v0.0.0"
	for _, m := range list {
		for _, r := range m.File.Require {
			ours := slices.ContainsFunc(list, func(o Module) bool { return o.Path == r.Mod.Path })
			if ours && semver.Compare(r.Mod.Version, version) > 0 {
				version = r.Mod.Version
			}
		}
	}
	return version
}

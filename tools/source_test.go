package tools_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A source is a package of ours, parsed and type-checked. Every file is parsed
// once, so that an object is at one position in all packages that refer to it.
type source struct {
	path             string // import path
	files            []*ast.File
	tests, xtests    []*ast.File // in the package, and in package _test
	imports          []string    // of files
	pkg              *types.Package
	info, tinfo      *types.Info // of files, and of files with tests
	xinfo            *types.Info // of xtests
	checked, started bool
}

// A tree is all packages of ours, peers among them.
type tree struct {
	fset     *token.FileSet
	packages map[string]*source
	others   types.Importer
}

// loadTree parses and type-checks every package below top, for the platform the
// test runs on. An import that is not at hand, as those of peers may be, leaves
// only its names unknown.
func loadTree(t *testing.T, top string) *tree {
	t.Helper()
	tr := &tree{fset: token.NewFileSet(), packages: map[string]*source{}}
	others := map[string]bool{}
	err := filepath.WalkDir(top, func(dir string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && dir != top { // another test was done with it
			return nil
		}
		if err != nil || !d.IsDir() {
			return err
		}
		if strings.HasPrefix(d.Name(), ".") && dir != top || d.Name() == "testdata" {
			return filepath.SkipDir
		}
		rel, err := filepath.Rel(top, dir)
		if err != nil {
			return err
		}
		return tr.parse(dir, path.Join(house, filepath.ToSlash(rel)), others)
	})
	if err != nil {
		t.Fatal(err)
	}
	tr.others = exportData(t, tr.fset, top, others)
	for _, name := range slices.Sorted(maps.Keys(tr.packages)) {
		if _, err := tr.Import(name); err != nil {
			t.Fatal(err)
		}
		tr.checkTests(tr.packages[name])
	}
	return tr
}

// parse adds the package in dir, if there is one, and to others the imports
// that are not ours.
func (tr *tree) parse(dir, name string, others map[string]bool) error {
	found, err := build.ImportDir(dir, 0)
	var none *build.NoGoError
	if errors.As(err, &none) && len(found.TestGoFiles)+len(found.XTestGoFiles) == 0 {
		return nil
	}
	if err != nil && none == nil {
		return err
	}
	s := &source{path: name, imports: found.Imports}
	for _, group := range []struct {
		names []string
		files *[]*ast.File
	}{{found.GoFiles, &s.files}, {found.TestGoFiles, &s.tests}, {found.XTestGoFiles, &s.xtests}} {
		for _, file := range group.names {
			parsed, err := parser.ParseFile(tr.fset, filepath.Join(dir, file), nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			*group.files = append(*group.files, parsed)
		}
	}
	for _, imp := range slices.Concat(found.Imports, found.TestImports, found.XTestImports) {
		if imp != "C" && imp != "unsafe" && imp != house && !strings.HasPrefix(imp, house+"/") {
			others[imp] = true
		}
	}
	tr.packages[name] = s
	return nil
}

// exportData imports packages by the compiler's export data.
func exportData(t *testing.T, fset *token.FileSet, top string, paths map[string]bool) types.Importer {
	t.Helper()
	list := exec.Command("go", append([]string{"list", "-e", "-export", "-f", "{{.ImportPath}}={{.Export}}"}, slices.Sorted(maps.Keys(paths))...)...)
	list.Dir = top
	list.Stderr = io.Discard // -e: those that are not at hand
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list -export: %v", err)
	}
	files := map[string]string{}
	for line := range bytes.Lines(out) {
		name, file, _ := strings.Cut(strings.TrimSpace(string(line)), "=")
		files[name] = file
	}
	return importer.ForCompiler(fset, "gc", func(name string) (io.ReadCloser, error) {
		if files[name] == "" {
			return nil, fmt.Errorf("no export data of %s", name)
		}
		return os.Open(files[name])
	})
}

// Import type-checks a package of ours, or has another imported.
func (tr *tree) Import(name string) (*types.Package, error) {
	s := tr.packages[name]
	switch {
	case name == "unsafe":
		return types.Unsafe, nil
	case s == nil:
		return tr.others.Import(name)
	case s.checked:
		return s.pkg, nil
	case s.started:
		return nil, fmt.Errorf("%s is in a cycle of imports", name)
	}
	s.started = true
	s.pkg, s.info = tr.check(name, s.files, tr)
	s.checked = true
	return s.pkg, nil
}

func (tr *tree) check(name string, files []*ast.File, imports types.Importer) (*types.Package, *types.Info) {
	info := &types.Info{
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	config := types.Config{Importer: imports, Error: func(error) {}} // the compiler reports them
	pkg, _ := config.Check(name, tr.fset, files, info)
	return pkg, info
}

// withTests imports a package as its own tests see it: with the names that its
// export_test.go adds.
type withTests struct {
	*tree
	path string
	pkg  *types.Package
}

func (w withTests) Import(name string) (*types.Package, error) {
	if name == w.path {
		return w.pkg, nil
	}
	return w.tree.Import(name)
}

func (tr *tree) checkTests(s *source) {
	pkg := s.pkg
	s.tinfo = s.info
	if len(s.tests) > 0 {
		pkg, s.tinfo = tr.check(s.path, slices.Concat(s.files, s.tests), tr)
	}
	_, s.xinfo = tr.check(s.path+"_test", s.xtests, withTests{tr, s.path, pkg})
}

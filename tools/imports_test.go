// Package tools_test holds the rules that span all modules.
package tools_test

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stele-go/stele/tools/internal/modules"
)

const house = "github.com/stele-go/stele"

// mayImport is the list of DESIGN.md: for each directory the packages of ours
// outside of it that its packages may import. A directory stands for those below
// it too, unless they have an entry.
var mayImport = map[string][]string{
	// The root module: the primitives.
	"durability":    {},
	"latency":       {},
	"profile":       {},
	"mpsc":          {},
	"mkdir":         {"durability"},
	"newfile":       {"durability", "latency", "internal/tempfile"},
	"atomicfile":    {"durability", "internal/tempfile", "internal/oldfile"},
	"header":        {"atomicfile", "durability", "internal/oldfile", "internal/belowroot"},
	"header/notice": {},
	"fileio":        {"durability", "latency", "profile"},
	"wal":           {"durability", "latency", "profile", "mkdir"},

	"internal/setting":    {},
	"internal/units":      {},
	"internal/gate":       {},
	"internal/queue":      {},
	"internal/semaphore":  {},
	"internal/sharedsync": {},
	"internal/sys":        {},
	"internal/memory":     {"internal/sys"},
	"internal/regexcost":  {"internal/setting"},
	"internal/jsontext":   {},
	"internal/tempfile":   {},
	"internal/oldfile":    {},
	"internal/belowroot":  {},
	"internal/measure":    {},

	// Modules of their own.
	"fileio/pace":   {},
	"fileio/otelio": {"fileio"},
	"crashtest":     {"durability", "internal/measure"},
	"logstore":      {"wal", "fileio", "atomicfile", "mkdir", "durability", "profile", "latency"},
	"logql":         {"logstore", "logql/syntax"},
	"server":        {"logql", "logstore", "durability", "latency"},
	"lab":           {"durability", "internal/measure", "lab/run"},
	"lab/run":       {"durability", "lab/stats", "lab/internal/buckets"},
	"lab/report":    {"durability", "lab/run"},
	"lab/gobench":   {"lab", "lab/run"},
	"suites":        {"*"},
	"cmd/stele":     {"*"},
	"proofs":        {"*"},
	"tools":         {"lab", "internal", "durability"},
}

// ground are packages that every package of ours may import, except each other:
// see mayImport.
var ground = []string{"internal/sys", "internal/setting", "internal/units", "internal/gate", "internal/queue", "internal/semaphore", "internal/sharedsync", "internal/memory", "internal/regexcost", "internal/jsontext"}

// testHelpers are packages that only tests, and the proofs, which are tests, may import.
var testHelpers = []string{"internal/filetest", "internal/hardlines", "internal/testseed", "internal/tracetest", "internal/wine"}

// mayRequire has the modules outside the house that the root's packages, tests
// included, may import: a user of one primitive gets nothing else.
const mayRequire = "golang.org/x/sys/"

// sourceFiles calls f for every Go file of the workspace, by its name below
// top, with its imports.
func sourceFiles(t *testing.T, top string, f func(name string, imports []string)) {
	t.Helper()
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name != top { // another test was done with it
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, name)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") && rel != "." || d.Name() == "testdata" || rel == "peers" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		var imports []string
		for _, spec := range file.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			imports = append(imports, imp)
		}
		f(filepath.ToSlash(rel), imports)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func loadModules(t *testing.T) (top string, list []modules.Module) {
	t.Helper()
	top, err := modules.Top(".")
	if err != nil {
		t.Fatal(err)
	}
	if list, err = modules.Load(top); err != nil {
		t.Fatal(err)
	}
	return top, list
}

// Imports point downwards only.
func TestImportDirections(t *testing.T) {
	top, _ := loadModules(t)
	sourceFiles(t, top, func(name string, imports []string) {
		pkg := path.Dir(name)
		if strings.HasSuffix(name, "_test.go") || slices.Contains(testHelpers, pkg) {
			return // the go.mod of their module has the modules that tests may import
		}
		if _, ok := entryOf(pkg); !ok {
			t.Errorf("%s: package %s has no place in the house; add it to DESIGN.md and to mayImport", name, pkg)
			return
		}
		for _, imp := range imports {
			if why := forbidden(pkg, imp); why != "" {
				t.Errorf("%s imports %s; %s", name, imp, why)
			}
		}
	})
}

// forbidden says why package pkg may not import imp, or "".
func forbidden(pkg, imp string) string {
	target, ours := strings.CutPrefix(imp, house+"/")
	if !ours {
		return ""
	}
	entry, _ := entryOf(pkg)
	if slices.Contains(testHelpers, target) {
		if entry == "proofs" {
			return ""
		}
		return "only tests may"
	}
	targetEntry, known := entryOf(target)
	if !known {
		return "there is no such package"
	}
	if targetEntry == entry || allowed(mayImport[entry], target) || allowed(ground, target) && !allowed(ground, pkg) {
		return ""
	}
	return fmt.Sprintf("%s may import %v, and %v", entry, mayImport[entry], ground)
}

// allowed reports whether one of dirs, or "*", has the package.
func allowed(dirs []string, pkg string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return d == "*" || d == pkg || strings.HasPrefix(pkg, d+"/") })
}

// entryOf is the entry of mayImport that pkg belongs to.
func entryOf(pkg string) (string, bool) {
	for p := pkg; p != "."; p = path.Dir(p) {
		if _, ok := mayImport[p]; ok {
			return p, true
		}
	}
	return "", false
}

// Every import, also of tests, is of the module itself or of one that its go.mod
// requires: the workspace would hide a missing requirement. Load has checked that
// the modules do not require each other in a circle.
func TestModulesRequireWhatTheyImport(t *testing.T) {
	top, list := loadModules(t)
	sourceFiles(t, top, func(name string, imports []string) {
		m := moduleOf(list, path.Dir(name))
		for _, imp := range imports {
			if why := notRequired(list, m, imp); why != "" {
				t.Errorf("%s imports %s; %s", name, imp, why)
			}
		}
	})
}

// moduleOf returns the module that has the directory dir.
func moduleOf(list []modules.Module, dir string) (found modules.Module) {
	for _, m := range list {
		if (m.Dir == "." || dir == m.Dir || strings.HasPrefix(dir, m.Dir+"/")) && len(m.Path) > len(found.Path) {
			found = m
		}
	}
	return found
}

// notRequired says why no file of module m may import imp, or "".
func notRequired(list []modules.Module, m modules.Module, imp string) string {
	dir, ours := strings.CutPrefix(imp+"/", house+"/")
	first, _, _ := strings.Cut(imp, "/")
	switch {
	case ours:
		target := moduleOf(list, path.Clean(dir))
		if target.Path != m.Path && !slices.ContainsFunc(m.Requires(list), func(o modules.Module) bool { return o.Path == target.Path }) {
			return fmt.Sprintf("module %s does not require %s", m.Path, target.Path)
		}
	case strings.Contains(first, ".") && m.Dir == "." && !strings.HasPrefix(imp, mayRequire):
		return "the root module may require only golang.org/x/sys, also in its tests"
	}
	return ""
}

// The tests above would pass on an empty tree, or if the rules were never
// applied: this one shows that they notice a wrong import.
func TestImportRulesBite(t *testing.T) {
	for _, c := range []struct{ pkg, imp string }{
		{"mkdir", house + "/lab"},
		{"mkdir", house + "/internal/measure/uring"},
		{"mkdir", house + "/internal/tracetest"},
		{"durability", house + "/mkdir"},
		{"lab", house + "/mkdir"},
		{"lab", house + "/suites"},
		{"lab/report", house + "/lab"},
		{"lab/report", house + "/lab/env"},
		{"fileio/pace", house + "/fileio"},
		{"internal/sys", house + "/nowhere"},
		{"internal/sys", house + "/internal/memory"},
		{"lab/report", house + "/internal/measure/perf"},
	} {
		if forbidden(c.pkg, c.imp) == "" {
			t.Errorf("%s importing %s passes", c.pkg, c.imp)
		}
	}
	_, list := loadModules(t)
	for _, c := range []struct{ dir, imp string }{
		{"wal", house + "/lab/stats"},
		{"internal/sys", house + "/crashtest/power"},
		{"fileio", "github.com/hanwen/go-fuse/v2/fuse"},
		{"fileio/pace", house + "/mkdir"},
		{"crashtest/power", house + "/logstore"},
	} {
		if notRequired(list, moduleOf(list, c.dir), c.imp) == "" {
			t.Errorf("a test in %s importing %s passes", c.dir, c.imp)
		}
	}
}

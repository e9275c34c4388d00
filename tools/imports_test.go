// Package stele_test holds the rules that span all packages.
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
)

const module = "github.com/stele-go/stele"

// mayImport is the house of DESIGN.md: for each package all it may import
// inside the house, beside internal/sys, which everyone may. A folder stands
// for the packages below it too.
var mayImport = map[string][]string{
	"cmd/stele":     {"*"},
	"suites":        {"*"},
	"lab":           {"durability", "lab"},
	"mkdir":         {"durability", "latency"},
	"atomicfile":    {"durability", "latency", "internal/tempfile", "internal/oldfile"},
	"header":        {"atomicfile", "durability", "latency", "internal/tempfile", "internal/oldfile", "internal/belowroot"},
	"crashtest":     {"durability"},
	"mpsc":          {},
	"newfile":       {"mpsc", "durability", "latency", "internal/tempfile"},
	"profile":       {},
	"fileio":        {"durability", "profile", "latency"},
	"fileio/pace":   {},
	"fileio/otelio": {"fileio"},
	"wal":           {"mpsc", "newfile", "mkdir", "durability", "profile", "latency"},
	"logstore":      {"wal", "fileio", "atomicfile", "mkdir", "durability", "profile", "latency"},
	"latency":       {},
	"durability":    {},
	"internal/sys":  {},

	"internal/tempfile":  {},
	"internal/oldfile":   {},
	"internal/belowroot": {},
	// Commands for working on the house: nobody may import them.
	"internal/beforeafter": {"lab"},
	// For tests only: nobody may import it.
	"internal/tracetest": {},
	"internal/wine":      {},
}

// standalone packages import nothing outside the house but the standard
// library and golang.org/x/sys, so that whoever needs one primitive pulls in
// nothing else.
var standalone = []string{"mkdir", "mpsc", "newfile", "atomicfile", "header", "fileio", "wal", "profile", "latency", "durability", "internal/sys", "internal/tempfile", "internal/oldfile", "internal/belowroot"}

func TestImportDirections(t *testing.T) {
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name != "." { // a test of another package was done with it
			return nil
		}
		if err != nil {
			return err
		}
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") && name != "." || d.Name() == "testdata" || name == "peers" {
				return filepath.SkipDir
			}
			return nil
		}
		// Tests may stand on more than what they test.
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		pkg := filepath.ToSlash(filepath.Dir(name))
		room, ok := roomOf(pkg)
		if !ok {
			t.Errorf("%s: package %s has no place in the house; add it to DESIGN.md and to mayImport", name, pkg)
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range f.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if why := forbidden(room, imp); why != "" {
				t.Errorf("%s imports %s; %s", name, imp, why)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// forbidden says why a package of room may not import imp, or "".
func forbidden(room, imp string) string {
	if inside, ok := strings.CutPrefix(imp, module+"/"); ok {
		target, known := roomOf(inside)
		switch {
		case known && (target == room || target == "internal/sys"):
		case known && (slices.Contains(mayImport[room], target) || slices.Contains(mayImport[room], "*")):
		default:
			return fmt.Sprintf("%s may import %v and internal/sys", room, mayImport[room])
		}
		return ""
	}
	first, _, _ := strings.Cut(imp, "/")
	std := !strings.Contains(first, ".")
	if !std && slices.Contains(standalone, room) && !strings.HasPrefix(imp, "golang.org/x/sys/") {
		return room + " may import only the standard library and golang.org/x/sys"
	}
	return ""
}

// roomOf is the entry of mayImport that pkg belongs to.
func roomOf(pkg string) (string, bool) {
	for p := pkg; p != "."; p = path.Dir(p) {
		if _, ok := mayImport[p]; ok {
			return p, true
		}
	}
	return "", false
}

// The test above would pass on an empty tree, or if the rules were never
// applied: this one shows that a wrong import is seen.
func TestImportRulesBite(t *testing.T) {
	for _, c := range []struct{ room, imp string }{
		{"mkdir", module + "/lab"},
		{"durability", module + "/mkdir"},
		{"lab", module + "/mkdir"},
		{"lab", module + "/suites"},
		{"mkdir", "github.com/spf13/pflag"},
		{"internal/sys", module + "/nowhere"},
	} {
		if forbidden(c.room, c.imp) == "" {
			t.Errorf("%s importing %s passes", c.room, c.imp)
		}
	}
}

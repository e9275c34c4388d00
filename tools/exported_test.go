package tools_test

import (
	"bufio"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/tools/internal/modules"
)

// An exported name is one that users may write: "wal.Options.SegmentSize".
type exported struct {
	name string
	pos  token.Pos
	doc  bool
}

// Every exported name of a published package has a comment, and a user outside
// the package's own code or a reason in testdata/exported.txt.
func TestExportedNames(t *testing.T) {
	top, list := loadModules(t)
	tr := loadTree(t, top)
	used := tr.usedNames()
	reasons := readReasons(t)
	unseen := maps.Clone(reasons)
	for _, pkg := range slices.Sorted(maps.Keys(tr.packages)) {
		if !forUsers(list, pkg) || tr.packages[pkg].pkg.Name() == "main" {
			continue
		}
		for _, e := range exportedNames(tr.packages[pkg]) {
			reason, listed := reasons[e.name]
			all := e.name[:strings.LastIndex(e.name, ".")+1] + "*"
			delete(unseen, e.name)
			delete(unseen, all)
			at := tr.fset.Position(e.pos)
			switch {
			case !e.doc:
				t.Errorf("%s: %s has no comment", at, e.name)
			case used[e.pos] && listed:
				t.Errorf("%s has users; testdata/exported.txt need not say %q", e.name, reason)
			case !used[e.pos] && !listed && reasons[all] == "":
				t.Errorf("%s: %s has no user outside its package, and no reason in testdata/exported.txt", at, e.name)
			}
		}
	}
	for name := range unseen {
		t.Errorf("testdata/exported.txt has %s, which does not exist", name)
	}
}

// forUsers reports whether users may import pkg.
func forUsers(list []modules.Module, pkg string) bool {
	dir := strings.TrimPrefix(strings.TrimPrefix(pkg, house), "/")
	below := func(top string) bool { return strings.HasPrefix(dir+"/", top+"/") }
	return moduleOf(list, dir).Published() && !below("peers") && !strings.Contains("/"+dir+"/", "/internal/")
}

// readReasons reads testdata/exported.txt: lines of names, indented, each below
// the reason for them. "wal.Stats.*" stands for all fields of wal.Stats.
func readReasons(t *testing.T) map[string]string {
	t.Helper()
	file, err := os.Open("testdata/exported.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	reasons := map[string]string{}
	var reason string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		if !strings.HasPrefix(line, "\t") {
			reason = line
			continue
		}
		for _, name := range strings.Fields(line) {
			if reasons[name] != "" {
				t.Errorf("testdata/exported.txt has %s twice", name)
			}
			reasons[name] = reason
		}
	}
	return reasons
}

// usedNames returns where names are declared that have a user outside their
// package's own code: another package, a test in package _test, or an exported
// declaration with the name in its type.
func (tr *tree) usedNames() map[token.Pos]bool {
	used := map[token.Pos]bool{}
	for _, s := range tr.packages {
		for _, obj := range s.tinfo.Uses {
			if obj.Pkg() != nil && obj.Pkg().Path() != s.path {
				used[obj.Pos()] = true
			}
		}
		for _, obj := range s.xinfo.Uses {
			if tr.ours(obj) {
				used[obj.Pos()] = true
			}
		}
		tr.usedBySignatures(s, used)
	}
	return used
}

func (tr *tree) ours(obj types.Object) bool {
	return obj.Pkg() != nil && tr.packages[obj.Pkg().Path()] != nil
}

// usedBySignatures adds the types in exported signatures and fields of s: users
// need their names.
func (tr *tree) usedBySignatures(s *source, used map[token.Pos]bool) {
	mark := func(e ast.Node) {
		ast.Inspect(e, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if typ, ok := s.info.Uses[id].(*types.TypeName); ok {
					used[typ.Pos()] = true
				}
			}
			return true
		})
	}
	for _, file := range s.files {
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Name.IsExported() {
					mark(decl.Type)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if typ, ok := spec.(*ast.TypeSpec); ok {
						for _, f := range fieldsOf(typ) {
							if len(f.Names) == 0 || f.Names[0].IsExported() {
								mark(f.Type)
							}
						}
					}
				}
			}
		}
	}
}

func fieldsOf(typ *ast.TypeSpec) []*ast.Field {
	switch typ := typ.Type.(type) {
	case *ast.StructType:
		return typ.Fields.List
	case *ast.InterfaceType:
		return typ.Methods.List
	}
	return nil
}

// calledByOthers are methods that packages call by an interface of their own:
// the standard library's fmt, errors, io, encoding and sort.
var calledByOthers = strings.Fields(`String Error Unwrap Is As Format
	Read Write Close ReadAt WriteAt ReadFrom WriteTo Seek WriteString WriteByte ReadByte
	MarshalJSON UnmarshalJSON MarshalText UnmarshalText AppendText Len Less Swap`)

// exportedNames lists the exported names of s, but for methods that implement a
// well-known interface, and fields of encoding/json.
func exportedNames(s *source) (names []exported) {
	short := strings.TrimPrefix(s.path, house+"/")
	add := func(id *ast.Ident, owner string, docs ...*ast.CommentGroup) {
		if id.IsExported() {
			documented := slices.ContainsFunc(docs, func(d *ast.CommentGroup) bool { return d != nil })
			names = append(names, exported{short + "." + owner + id.Name, id.Pos(), documented})
		}
	}
	for _, file := range s.files {
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil {
					add(decl.Name, "", decl.Doc)
				} else if owner := receiver(decl); ast.IsExported(owner) && !slices.Contains(calledByOthers, decl.Name.Name) {
					add(decl.Name, owner+".", decl.Doc)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					switch spec := spec.(type) {
					case *ast.ValueSpec:
						for _, id := range spec.Names {
							add(id, "", decl.Doc, spec.Doc, spec.Comment)
						}
					case *ast.TypeSpec:
						add(spec.Name, "", decl.Doc, spec.Doc, spec.Comment)
						addFields(add, spec, decl.Doc)
					}
				}
			}
		}
	}
	return names
}

// addFields adds the fields of a struct, or the methods of an interface. The
// comment of the type may speak of them all.
func addFields(add func(id *ast.Ident, owner string, docs ...*ast.CommentGroup), typ *ast.TypeSpec, of *ast.CommentGroup) {
	if !typ.Name.IsExported() {
		return
	}
	var doc *ast.CommentGroup // a comment is of the fields below it, up to an empty line
	for _, f := range fieldsOf(typ) {
		if f.Doc != nil {
			doc = f.Doc
		}
		if f.Tag != nil && strings.Contains(f.Tag.Value, `json:"`) {
			continue
		}
		for _, id := range f.Names {
			add(id, typ.Name.Name+".", doc, f.Comment, typ.Doc, of)
		}
	}
}

// receiver returns the name of a method's type.
func receiver(decl *ast.FuncDecl) string {
	e := decl.Recv.List[0].Type
	for {
		switch typ := e.(type) {
		case *ast.StarExpr:
			e = typ.X
		case *ast.IndexExpr:
			e = typ.X
		case *ast.IndexListExpr:
			e = typ.X
		case *ast.Ident:
			return typ.Name
		default:
			return ""
		}
	}
}

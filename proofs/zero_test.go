package proofs_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/fileio/pace"
	"github.com/stele-go/stele/latency"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/mkdir"
	"github.com/stele-go/stele/mpsc"
	"github.com/stele-go/stele/newfile"
	"github.com/stele-go/stele/wal"
)

// handles has the zero values of all types of the primitives with methods on pointers,
// but not errors.
var handles = map[string]any{
	"mkdir.Maker":                new(mkdir.Maker),
	"mkdir.Created":              new(mkdir.Created),
	"newfile.Dir":                new(newfile.Dir),
	"newfile.File":               new(newfile.File),
	"newfile.MemoryFile":         new(newfile.MemoryFile),
	"newfile.Pool":               new(newfile.Pool),
	"newfile.Queue":              new(newfile.Queue),
	"newfile.Scratch":            new(newfile.Scratch),
	"atomicfile.Batch":           new(atomicfile.Batch),
	"atomicfile.Content":         new(atomicfile.Content),
	"atomicfile.Dir":             new(atomicfile.Dir),
	"atomicfile.File":            new(atomicfile.File),
	"fileio.Reader":              new(fileio.Reader),
	"fileio.Writer":              new(fileio.Writer),
	"pace.Limiter":               new(pace.Limiter),
	"pace.Reader":                new(pace.Reader),
	"pace.Writer":                new(pace.Writer),
	"mpsc.Queue":                 new(mpsc.Queue[int]),
	"wal.DirLock":                new(wal.DirLock),
	"wal.Inspection":             new(wal.Inspection),
	"wal.Log":                    new(wal.Log),
	"wal.Pending":                new(wal.Pending),
	"wal.Reader":                 new(wal.Reader),
	"latency.Histogram":          new(latency.Histogram),
	"latency.Sampler":            new(latency.Sampler),
	"latency.Snapshot":           new(latency.Snapshot),
	"logstore.Labels":            new(logstore.Labels),
	"logstore.Store":             new(logstore.Store),
	"logstore.SegmentInspection": new(logstore.SegmentInspection),
	"logstore.Group":             new(logstore.Group),
	"logstore.Cursor":            new(logstore.Cursor),
	"logstore.Result":            new(logstore.Result),
	"logstore.ByteSet":           new(logstore.ByteSet),
	"logstore.FieldBatch":        new(logstore.FieldBatch),
	"logstore.FieldColumn":       new(logstore.FieldColumn),
	"logstore.Codec":             new(logstore.Codec),
	"logstore.RepairPlan":        new(logstore.RepairPlan),
}

// works has the methods whose error may be nil on a zero value, as their docs say.
var works = []string{
	"mkdir.Created.Undo", // of nothing
	"pace.Limiter.Wait",  // it has no limits
	"latency.Snapshot.MarshalJSON",
	"latency.Snapshot.UnmarshalJSON",
	"logstore.Labels.MarshalJSON", // no labels
	"logstore.Labels.UnmarshalJSON",
	"logstore.Cursor.MarshalText",
	"logstore.Cursor.UnmarshalText", // of no cursor
	"logstore.Codec.MarshalText",    // of the default
	"logstore.Codec.UnmarshalText",  // an error is about the text
}

// No method of a zero value panics or waits. Methods with an error return fs.ErrInvalid, or
// that the value is closed, and name the operation. Those that newfile's files have from
// a nil *os.File return the error of package os.
func TestZeroValues(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, zero := range handles {
		v := reflect.ValueOf(zero)
		for i := range v.NumMethod() {
			method := name + "." + v.Type().Method(i).Name
			for _, err := range callZero(t, method, v.Method(i)) {
				switch {
				case slices.Contains(works, method):
				case err == nil:
					t.Errorf("%s succeeds", method)
				case !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, fs.ErrClosed) && !errors.Is(err, mpsc.ErrClosed):
					t.Errorf("%s: %v; want an fs.ErrInvalid", method, err)
				case err == fs.ErrInvalid && !promoted(v.Type(), i):
					t.Errorf("%s: %v; want the operation", method, err)
				}
			}
		}
	}
	if _, err := os.Stdin.Stat(); err != nil {
		t.Error("standard input:", err)
	}
	if es, err := os.ReadDir("."); err != nil || len(es) != 0 {
		t.Errorf("left behind: %v, %v", es, err)
	}
}

// promoted reports whether the i-th method of t is that of the *os.File in it.
func promoted(t reflect.Type, i int) bool {
	file, ok := t.Elem().FieldByName("File")
	if !ok || !file.Anonymous || !strings.HasPrefix(t.String(), "*newfile.") {
		return false
	}
	m := t.Method(i)
	_, there := file.Type.MethodByName(m.Name)
	return there && !slices.Contains([]string{"Close", "Name"}, m.Name)
}

// callZero calls a method with some arguments, and returns its errors: the last result, or
// the errors of the iterator that it returns.
func callZero(t *testing.T, name string, method reflect.Value) (errs []error) {
	t.Helper()
	defer func() {
		if v := recover(); v != nil {
			t.Errorf("%s panics: %v", name, v)
		}
	}()
	isError := reflect.TypeFor[error]()
	out := method.Call(argumentsOf(t, method.Type()))
	if len(out) == 0 {
		return nil
	}
	last := out[len(out)-1]
	if last.Type() == isError {
		err, _ := last.Interface().(error)
		return []error{err}
	}
	switch {
	case last.Kind() == reflect.Func && last.Type().CanSeq2():
		for _, err := range last.Seq2() {
			if err, ok := err.Interface().(error); ok {
				errs = append(errs, err)
			}
		}
	case last.Kind() == reflect.Func && last.Type().CanSeq():
		for v := range last.Seq() {
			t.Errorf("%s has %v", name, v)
		}
	}
	return errs
}

func argumentsOf(t *testing.T, method reflect.Type) (args []reflect.Value) {
	given := []any{t.Context(), strings.NewReader("text"), io.Discard, []byte("0123456789"), []int{0}, "name", 1}
	for i := range method.NumIn() {
		in := method.In(i)
		if method.IsVariadic() && i == method.NumIn()-1 {
			break
		}
		arg := reflect.Zero(in)
		for _, g := range given {
			if v := reflect.ValueOf(g); v.Type().AssignableTo(in) {
				arg = v
				break
			}
		}
		if in.Kind() == reflect.Func {
			// An iteration without end, or a function that does nothing.
			arg = reflect.MakeFunc(in, func([]reflect.Value) (out []reflect.Value) {
				for j := range in.NumOut() {
					out = append(out, reflect.Zero(in.Out(j)))
				}
				return out
			})
		}
		args = append(args, arg)
	}
	return args
}

// Each type with methods on pointers is among the handles.
func TestZeroValuesOfAllTypes(t *testing.T) {
	missing := maps.Clone(handles)
	for _, dir := range []string{"mkdir", "newfile", "atomicfile", "header", "fileio", "fileio/pace", "fileio/otelio", "mpsc", "wal", "latency", "logstore"} {
		entries, err := os.ReadDir(path.Join("..", dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path.Join("..", dir, e.Name()), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || f.Recv == nil || !f.Name.IsExported() {
					continue
				}
				star, ok := f.Recv.List[0].Type.(*ast.StarExpr)
				if !ok {
					continue
				}
				name := receiver(star.X)
				if !ast.IsExported(name) || strings.HasSuffix(name, "Error") {
					continue
				}
				name = fmt.Sprintf("%s.%s", path.Base(dir), name)
				if _, ok := handles[name]; !ok {
					t.Errorf("%s, with its method %s, is not among the handles whose zero values are tried", name, f.Name)
				}
				delete(missing, name)
			}
		}
	}
	for name := range missing {
		t.Errorf("%s is gone, or has no methods on a pointer", name)
	}
}

func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.IndexExpr: // with a type parameter
		return receiver(x.X)
	}
	return ""
}

package report

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/run"
)

func TestCause(t *testing.T) {
	for cause, want := range map[string]string{
		run.CauseDirectoryLock:             "directory's lock (i_rwsem)",
		run.CauseGo + "sync":               "blocked: sync",
		run.CauseIn + "pipe_read":          "kernel, in pipe_read",
		run.CauseFault + run.CauseDiskRead: "page fault: disk, read or metadata",
		run.CauseFault + run.CauseIn + "x": "page fault: kernel, in x",
		"a later Stele's":                  "a later Stele's",
	} {
		if got := Cause(cause); got != want {
			t.Errorf("%s: %q, want %q", cause, got, want)
		}
	}
}

// Every code of package run has words here.
func TestEachCauseHasWords(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../run/causes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok {
			code, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			if codes++; !strings.HasSuffix(code, ":") && causeWords[code] == "" {
				t.Errorf("no words for %q", code)
			}
		}
		return true
	})
	if codes < len(causeWords) {
		t.Errorf("%d codes in causes.go, %d have words", codes, len(causeWords))
	}
}

package peers_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// addlicense and "stele header" are commands, and are compared as such: each
// is built from its module and run on the same tree of source files. What
// they promise differs: addlicense writes the file anew in place
// (os.WriteFile), so a crash may leave it torn or empty, and syncs nothing;
// Stele replaces it all or nothing, at the level that is asked for.

const licenceText = "Copyright 2026 The Authors\nSPDX-License-Identifier: Apache-2.0\n"

// A headerTool puts licenceText, which is in the file text, into every source
// file below dir.
type headerTool struct {
	name string
	args func(text, dir string) []string // the first is the key of build
}

var headerTools = []headerTool{
	{"addlicense", func(text, dir string) []string { return []string{"addlicense", "-f", text, dir} }},
	{"stele-kill", func(text, dir string) []string {
		return []string{"stele", "header", "insert", "--level", "kill", "--file", text, dir}
	}},
	{"stele-power", func(text, dir string) []string {
		return []string{"stele", "header", "insert", "--level", "power", "--file", text, dir}
	}},
}

// buildTools builds both commands from the modules that go.mod names.
func buildTools(tb testing.TB) map[string]string {
	tb.Helper()
	dir := tb.TempDir()
	for name, pkg := range map[string]string{
		"addlicense": "github.com/google/addlicense", "stele": "github.com/stele-go/stele/cmd/stele",
	} {
		out := filepath.Join(dir, name)
		cmd := exec.Command("go", "build", "-o", out, pkg)
		if name == "stele" {
			cmd.Dir = ".." // it needs more modules than this one has
			cmd.Args[len(cmd.Args)-1] = "./cmd/stele"
		}
		if msg, err := cmd.CombinedOutput(); err != nil {
			tb.Fatalf("%v: %s", err, msg)
		}
	}
	return map[string]string{"addlicense": filepath.Join(dir, "addlicense"), "stele": filepath.Join(dir, "stele")}
}

// sourceTree makes n source files of 6 KiB in directories of 50.
func sourceTree(tb testing.TB, root string, n int) {
	tb.Helper()
	for i := range n {
		dir := filepath.Join(root, fmt.Sprint("pkg", i/50))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%d.go", i)), source(i), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
}

func source(i int) []byte {
	b := fmt.Appendf(nil, "package pkg%d\n\n", i/50)
	for len(b) < 6<<10 {
		b = fmt.Appendf(b, "// F%d does what its name says.\nfunc F%[1]d() int { return %[1]d }\n\n", len(b))
	}
	return b
}

func runTool(tb testing.TB, built map[string]string, h headerTool, text, dir string) {
	tb.Helper()
	args := h.args(text, dir)
	if out, err := exec.Command(built[args[0]], args[1:]...).CombinedOutput(); err != nil {
		tb.Fatalf("%s: %v: %s", strings.Join(args, " "), err, out)
	}
}

func licenceFile(tb testing.TB) string {
	tb.Helper()
	name := filepath.Join(tb.TempDir(), "text")
	if err := os.WriteFile(name, []byte(licenceText), 0o644); err != nil {
		tb.Fatal(err)
	}
	return name
}

// The tools do the same job: each file begins with the text as a comment, and
// goes on as before.
func TestHeaderToolsDoTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two commands")
	}
	built, text := buildTools(t), licenceFile(t)
	for _, h := range headerTools {
		dir := t.TempDir()
		sourceTree(t, dir, 60)
		runTool(t, built, h, text, dir)
		want := "// Copyright 2026 The Authors\n// SPDX-License-Identifier: Apache-2.0\n\n"
		n := 0
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rest, ok := bytes.CutPrefix(b, []byte(want))
			if !ok || !bytes.Equal(rest, source(numberOf(path))) {
				t.Errorf("%s: %s begins with %.90q", h.name, path, b)
			}
			n++
			return nil
		})
		if err != nil || n != 60 {
			t.Errorf("%s left %d files, %v", h.name, n, err)
		}
	}
}

// numberOf is the number of a source file.
func numberOf(path string) (i int) {
	fmt.Sscanf(filepath.Base(path), "file%d.go", &i)
	return i
}

// BenchmarkInsertHeaders puts a header into 1,000 source files of 6 KiB, by
// the commands as they are called. Set TMPDIR to a directory on the disk in
// question. The levels differ: see the comment at the top.
func BenchmarkInsertHeaders(b *testing.B) {
	const files = 1000
	built, text := buildTools(b), licenceFile(b)
	for _, h := range headerTools {
		b.Run(fmt.Sprintf("tool=%s/files=%d", h.name, files), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				dir, err := os.MkdirTemp(b.TempDir(), "tree")
				if err != nil {
					b.Fatal(err)
				}
				sourceTree(b, dir, files)
				settle(b, dir)
				b.StartTimer()
				runTool(b, built, h, text, dir)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*files), "ns/file")
		})
	}
}

// settle writes the tree to the disk, so that no tool pays for that.
func settle(b *testing.B, dir string) {
	b.Helper()
	if out, err := exec.Command("sync", "-f", dir).CombinedOutput(); err != nil {
		b.Logf("sync: %v: %s", err, out)
	}
}
